import { MOST_OF_ORDER, type StatusChangeDialect } from '../../sql/purchases/dialect.ts'
import { EXAMINED_REFUNDS } from '../../sql/webhooks/refunds.ts'

const FIND_OWN_CHANGES = `
  SELECT l.store, l.purchase, x.seq AS own,
    max(CASE WHEN l.before <> l.after THEN l.import END) AS latest
  FROM (SELECT * FROM imports WHERE seq = ?) x JOIN status_changes l ON l.store = x.store
    AND l.purchase BETWEEN greatest(x.first_purchase, ?::bigint + 1) AND x.last_purchase
  GROUP BY l.store, l.purchase, x.seq ORDER BY l.purchase LIMIT ?`

const CHANGES_OF_IMPORT = `
  SELECT store, purchase, nullif(after, before) AS after FROM status_changes
  WHERE import = (SELECT seq FROM imports WHERE import_id = ? AND undone_at IS NULL)
    AND purchase > CAST(? AS bigint)
  ORDER BY purchase LIMIT ${EXAMINED_REFUNDS}`

export const STATUS_CHANGES: StatusChangeDialect = {
  changesOfImport: (import_id, after) => ({
    sql: CHANGES_OF_IMPORT,
    values: [import_id, after],
  }),
  userOfPurchase: 'p.user_id',
  isPurchaseOfChange: 'p.store = c.store AND p.seq = c.purchase',
  isChangedAgain: 'l.store = c.store AND l.purchase = c.purchase AND l.before = c.after',
  findOwnChanges: FIND_OWN_CHANGES,
  joinTransaction: 'JOIN purchases p ON p.store = s.seq AND p.transaction_id = ?',
  // LATERAL keeps the planner from scanning all purchases.
  joinTransactions: `
    CROSS JOIN json_array_elements_text(?) AS sent (id) CROSS JOIN LATERAL (
      SELECT * FROM purchases WHERE store = s.seq AND transaction_id = sent.id LIMIT 1) p`,
  isOfStore: 'p.store = s.seq AND',
  joinOrder: `
    JOIN LATERAL (
      SELECT * FROM purchases WHERE store = s.seq AND transaction_id = ?
      UNION ALL (SELECT * FROM purchases o
        WHERE o.store = s.seq AND o.transaction_id >= ? AND o.transaction_id < ?
          AND NOT EXISTS (
            SELECT 1 FROM purchases x WHERE x.store = s.seq AND x.transaction_id = ?)
          AND NOT EXISTS (
            SELECT 1 FROM erased_purchases x WHERE x.store = s.seq AND x.transaction_id = ?)
        ORDER BY o.transaction_id LIMIT ${MOST_OF_ORDER})) p ON true`,
}
