import { randomUUID } from 'node:crypto'
import type { ImportUndo, StoreKey, UndoOutcome, WriteOptions } from '../records.ts'
import { verifyAuthority } from '../sql/authority.ts'
import { findRefusal } from '../sql/undo.ts'
import { recordWrite } from '../sql/write.ts'
import type { Database } from './connection.ts'
import { COMMIT_TIMEOUT_MS, insertImport, keepLease } from './imports.ts'
import { assertOwned, clearImport } from './leases.ts'
import { DIALECT, execute } from './sql.ts'

/**
 * Undoes an import. One transaction restores the statuses, and sets `undone_at`, which hides the
 * rows of the import. It also gives the import an owner: the rows are then deleted like those of an
 * abandoned import, by this call or by the cleanup.
 */
export async function undoImport(
  db: Database,
  store: StoreKey,
  { import_id, undone_at, force }: ImportUndo,
  write: WriteOptions = {},
): Promise<UndoOutcome | undefined> {
  const { account_id, store_id } = store
  const found = await db.find(FIND_IMPORT, import_id, account_id, store_id)
  const seq = found?.seq as number
  const lease = await insertImport(db, store, `undo:${import_id}`, seq)
  if (!lease) return undefined
  const release = keepLease(db, lease)
  const undone = { ...lease, import: seq, owner: randomUUID() }
  const abort = async () => {
    release()
    await clearImport(db, lease)
  }
  try {
    const outcome = await db.transaction(
      async (tx): Promise<UndoOutcome> => {
        await assertOwned(tx, lease)
        const refusal = await execute(tx, findRefusal(DIALECT, seq, force))
        if (refusal) return refusal
        await tx.run(RESTORE, seq)
        await tx.run('DELETE FROM imports WHERE seq = ?', lease.import)
        const hidden = await tx.run(HIDE, undone.owner, undone_at, seq)
        if (hidden === 0) return UNDONE
        await tx.run(MARK_DELETED, lease.store, seq)
        await execute(tx, verifyAuthority(DIALECT, write.authority))
        await execute(tx, recordWrite(DIALECT, write))
        return UNDONE
      },
      { timeout: COMMIT_TIMEOUT_MS },
    )
    if (outcome !== UNDONE) {
      await abort()
      return outcome
    }
  } catch (error) {
    await abort()
    throw error
  }
  release()
  // Ignores an error, because the import is already undone. The next import deletes its rows.
  await clearImport(db, undone).catch(() => {})
  return UNDONE
}

const UNDONE = { outcome: 'undone' } as const

const FIND_IMPORT = `
  SELECT i.seq FROM imports i JOIN stores s ON s.seq = i.store
  WHERE i.import_id = ? AND s.account_id = ? AND s.store_id = ?`
const HIDE = `
  UPDATE imports SET owner = ?, alive_at = now(), undone_at = ?
  WHERE seq = ? AND undone_at IS NULL`

// Marks the erased purchases of the import as deleted. Their transaction ids stay stored: a later
// import of the same file skips them, and does not restore their users.
const MARK_DELETED = `
  UPDATE erased_purchases e SET is_deleted = TRUE FROM purchases p
  WHERE e.store = ? AND p.store = e.store AND p.transaction_id = e.transaction_id AND p.import = ?`

const RESTORE = `
  UPDATE purchases p SET status = c.before FROM status_changes c
  WHERE c.import = ? AND p.store = c.store AND p.seq = c.purchase`
