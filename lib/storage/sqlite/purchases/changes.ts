import { setImmediate } from 'node:timers/promises'
import type { Pause } from '../../sql/cleanup.ts'
import { find, type Program, run } from '../../sql/program.ts'
import type { Connection } from '../connection.ts'
import { execute } from '../sql.ts'

const SLICE_ROWS = 2_000

interface Change {
  readonly purchase: number
  readonly import: number
  readonly status: number
  readonly undoes: number | null
}

const COLUMNS = 'c.purchase, c.import, c.status, i.undoes'

/**
 * The imports `i` with rows in `purchase_changes`. Reads one entry of the index for each import: a
 * running one may have 300,000 rows.
 */
const CHANGING_IMPORTS = `(
  WITH RECURSIVE w (import) AS (
    SELECT min(import) FROM purchase_changes
    UNION ALL SELECT (SELECT min(import) FROM purchase_changes WHERE import > w.import)
    FROM w WHERE w.import IS NOT NULL)
  SELECT import FROM w) w CROSS JOIN imports i ON i.seq = w.import`

/** Begins with AND: the condition that no changes of committed imports wait in store `s`. */
export const IF_APPLIED = `AND NOT EXISTS (
  SELECT 1 FROM ${CHANGING_IMPORTS} WHERE i.store = s.seq AND i.owner IS NULL)`

const FIND_CHANGES = `
  SELECT ${COLUMNS} FROM ${CHANGING_IMPORTS} AND i.owner IS NULL
  CROSS JOIN purchase_changes c ON c.import = i.seq LIMIT ?`
const FIND_CHANGE = `
  SELECT ${COLUMNS} FROM purchase_changes c JOIN imports i ON i.seq = c.import
  WHERE i.owner IS NULL AND c.purchase = ?`
const RECORD_CHANGE = `
  INSERT INTO status_changes (import, purchase, before, after)
  SELECT ?, seq, status, ? FROM purchases WHERE seq = ?`

/**
 * Moves the status changes of committed imports from `purchase_changes` to `purchases`. Reads
 * combine both tables, so they show these changes since the commit. Also records the previous
 * statuses, which an undo restores. The changes of an undo need no such record.
 */
export async function applyChanges(db: Connection, pause: Pause = setImmediate): Promise<void> {
  const applySlice = () =>
    db.transaction(() => {
      const changes = db.all(FIND_CHANGES, SLICE_ROWS)
      for (const change of changes as unknown as Change[]) execute(db, applyChange(change))
    })
  while (db.find(FIND_CHANGES, 1)) {
    await applySlice()
    await pause()
  }
}

/**
 * Sets the status of a purchase for an import. If `purchase_changes` still has an earlier change of
 * the purchase, applies the earlier change first.
 */
export function* changeStatus(seq: number, purchase: number, status: number): Program<void> {
  const waiting = yield* find(FIND_CHANGE, purchase)
  if (waiting) yield* applyChange(waiting as unknown as Change)
  yield* applyChange({ purchase, import: seq, status, undoes: null })
}

function* applyChange({ purchase, import: seq, status, undoes }: Change): Program<void> {
  if (undoes === null) yield* run(RECORD_CHANGE, seq, status, purchase)
  yield* run('UPDATE purchases SET status = ? WHERE seq = ?', status, purchase)
  yield* run('DELETE FROM purchase_changes WHERE purchase = ?', purchase)
}
