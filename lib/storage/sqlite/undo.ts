import type { ImportUndo, UndoOutcome, WriteOptions } from '../records.ts'
import { verifyAuthority } from '../sql/authority.ts'
import { recordWrite } from '../sql/write.ts'
import type { Connection } from './connection.ts'
import { createSlices, insertImport } from './imports.ts'
import { assertOwned, clearImport, type ImportRow, OWNER, underWay } from './leases.ts'
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
    const refusal = undone.undone_at === null ? findRefusal(db, seq, force) : UNDONE
    if (refusal) {
      await slices.abort()
      return refusal
    }
    let last: number | undefined = 0
    while (last !== undefined) {
      const after: number = last
      last = await slices.run(() => stageSlice(db, lease.seq, seq, after))
    }
    await slices.finish()
    // Adds the import to `underWay` before the transaction makes this process its owner. Otherwise
    // the import would count as abandoned.
    underWay.add(import_id)
    const late = await db.transaction(() => {
      assertOwned(db, lease.seq)
      execute(db, verifyAuthority(DIALECT, write.authority))
      const found = db.find(FIND_RECORDED, store, lease.seq, seq) && findRefusal(db, seq, force)
      if (found) return found
      db.run('UPDATE imports SET owner = NULL, last_purchase = 0 WHERE seq = ?', lease.seq)
      db.run(HIDE, OWNER, Date.now(), undone_at, seq)
      execute(db, recordWrite(DIALECT, write))
      return undefined
    })
    if (late) {
      underWay.delete(import_id)
      await slices.abort()
      return late
    }
  } catch (error) {
    underWay.delete(import_id)
    await slices.abort()
    throw error
  }
  slices.release()
  // The import is already undone, and reads leave out its rows. If deleting them fails, the next
  // import into the store deletes them.
  await clearImport(db, { ...undone, undone_at }).catch(() => {})
  underWay.delete(import_id)
  return UNDONE
}

const UNDONE = { outcome: 'undone' } as const

const FIND_IMPORT = 'SELECT * FROM imports WHERE import_id = ? AND store = ?'
const HIDE = 'UPDATE imports SET owner = ?, alive_at = ?, undone_at = ? WHERE seq = ?'

/** Finds a purchase that was recorded since `findRefusal` checked the import. */
const FIND_RECORDED = `
  SELECT 1 FROM imports WHERE store = ? AND seq > ?
  UNION ALL SELECT 1 FROM import_overlaps WHERE earlier = ? LIMIT 1`

function findRefusal(db: Connection, seq: number, force: boolean): UndoOutcome | undefined {
  const changed = db.find(COUNT_CHANGED, seq, seq)?.n as number
  if (changed > 0) return { outcome: 'changed', rows: changed }
  const skipped = force ? 0 : (db.find(COUNT_SKIPPED, seq, seq)?.n as number)
  return skipped > 0 ? { outcome: 'skipped', rows: skipped } : undefined
}

/**
 * Counts the purchases that an import added or changed and that a later import changed again. A
 * purchase never returns to an earlier status. If a change starts from the status that this import
 * has set, the change is therefore later than this import.
 */
const COUNT_CHANGED = `
  SELECT count(*) AS n FROM (
    SELECT l.purchase FROM imports x CROSS JOIN status_changes l CROSS JOIN purchases p
    WHERE x.seq = ? AND l.purchase BETWEEN x.first_purchase AND x.last_purchase
      AND p.seq = l.purchase AND p.import = x.seq
    UNION
    SELECT l.purchase FROM status_changes c CROSS JOIN status_changes l
    WHERE c.import = ? AND l.purchase = c.purchase AND l.before = c.after)`

/**
 * Counts the rows that later imports skipped because this import had added them. Adds the number of
 * purchases whose status this import changed and that another import had added, if a later import
 * skipped rows of that other import.
 */
const COUNT_SKIPPED = `
  SELECT coalesce(sum(o.rows), 0) + (
    SELECT count(*) FROM status_changes c CROSS JOIN purchases p
    WHERE c.import = ? AND p.seq = c.purchase AND EXISTS (
      SELECT 1 FROM import_overlaps l WHERE l.earlier = p.import AND l.import > c.import)) AS n
  FROM import_overlaps o WHERE o.earlier = ?`

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
