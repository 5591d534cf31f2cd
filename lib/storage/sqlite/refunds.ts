import type { Page, RecordPage, Refund } from '../port.ts'
import { IS_REFUND, refundPage } from '../refunds.ts'
import type { Connection } from './connection.ts'

/** The changes of an import: those that were moved into purchases, and those that wait. */
const LIST = `
  SELECT c.purchase, p.transaction_id, p.user_id, t.name AS sku, c.after AS status FROM (
    SELECT s.purchase, s.after FROM status_changes s
    WHERE s.import = ? AND s.purchase > ? AND s.${IS_REFUND}
    UNION ALL SELECT w.purchase, w.status AS after FROM purchase_changes w
    WHERE w.import = ? AND w.purchase > ? AND w.${IS_REFUND.replace('after', 'status')}
    ORDER BY purchase LIMIT ?) c
  JOIN purchases p ON p.seq = c.purchase JOIN items t ON t.seq = p.item ORDER BY c.purchase`

const FIND_IMPORT = `
  SELECT seq FROM imports WHERE import_id = ? AND owner IS NULL AND undone_at IS NULL`

export function listRefunds(db: Connection, import_id: string, page: Page): RecordPage<Refund> {
  const found = db.find(FIND_IMPORT, import_id)
  if (!found) return { records: [] }
  const seq = found.seq as number
  const after = Number(page.after ?? 0)
  return refundPage(db.all(LIST, seq, after, seq, after, page.limit + 1), page)
}
