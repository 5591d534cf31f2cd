import { MAX_ORDER_PURCHASES } from '../../../domain/order.ts'
import { FILLABLE_FIELDS } from '../../../domain/repeat.ts'
import { run } from '../../sql/program.ts'
import { CHANGE_COLUMNS, columnAfter, valuesOf } from '../../sql/purchases/fills.ts'
import type { RepeatDialect } from '../../sql/purchases/repeats.ts'

export const REPEATS: RepeatDialect = {
  // The planner has no statistics for new rows. The LATERAL joins keep it from scanning all purchases.
  findKnown: `
    SELECT sent.id AS transaction_id, coalesce(p.seq, 0) AS seq, p.import, p.item, p.purchased_at,
      p.quantity, coalesce(c.status, p.status) AS status, c.filled,
      ${FILLABLE_FIELDS.map((field) => `${columnAfter(field)} AS ${field}`)},
      e.is_deleted IS NOT NULL AS is_erased
    FROM json_array_elements_text($1) AS sent (id)
    LEFT JOIN LATERAL (
      SELECT seq, import, item, purchased_at, user_id, price, currency, quantity, status, expires_at
      FROM purchases WHERE store = $2 AND transaction_id = sent.id LIMIT 1) p ON true
    LEFT JOIN LATERAL (
      SELECT * FROM purchase_changes WHERE store = $2 AND purchase = p.seq LIMIT 1) c ON true
    LEFT JOIN LATERAL (
      SELECT is_deleted FROM erased_purchases
      WHERE store = $2 AND transaction_id = sent.id LIMIT 1) e ON true
    WHERE p.seq IS NOT NULL OR e.is_deleted`,
  findOrders: `
    SELECT o.id, o.purchases::text AS purchases FROM (
      SELECT sent.id, (SELECT json_agg(found.transaction_id) FROM (
        SELECT transaction_id FROM purchases
        WHERE store = $1 AND transaction_id > (sent.id || '/') COLLATE "C"
          AND transaction_id < (sent.id || '0') COLLATE "C"
        ORDER BY transaction_id LIMIT ${MAX_ORDER_PURCHASES + 1}) found) AS purchases
      FROM json_array_elements_text($2) AS sent (id)) o
    WHERE o.purchases IS NOT NULL`,
  *addChanges({ store }, changes) {
    const sent = changes.map((change) => {
      const values = valuesOf(change)
      const fields = NAMES.map((name, place) => [name, values[place]])
      return { purchase: change.seq, ...Object.fromEntries(fields) }
    })
    yield* run(ADD_CHANGES, store, sent)
  },
}

const NAMES = Object.keys(CHANGE_COLUMNS)
const TYPED = Object.entries(CHANGE_COLUMNS).map(([name, type]) => `${name} ${type}`)
const ADD_CHANGES = `
  INSERT INTO purchase_changes (store, purchase, ${NAMES})
  SELECT ?, purchase, ${NAMES} FROM json_to_recordset(?) AS sent (purchase bigint, ${TYPED})
  ON CONFLICT (store, purchase) DO UPDATE SET ${NAMES.map((name) => `${name} = excluded.${name}`)}`
