import { setTimeout } from 'node:timers/promises'
import { TillError } from '../errors.ts'
import type {
  ImportUndo,
  PurchaseImport,
  Storage,
  StoreKey,
  UndoOutcome,
  WriteOptions,
} from './port.ts'

const PAUSE_MS = 50

/**
 * Starts an import after the running one in the same store has ended. After waiting for `patience`
 * milliseconds, throws `storage_unavailable`. If the signal aborts, throws its reason.
 */
export function openImport(
  storage: Storage,
  store: StoreKey,
  import_id: string,
  patience: number,
  signal?: AbortSignal,
): Promise<PurchaseImport> {
  return inTurn(() => storage.openImport(store, import_id), patience, signal)
}

/** Undoes an import after the running one in the same store has ended. Throws like `openImport`. */
export function undoImport(
  storage: Storage,
  store: StoreKey,
  undo: ImportUndo,
  write: WriteOptions,
  patience: number,
): Promise<UndoOutcome> {
  return inTurn(() => storage.undoImport(store, undo, write), patience)
}

async function inTurn<T>(
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
