import { fillPage, PAGE_TEXT, storeNotFound } from '../pages.ts'
import type { ItemMethods } from '../port.ts'
import { itemRecord, maybe } from '../records.ts'
import { insertOnce } from './audit.ts'
import type { Database } from './connection.ts'

export function itemMethods(db: Database): ItemMethods {
  return {
    insertItem(item, write = {}) {
      return insertOnce(
        db,
        write,
        `INSERT INTO items (id, store, name, display_name, description, price, type, metadata,
           created_at)
         SELECT $1, (SELECT seq FROM stores WHERE account_id = $2 AND store_id = $3),
           $4, $5, $6, $7, $8, $9, $10 FROM authority
         ON CONFLICT (store, name) DO NOTHING`,
        item.id,
        item.account_id,
        item.store_id,
        item.name,
        item.display_name,
        item.description,
        item.price,
        item.type,
        item.metadata,
        item.created_at,
      )
    },
    async insertItems(items) {
      await db.run(INSERT_MANY, items)
    },
    async findItem(id) {
      return maybe(itemRecord, await db.find(FIND, id))
    },
    async listItems({ account_id, store_id, project_id = null }, { limit, after = null }) {
      const rows = await db.all(LIST, account_id, store_id, after, limit + 1, project_id)
      if (rows.length === 0) throw storeNotFound()
      // A store without items on this page has one row that holds none.
      const found = rows.filter(({ id }) => id !== null)
      const { taken, ...further } = fillPage(found, limit, ({ text }) => text as number)
      const items = taken.map((row) => itemRecord(row))
      return { items, revision: String(rows[0]?.revision), ...further }
    },
  }
}

const INSERT_MANY = `
  INSERT INTO items (id, store, name, display_name, description, price, type, metadata, created_at)
  SELECT id, (SELECT seq FROM stores s WHERE s.account_id = i.account_id AND s.store_id = i.store_id),
    name, display_name, description, price, type, metadata, created_at
  FROM ROWS FROM (json_to_recordset($1) AS (id text, account_id text, store_id text, name text,
    display_name text, description text, price bigint, type text, metadata json, created_at text))
    WITH ORDINALITY AS i
  ORDER BY ordinality
  ON CONFLICT DO NOTHING`

const FIND = `
  SELECT i.*, s.account_id, s.project_id, s.store_id
  FROM items i JOIN stores s ON s.seq = i.store WHERE i.id = $1`

// Items are added and never changed. The revision is their count, not the greatest number: of two
// that are added at once the one with the smaller number may be seen later. To count takes long in
// a large store: done for the first page, whose revision is that of the list. Rows come as long as
// the text of those before the one before does not fill the page: those that it takes, and one
// more.
const LIST = `
  SELECT i.id, name, display_name, description, price, type, metadata, i.created_at, text,
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
