import { setImmediate } from 'node:timers/promises'
import type { Pause } from '../cleanup.ts'
import type { Connection } from './connection.ts'

const SLICE_ROWS = 2_000

/**
 * Moves the status changes of committed imports from `purchase_changes` into `purchases`. Reads
 * already show them since the commit.
 */
export async function applyChanges(db: Connection, pause: Pause = setImmediate): Promise<void> {
  const applySlice = () =>
    db.transaction(() => {
      const changes = db.all(
        `SELECT c.purchase, c.status FROM purchase_changes c JOIN imports i ON i.seq = c.import
         WHERE i.owner IS NULL LIMIT ?`,
        SLICE_ROWS,
      )
      for (const { purchase, status } of changes as { purchase: number; status: number }[]) {
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
