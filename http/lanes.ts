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
}

export type Lanes = { readonly [K in LaneName]: Lane }

export function createLanes(limits: Limits): Lanes {
  const lane = (name: LaneName, size: number): Lane => ({ name, size, taken: 0, refused: 0 })
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

/** Takes a place, which must be given back; throws 503 when there is none. */
export function enter(lane: Lane): Lane {
  if (lane.taken >= lane.size) {
    lane.refused++
    throw lane.name === 'uploads' ? uploadsOverloaded : overloaded
  }
  lane.taken++
  return lane
}

export function leave(lane: Lane): void {
  lane.taken--
}
