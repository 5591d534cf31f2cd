import { type Database, LONG_MS } from '../connection.ts'

const IS_RUNNING = 'i.owner IS NOT NULL AND i.undone_at IS NULL'

/**
 * Stores that hide committed purchases: the first one after `last_purchase` is of no running import.
 * Reads one row of each store.
 */
export const FIND_HIDING = `
  SELECT s.seq, s.account_id, s.store_id, s.last_purchase FROM stores s CROSS JOIN LATERAL (
    SELECT p.import FROM purchases p WHERE p.store = s.seq AND p.seq > s.last_purchase
    ORDER BY p.seq LIMIT 1) p
  LEFT JOIN imports i ON i.seq = p.import WHERE (${IS_RUNNING}) IS NOT TRUE ORDER BY s.seq`

const LOCK_STORE = 'SELECT 1 FROM stores WHERE seq = ? FOR UPDATE'

// Stops before the rows of a running import, which must stay hidden.
const RAISE = `
  UPDATE stores s SET last_purchase = greatest(s.last_purchase, (
    SELECT max(p.seq) FROM purchases p WHERE p.store = s.seq AND p.seq < coalesce((
      SELECT min(r.seq) FROM purchases r JOIN imports i ON i.seq = r.import
      WHERE r.store = s.seq AND r.seq > s.last_purchase AND ${IS_RUNNING}),
      ${Number.MAX_SAFE_INTEGER})))
  WHERE seq = ? RETURNING last_purchase`

/**
 * Raises the counters of stores that are behind their committed purchases: an import of an earlier
 * version could set them back. Resolves to a sentence for each of these stores.
 */
export function showHiddenPurchases(db: Database): Promise<string[]> {
  return db.transaction(async (tx) => {
    const repairs: string[] = []
    for (const { seq, account_id, store_id, last_purchase } of await tx.all(FIND_HIDING)) {
      await tx.run(LOCK_STORE, seq as number)
      const raised = await tx.find(RAISE, seq as number)
      const change = `its counter was ${last_purchase} and is now ${raised?.last_purchase}`
      repairs.push(`The store ${store_id} of ${account_id} hid purchases: ${change}`)
    }
    return repairs
  }, LONG_MS)
}
