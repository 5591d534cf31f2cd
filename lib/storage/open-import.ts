import { setTimeout } from 'node:timers/promises'
import { TillError } from '../errors.ts'
import type { PurchaseImport, Storage, StoreKey } from './port.ts'

const PAUSE_MS = 50

/**
 * Starts an import after the running one in the same store has ended. Throws `storage_unavailable`
 * after waiting for `patience` milliseconds.
 */
export async function openImport(
  storage: Storage,
  store: StoreKey,
  import_id: string,
  patience: number,
): Promise<PurchaseImport> {
  const latest = performance.now() + patience
  for (;;) {
    const opened = await storage.openImport(store, import_id)
    if (opened) return opened
    if (performance.now() > latest) break
    await setTimeout(PAUSE_MS)
  }
  throw new TillError('storage_unavailable', 'Another import into this store takes too long')
}
