import type { Page, RecordPage, Refund } from '../port.ts'
import { EXAMINED_REFUNDS, IS_REFUND, refundOf, refundPage } from '../refunds.ts'
import type { Connection } from './connection.ts'

/**
 * The statuses that an import gave to purchases, after the purchase with the given `seq`. The table
 * `purchase_changes` has the statuses that `purchases` does not have yet.
 */
const CHANGES = `
  SELECT purchase, after FROM status_changes WHERE import = ? AND purchase > ?
  UNION ALL SELECT purchase, status AS after FROM purchase_changes
  WHERE import = ? AND purchase > ?
  ORDER BY purchase LIMIT ${EXAMINED_REFUNDS}`

const LIST = `
  SELECT c.purchase, p.transaction_id, p.user_id, t.name AS sku, c.after AS status
  FROM (${CHANGES}) c CROSS JOIN purchases p CROSS JOIN items t
  WHERE p.seq = c.purchase AND t.seq = p.item AND c.${IS_REFUND} ORDER BY c.purchase LIMIT ?`

const LAST_EXAMINED = `
  SELECT purchase FROM (${CHANGES}) LIMIT 1 OFFSET ${EXAMINED_REFUNDS - 1}`

const FIND_IMPORT = `
  SELECT seq FROM imports WHERE import_id = ? AND owner IS NULL AND undone_at IS NULL`

export function listRefunds(db: Connection, import_id: string, page: Page): RecordPage<Refund> {
  const found = db.find(FIND_IMPORT, import_id)
  if (!found) return { records: [] }
  const seq = found.seq as number
  const after = Number(page.after ?? 0)
  const refunds = db.all(LIST, seq, after, seq, after, page.limit + 1).map(refundOf)
  const last = db.find(LAST_EXAMINED, seq, after, seq, after)
  return refundPage(refunds, page, last && String(last.purchase))
}
