import type { ImportUndo, UndoOutcome, WriteOptions } from '../records.ts'
import { verifyAuthority } from '../sql/authority.ts'
import { findRefusal } from '../sql/undo.ts'
import { recordWrite } from '../sql/write.ts'
import type { Connection } from './connection.ts'
import { createSlices, insertImport } from './imports.ts'
import { assertOwned, clearImport, type ImportRow, OWNER } from './leases.ts'
import { DIALECT, execute } from './sql.ts'

const SLICE_ROWS = 2_000

/**
 * Undoes an import. Stages the previous statuses as the changes of a second import, slice by slice.
 * Then one transaction commits the second import, and gives the undone import an owner, which hides
 * its rows. The rows are deleted afterwards, by this call or by the cleanup.
 */
export async function undoImport(
  db: Connection,
  store: number,
  { import_id, undone_at, force }: ImportUndo,
  write: WriteOptions = {},
): Promise<UndoOutcome | undefined> {
  const find = () => db.find(FIND_IMPORT, import_id, store) as unknown as ImportRow
  const { seq } = find()
  const lease = await insertImport(db, store, `undo:${import_id}`, seq)
  if (!lease) return undefined
  const slices = createSlices(db, lease)
  const undone = { ...find(), owner: OWNER }
  try {
    const refusal =
      undone.undone_at === null ? execute(db, findRefusal(DIALECT, seq, force)) : UNDONE
    if (refusal) {
      await slices.abort()
      return refusal
    }
    let last: number | undefined = 0
    while (last !== undefined) {
      const after: number = last
      last = await slices.run(() => stageSlice(db, lease.seq, seq, after))
    }
    const late = await db.transaction(() => {
      assertOwned(db, lease.seq)
      execute(db, verifyAuthority(DIALECT, write.authority))
      const found =
        db.find(FIND_RECORDED, store, lease.seq, seq) &&
        execute(db, findRefusal(DIALECT, seq, force))
      if (found) return found
      db.run('UPDATE imports SET owner = NULL, last_purchase = 0 WHERE seq = ?', lease.seq)
      db.run(HIDE, OWNER, Date.now(), undone_at, seq)
      execute(db, recordWrite(DIALECT, write))
      return undefined
    })
    if (late) {
      await slices.abort()
      return late
    }
  } catch (error) {
    await slices.abort()
    throw error
  }
  slices.release()
  // The import is already undone, and reads leave out its rows. If deleting them fails, the next
  // import into the store deletes them.
  await clearImport(db, { ...undone, undone_at }).catch(() => {})
  return UNDONE
}

const UNDONE = { outcome: 'undone' } as const

const FIND_IMPORT = 'SELECT * FROM imports WHERE import_id = ? AND store = ?'
const HIDE = 'UPDATE imports SET owner = ?, alive_at = ?, undone_at = ? WHERE seq = ?'

/** Finds a purchase that was recorded since `findRefusal` checked the import. */
const FIND_RECORDED = `
  SELECT 1 FROM imports WHERE store = ? AND seq > ?
  UNION ALL SELECT 1 FROM import_overlaps WHERE earlier = ? LIMIT 1`

/**
 * Stages the previous statuses of the next purchases whose status the import changed. Returns the
 * `seq` of the last of these purchases, or undefined if none is left.
 */
function stageSlice(
  db: Connection,
  seq: number,
  undone: number,
  after: number,
): number | undefined {
  const changes = db.all(FIND_CHANGES, undone, after, SLICE_ROWS)
  for (const { purchase, before } of changes) {
    db.run(STAGE_CHANGE, purchase as number, seq, before as number)
  }
  return changes.at(-1)?.purchase as number | undefined
}

// Compares the import too: SQLite may have given the `seq` of a deleted purchase to a purchase of
// another import.
const FIND_CHANGES = `
  SELECT c.purchase, c.before FROM status_changes c CROSS JOIN purchases p
  WHERE c.import = ? AND c.purchase > ? AND p.seq = c.purchase AND p.import <> c.import
  ORDER BY c.purchase LIMIT ?`
const STAGE_CHANGE = 'INSERT INTO purchase_changes (purchase, import, status) VALUES (?, ?, ?)'
