import { BoundedMap } from '../../bounded-map.ts'

interface Rest {
  excess: number
  until: number
}

const MISSES = 16
const REST_MS = 250
const MOST_NAMES = 10_000

/**
 * Stops caching data for a while if it changes more often than it is read. `name` identifies the
 * data: see `sourceOf`. Counts each name on its own: frequent changes of one tenant's data must not
 * stop the caching of another's.
 */
export function createRests() {
  const rests = new BoundedMap<Rest>(MOST_NAMES)
  return {
    /** Counts a read of a cached result that was still current. */
    hit(name: string) {
      const rest = rests.get(name)
      if (rest && rest.excess > 0) rest.excess--
    },
    /** Counts a read of a cached result that a change had outdated. */
    miss(name: string) {
      const rest = rests.get(name) ?? { excess: 0, until: 0 }
      rests.set(name, rest)
      if (++rest.excess < MISSES) return
      rest.excess = MISSES / 2
      rest.until = performance.now() + REST_MS
    },
    /** Whether results with this data may be cached now. */
    isOver: (name: string) => performance.now() >= (rests.get(name)?.until ?? 0),
  }
}
