import { setTimeout } from 'node:timers/promises'
import { TillError } from '../../errors.ts'

const PAUSE_MS = 50
const MAX_WAIT_MS = 10 * 60_000

/**
 * Repeats `attempt` until it resolves to a value. It resolves to undefined while another import
 * into the same store runs. Throws `storage_unavailable` after `maxWait` milliseconds. If the signal
 * aborts, throws its reason.
 */
export async function afterImport<T>(
  attempt: () => Promise<T | undefined>,
  signal?: AbortSignal,
  maxWait = MAX_WAIT_MS,
): Promise<T> {
  const latest = performance.now() + maxWait
  for (;;) {
    signal?.throwIfAborted()
    const result = await attempt()
    if (result) return result
    if (performance.now() > latest) break
    await setTimeout(PAUSE_MS)
  }
  throw new TillError(
    'storage_unavailable',
    'An import into this store takes too long: try again later',
  )
}
