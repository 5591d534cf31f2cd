import type { Limits } from './limits.ts'
import { TransportFault } from './problems.ts'

/** The sorts of requests that are bounded each for itself. */
export type LaneName = 'reads' | 'writes' | 'uploads'

/** Requests of one sort: how many there are in flight, how many may be, how many were refused. */
export interface Lane {
  readonly name: LaneName
  readonly size: number
  /** How many of them may be one project's. */
  readonly share: number
  taken: number
  refused: number
  /** Of the places taken, those of each project that has any; kept where there are shares. */
  readonly projects: Map<string, number>
}

export type Lanes = { readonly [K in LaneName]: Lane }

export function createLanes(limits: Limits): Lanes {
  const lane = (name: LaneName, size: number, share = size): Lane => {
    return { name, size, share, taken: 0, refused: 0, projects: new Map() }
  }
  return {
    reads: lane('reads', limits.readsInFlight),
    writes: lane('writes', limits.writesInFlight),
    uploads: lane('uploads', limits.uploadsInFlight, limits.uploadsOfProject),
  }
}

// Made once: under load even the stack of an error is worth saving.
const full = overloaded('There is too much in flight; try again', '1')
const fullOf: { readonly [K in LaneName]: TransportFault } = {
  reads: full,
  writes: full,
  uploads: overloaded('Too many imports are in flight', '5'),
}
const fullOfProject = overloaded('Too many imports of this project are in flight', '5')

function overloaded(message: string, retryAfter: string): TransportFault {
  return new TransportFault('overloaded', message, { 'retry-after': retryAfter })
}

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
    throw fullOf[lane.name]
  }
  lane.taken++
  return { lane }
}

/**
 * Counts a place as one of the project's; throws 503 when that has its share. Else one project's
 * slow clients, who need no more than its public key, could keep all others out for an hour.
 */
export function claim(place: Place, project_id: string): void {
  const { lane } = place
  const taken = lane.projects.get(project_id) ?? 0
  if (taken >= lane.share) {
    lane.refused++
    throw fullOfProject
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
