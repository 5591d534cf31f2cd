import { fillPage, PAGE_TEXT, storeNotFound } from '../pages.ts'
import type { ItemMethods } from '../port.ts'
import { itemReads } from '../reads.ts'
import { ITEMS, itemRecord } from '../tables.ts'
import { insertOnce } from './audit.ts'
import type { Database } from './connection.ts'
import { insertionOfMany } from './statements.ts'

export function itemMethods(db: Database): ItemMethods {
  return {
    ...itemReads(db),
    insertItem: (item, write = {}) => insertOnce(db, write, ITEMS, item),
    async insertItems(items) {
      await db.run(INSERT_ITEMS, items)
    },
    async listItems({ account_id, store_id, project_id = null }, { limit, after = null }) {
      const rows = await db.all(PAGE_OF_ITEMS, account_id, store_id, after, limit + 1, project_id)
      if (rows.length === 0) throw storeNotFound()
      // A store without items on this page gives one row without an item.
      const found = rows.filter(({ id }) => id !== null)
      const { taken, ...further } = fillPage(found, limit, ({ text }) => text as number)
      const items = taken.map((row) => itemRecord(row))
      return { items, revision: String(rows[0]?.revision), ...further }
    },
  }
}

const INSERT_ITEMS = insertionOfMany(ITEMS)

// Items are only added, never changed. The revision is their count, not the greatest `seq`: of two
// items added at once, the one with the lower `seq` may become visible later. Only the first page
// counts the items, because that is slow for a large store, and the list uses the first page's
// revision. A row is left out if the rows up to the one before its predecessor fill the page with
// their text.
const PAGE_OF_ITEMS = `
  SELECT ${ITEMS.names.map((name) => `i.${name}`).join(', ')}, text,
    s.account_id, s.project_id, s.store_id, concat(s.seq, '.', c.items, '.', c.newest) AS revision
  FROM stores s
  CROSS JOIN LATERAL (
    SELECT count(*) AS items, max(id) AS newest FROM items WHERE store = s.seq AND $3::text IS NULL) c
  LEFT JOIN LATERAL (
    SELECT *, sum(text) OVER (
      ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING) AS text_before
    FROM (
      SELECT *, octet_length(description) + octet_length(metadata::text) AS text FROM items
      WHERE store = s.seq AND seq > coalesce((SELECT seq FROM items WHERE id = $3), 0)
      ORDER BY seq LIMIT $4) candidates) i ON coalesce(text_before, 0) < ${PAGE_TEXT}
  WHERE s.account_id = $1 AND s.store_id = $2 AND ($5::text IS NULL OR s.project_id = $5)
  ORDER BY i.seq`
