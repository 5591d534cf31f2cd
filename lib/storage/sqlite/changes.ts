import { setImmediate } from 'node:timers/promises'
import type { Pause } from '../cleanup.ts'
import type { Connection } from './connection.ts'

const SLICE_ROWS = 2_000

interface Change {
  readonly purchase: number
  readonly import: number
  readonly status: number
  readonly undoes: number | null
}

const RECORD_CHANGE = `
  INSERT INTO status_changes (import, purchase, before, after)
  SELECT ?, seq, status, ? FROM purchases WHERE seq = ?`

/**
 * Moves the changes of committed imports from `purchase_changes` into `purchases`. Reads show them
 * from the commit on. Records the previous statuses, unless the changes are those of an undo.
 */
export async function applyChanges(db: Connection, pause: Pause = setImmediate): Promise<void> {
  const applySlice = () =>
    db.transaction(() => {
      const changes = db.all(
        `SELECT c.purchase, c.import, c.status, i.undoes FROM purchase_changes c
         JOIN imports i ON i.seq = c.import WHERE i.owner IS NULL LIMIT ?`,
        SLICE_ROWS,
      )
      for (const { purchase, import: seq, status, undoes } of changes as unknown as Change[]) {
        if (undoes === null) db.run(RECORD_CHANGE, seq, status, purchase)
        db.run('UPDATE purchases SET status = ? WHERE seq = ?', status, purchase)
        db.run('DELETE FROM purchase_changes WHERE purchase = ?', purchase)
      }
      return changes.length
    })
  while (db.find('SELECT 1 FROM purchase_changes')) {
    if ((await applySlice()) === 0) return
    await pause()
  }
}
