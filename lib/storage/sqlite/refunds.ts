import type { Refund } from '../port.ts'
import { IS_REFUND, refundOf } from '../webhooks.ts'
import type { Connection } from './connection.ts'

/** The status changes of an import: those that wait, and those that were moved into purchases. */
const CHANGES = `
  SELECT c.purchase, c.after FROM status_changes c JOIN imports i ON i.seq = c.import
  WHERE i.import_id = ? AND ${IS_REFUND}
  UNION ALL SELECT w.purchase, w.status AS after FROM purchase_changes w
  JOIN imports i ON i.seq = w.import
  WHERE i.import_id = ? AND i.owner IS NULL AND i.undoes IS NULL
    AND ${IS_REFUND.replace('after', 'w.status')}`

const COUNT = `SELECT count(*) AS count FROM (${CHANGES}) c`

const LIST = `
  SELECT p.transaction_id, p.user_id, t.name AS sku, c.after AS status FROM (${CHANGES}) c
  JOIN purchases p ON p.seq = c.purchase JOIN items t ON t.seq = p.item
  ORDER BY c.purchase LIMIT ? OFFSET ?`

export function countRefunds(db: Connection, import_id: string): number {
  return db.find(COUNT, import_id, import_id)?.count as number
}

export function listRefunds(
  db: Connection,
  import_id: string,
  { offset, limit }: { offset: number; limit: number },
): Refund[] {
  return db.all(LIST, import_id, import_id, limit, offset).map(refundOf)
}
