import { BoundedMap } from '../../bounded-map.ts'

/** Decides which data is not worth caching, because it changes faster than it is read. */
export interface Rests {
  /** Counts a check after which a cached result was still true. */
  hit(name: string): void
  /** Counts a check that found a change of a cached result. */
  miss(name: string): void
  /** Whether results are to be cached. */
  isOver(name: string): boolean
}

interface Rest {
  excess: number
  until: number
}

const MISSES = 16
const REST_MS = 250
const MOST_NAMES = 10_000

/** One for each name, so that changes of one tenant's data do not concern the others. */
export function createRests(): Rests {
  const rests = new BoundedMap<Rest>(MOST_NAMES)
  return {
    hit(name) {
      const rest = rests.get(name)
      if (rest && rest.excess > 0) rest.excess--
    },
    miss(name) {
      const rest = rests.get(name) ?? { excess: 0, until: 0 }
      rests.set(name, rest)
      if (++rest.excess < MISSES) return
      rest.excess = MISSES / 2
      rest.until = performance.now() + REST_MS
    },
    isOver: (name) => performance.now() >= (rests.get(name)?.until ?? 0),
  }
}
