import type { Limits } from './limits.ts'
import { TransportFault } from './problems.ts'

/** The sorts of requests that are bounded each for itself. */
export type LaneName = 'reads' | 'writes' | 'uploads'

/** Requests of one sort: how many there are in flight, how many may be, how many were refused. */
export interface Lane {
  readonly name: LaneName
  readonly size: number
  taken: number
  refused: number
  /** Of the places taken, those of each project that has any; kept for uploads alone. */
  readonly projects: Map<string, number>
}

export type Lanes = { readonly [K in LaneName]: Lane }

export function createLanes(limits: Limits): Lanes {
  const lane = (name: LaneName, size: number): Lane => {
    return { name, size, taken: 0, refused: 0, projects: new Map() }
  }
  return {
    reads: lane('reads', limits.readsInFlight),
    writes: lane('writes', limits.writesInFlight),
    uploads: lane('uploads', limits.uploadsInFlight),
  }
}

// Made once: under load even the stack of an error is worth saving.
const overloaded = new TransportFault('overloaded', 'There is too much in flight; try again', {
  'retry-after': '1',
})
const uploadsOverloaded = new TransportFault('overloaded', 'Too many imports are in flight', {
  'retry-after': '5',
})
const projectOverloaded = new TransportFault(
  'overloaded',
  'Too many imports of this project are in flight',
  { 'retry-after': '5' },
)

/** A place that a request has in a lane. */
export interface Place {
  readonly lane: Lane
  /** The project that it counts for, once that is known. */
  project_id?: string
}

/** Takes a place, which must be given back; throws 503 when there is none. */
export function enter(lane: Lane): Place {
  if (lane.taken >= lane.size) {
    lane.refused++
    throw lane.name === 'uploads' ? uploadsOverloaded : overloaded
  }
  lane.taken++
  return { lane }
}

/**
 * Counts a place as one of the project's; throws 503 when that has its share. Else one project's
 * slow senders, who need no more than its public key, could keep all others out for an hour.
 */
export function claim(place: Place, project_id: string, share: number): void {
  const { lane } = place
  const taken = lane.projects.get(project_id) ?? 0
  if (taken >= share) {
    lane.refused++
    throw projectOverloaded
  }
  lane.projects.set(project_id, taken + 1)
  place.project_id = project_id
}

export function leave({ lane, project_id }: Place): void {
  lane.taken--
  if (project_id === undefined) return
  const left = (lane.projects.get(project_id) ?? 1) - 1
  if (left > 0) lane.projects.set(project_id, left)
  else lane.projects.delete(project_id)
}
