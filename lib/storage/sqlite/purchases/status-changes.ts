import { MOST_OF_ORDER, type StatusChangeDialect } from '../../sql/purchases/dialect.ts'
import { EXAMINED_REFUNDS } from '../../sql/webhooks/refunds.ts'
import { CURRENT } from './summaries.ts'

const FIND_OWN_CHANGES = `
  SELECT l.purchase, x.seq AS own,
    max(CASE WHEN l.before <> l.after THEN l.import END) AS latest
  FROM imports x CROSS JOIN status_changes l
  WHERE x.seq = ? AND l.purchase BETWEEN max(x.first_purchase, ? + 1) AND x.last_purchase
  GROUP BY l.purchase, x.seq ORDER BY l.purchase LIMIT ?`

const FINISHED = `
  SELECT seq FROM imports WHERE import_id = ? AND owner IS NULL AND undone_at IS NULL`

/** The table `purchase_changes` has the statuses that `purchases` does not have yet. */
const CHANGES_OF_IMPORT = `
  SELECT purchase, nullif(after, before) AS after FROM status_changes
  WHERE import = (${FINISHED}) AND purchase > CAST(? AS bigint)
  UNION ALL SELECT purchase, nullif(c.status, p.status) AS after
  FROM purchase_changes c JOIN purchases p ON p.seq = c.purchase
  WHERE c.import = (${FINISHED}) AND purchase > CAST(? AS bigint)
  ORDER BY purchase LIMIT ${EXAMINED_REFUNDS}`

export const STATUS_CHANGES: StatusChangeDialect = {
  changesOfImport: (import_id, after) => ({
    sql: CHANGES_OF_IMPORT,
    values: [import_id, after, import_id, after],
  }),
  userOfPurchase: `(
    SELECT ${CURRENT.user_id} FROM (SELECT 1) LEFT JOIN purchase_changes c ON c.purchase = p.seq
      AND EXISTS (SELECT 1 FROM imports ci WHERE ci.seq = c.import AND ci.owner IS NULL))`,
  isPurchaseOfChange: 'p.seq = c.purchase',
  isChangedAgain: 'l.purchase = c.purchase AND l.before = c.after',
  findOwnChanges: FIND_OWN_CHANGES,
  joinTransaction: `
    CROSS JOIN transactions tr ON tr.store = s.seq AND tr.transaction_id = ?
    CROSS JOIN purchases p ON p.seq = tr.purchase`,
  joinTransactions: `
    CROSS JOIN json_each(?) sent
    CROSS JOIN transactions tr ON tr.store = s.seq AND tr.transaction_id = sent.value
    CROSS JOIN purchases p ON p.seq = tr.purchase`,
  isOfStore: '',
  joinOrder: `
    CROSS JOIN transactions tr ON tr.store = s.seq AND tr.transaction_id IN (
      SELECT ? UNION ALL SELECT transaction_id FROM (
        SELECT o.transaction_id FROM transactions o
        WHERE o.store = s.seq AND o.transaction_id >= ? AND o.transaction_id < ?
          AND NOT EXISTS (
            SELECT 1 FROM transactions x WHERE x.store = s.seq AND x.transaction_id = ?)
          AND NOT EXISTS (
            SELECT 1 FROM erased_purchases x WHERE x.store = s.seq AND x.transaction_id = ?)
        ORDER BY o.transaction_id LIMIT ${MOST_OF_ORDER}))
    CROSS JOIN purchases p ON p.seq = tr.purchase`,
}
