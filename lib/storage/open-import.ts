import { setTimeout } from 'node:timers/promises'
import { TillError } from '../errors.ts'
import type { PurchaseImport, Storage, StoreKey } from './port.ts'

const PAUSE_MS = 50

/**
 * Starts an import after the running one in the same store has ended. After waiting for `patience`
 * milliseconds, throws `storage_unavailable`. If the signal aborts, throws its reason.
 */
export function openImport(
  storage: Pick<Storage, 'openImport'>,
  store: StoreKey,
  import_id: string,
  patience: number,
  signal?: AbortSignal,
): Promise<PurchaseImport> {
  return afterImport(() => storage.openImport(store, import_id), patience, signal)
}

/**
 * Repeats `attempt` until it resolves to a value. It resolves to undefined while another import
 * into the same store runs. Throws like `openImport`.
 */
export async function afterImport<T>(
  attempt: () => Promise<T | undefined>,
  patience: number,
  signal?: AbortSignal,
): Promise<T> {
  const latest = performance.now() + patience
  for (;;) {
    signal?.throwIfAborted()
    const result = await attempt()
    if (result) return result
    if (performance.now() > latest) break
    await setTimeout(PAUSE_MS)
  }
  throw new TillError('storage_unavailable', 'Another import into this store takes too long')
}
