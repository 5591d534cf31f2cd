import { READS } from '../cache.ts'

/** Decides when caching a read is not worthwhile, because changes are more frequent than reads. */
interface Rest {
  /** Counts a check after which the cached result was still true. */
  hit(): void
  /** Counts a check that found a change of the cached result. */
  miss(): void
  /** Whether the results are to be cached. */
  isOver(): boolean
}

const MISSES = 16
const REST_MS = 250

/** One for each cached method: new items empty lists, but nothing else. */
export function createRests(): Record<(typeof READS)[number], Rest> {
  const rests = READS.map((name) => [name, createRest()])
  return Object.fromEntries(rests)
}

function createRest(): Rest {
  let excess = 0
  let until = 0
  return {
    hit() {
      if (excess > 0) excess--
    },
    miss() {
      if (++excess < MISSES) return
      excess = MISSES / 2
      until = performance.now() + REST_MS
    },
    isOver: () => until === 0 || performance.now() >= until,
  }
}
