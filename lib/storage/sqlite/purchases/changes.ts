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

const FIND_CHANGES = `
  SELECT c.purchase, c.import, c.status, i.undoes FROM purchase_changes c
  JOIN imports i ON i.seq = c.import WHERE i.owner IS NULL`
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
      const changes = db.all(`${FIND_CHANGES} LIMIT ?`, SLICE_ROWS)
      for (const change of changes as unknown as Change[]) execute(db, applyChange(change))
      return changes.length
    })
  while (db.find('SELECT 1 FROM purchase_changes')) {
    if ((await applySlice()) === 0) return
    await pause()
  }
}

/**
 * Sets the status of a purchase for an import. If `purchase_changes` still has an earlier change of
 * the purchase, applies the earlier change first.
 */
export function* changeStatus(seq: number, purchase: number, status: number): Program<void> {
  const waiting = yield* find(`${FIND_CHANGES} AND c.purchase = ?`, purchase)
  if (waiting) yield* applyChange(waiting as unknown as Change)
  yield* applyChange({ purchase, import: seq, status, undoes: null })
}

function* applyChange({ purchase, import: seq, status, undoes }: Change): Program<void> {
  if (undoes === null) yield* run(RECORD_CHANGE, seq, status, purchase)
  yield* run('UPDATE purchases SET status = ? WHERE seq = ?', status, purchase)
  yield* run('DELETE FROM purchase_changes WHERE purchase = ?', purchase)
}
