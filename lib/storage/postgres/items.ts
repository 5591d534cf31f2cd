import type { ItemVerbs } from '../port.ts'
import { itemRecord, maybe } from '../records.ts'
import type { Database } from './connection.ts'
import { insertOnce } from './trail.ts'

export function itemVerbs(db: Database): ItemVerbs {
  return {
    insertItem(item, trail = {}) {
      return insertOnce(
        db,
        trail,
        `INSERT INTO items (id, store, name, display_name, description, price, type, metadata,
           created_at)
         VALUES ($1, (SELECT seq FROM stores WHERE account_id = $2 AND store_id = $3),
           $4, $5, $6, $7, $8, $9, $10)
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
    async listItems({ account_id, store_id }, { limit, after }) {
      const rows = await db.all(LIST, account_id, store_id, after ?? null, limit + 1)
      // A store without items on this page has one row that holds none.
      const found = rows.filter(({ id }) => id !== null)
      const items = found.slice(0, limit).map((row) => itemRecord(row))
      const page = { items, revision: String(rows[0]?.revision) }
      const last = items.at(-1)
      return found.length > limit && last ? { ...page, next: last.id } : page
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
// a large store: done for the first page, whose revision is that of the list.
const LIST = `
  SELECT i.*, s.account_id, s.project_id, s.store_id, concat(s.seq, '.', c.items, '.', c.newest) AS revision
  FROM stores s
  CROSS JOIN LATERAL (
    SELECT count(*) AS items, max(id) AS newest FROM items WHERE store = s.seq AND $3::text IS NULL) c
  LEFT JOIN LATERAL (
    SELECT * FROM items
    WHERE store = s.seq AND seq > coalesce((SELECT seq FROM items WHERE id = $3), 0)
    ORDER BY seq LIMIT $4) i ON true
  WHERE s.account_id = $1 AND s.store_id = $2
  ORDER BY i.seq`
