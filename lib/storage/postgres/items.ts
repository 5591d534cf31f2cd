import { byArchived, type OwnItemMethods } from '../sql/items.ts'
import { fillPage, PAGE_TEXT, storeNotFound } from '../sql/pages.ts'
import { ITEMS, itemRecord } from '../sql/tables.ts'
import type { Database } from './connection.ts'

/** Lists the items of a store with one statement. */
export function listingOfItems(db: Database): Pick<OwnItemMethods, 'listItems'> {
  return {
    async listItems(
      { account_id, store_id, project_id = null, archived },
      { limit, after = null },
    ) {
      const sql = pageOfItems(archived)
      const rows = await db.all(sql, account_id, store_id, after, limit + 1, project_id)
      if (rows.length === 0) throw storeNotFound()
      // If the page has no items, the query returns one row with the store only.
      const found = rows.filter(({ id }) => id !== null)
      const { taken, ...further } = fillPage(found, limit, ({ text }) => text as number)
      const items = taken.map((row) => itemRecord(row))
      return { items, revision: String(rows[0]?.revision), ...further }
    },
  }
}

// The revision differs after each change of the store's items: `items` counts insertions, and the
// sum `versions` counts updates. The greatest `seq` cannot replace the count: of two concurrent
// insertions, the one with the smaller `seq` may commit later. `newest` and `changed` are random
// ids, which make the revision unique even after a backup was restored. Computing the revision
// takes long for a large store, so it is correct only on the first page. The text of the previous
// item is not part of `text_before`. The query therefore also selects the item after a full page,
// which shows that another page follows.
//
// The order by store and the comparison of rows leave the planner only the indexes that begin with
// the store. For `store = s.seq`, it chose the primary key, and read the items of all stores.
const pageOfItems = byArchived(
  (condition) => `
  SELECT ${ITEMS.names.map((name) => `i.${name}`).join(', ')}, text,
    s.account_id, s.project_id, s.store_id,
    concat_ws('.', s.seq, c.items, c.newest, v.versions, v.changed) AS revision
  FROM stores s
  CROSS JOIN LATERAL (
    SELECT count(*) AS items, max(id) AS newest FROM items WHERE store = s.seq AND $3::text IS NULL) c
  CROSS JOIN LATERAL (
    SELECT sum(version) AS versions, max(changed) AS changed FROM items
    WHERE store = s.seq AND version > 1 AND $3::text IS NULL) v
  LEFT JOIN LATERAL (
    SELECT *, sum(text) OVER (
      ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING) AS text_before
    FROM (
      SELECT *, octet_length(description) + octet_length(metadata::text) AS text FROM items
      WHERE (store, seq) > (s.seq, coalesce((SELECT seq FROM items WHERE id = $3), 0))
        AND store <= s.seq ${condition}
      ORDER BY store, seq LIMIT $4) candidates) i ON coalesce(text_before, 0) < ${PAGE_TEXT}
  WHERE s.account_id = $1 AND s.store_id = $2 AND ($5::text IS NULL OR s.project_id = $5)
  ORDER BY i.seq`,
)
