// The statements of the peers. They use our database, with the same tables, indexes and durability.
import Database from 'better-sqlite3'
import { openPostgres } from './peer-postgres.mjs'

export const ISSUER = 'tillkit'

/** With PostgreSQL each function returns a promise. */
export async function openDatabase(path) {
  if (path.startsWith('postgres:')) return openPostgres(path)
  const db = new Database(path)
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON')
  const items = `SELECT i.id, i.name, i.display_name, i.description, i.price, i.type, s.store_id,
    i.metadata, s.project_id FROM items i JOIN stores s ON s.seq = i.store`
  return {
    key: db.prepare('SELECT kid, secret FROM signing_keys ORDER BY seq DESC').get(),
    project: db.prepare('SELECT * FROM projects WHERE id = ?'),
    projectByKey: db.prepare('SELECT * FROM projects WHERE public_key = ?'),
    accountByKey: db.prepare('SELECT account_id FROM account_keys WHERE hash = ?'),
    store: db.prepare('SELECT * FROM stores WHERE account_id = ? AND store_id = ?'),
    stores: db.prepare('SELECT * FROM stores WHERE project_id = ? ORDER BY seq'),
    item: db.prepare(`${items} WHERE i.id = ?`),
    items: db.prepare(`${items} WHERE i.store = ? ORDER BY i.seq`),
    insertItem: db.prepare(`INSERT INTO items
      (id, store, name, display_name, description, price, type, metadata, created_at, version)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1) ON CONFLICT (store, name) DO NOTHING`),
  }
}

export function itemOf({ project_id, metadata, ...item }) {
  return { ...item, metadata: typeof metadata === 'string' ? JSON.parse(metadata) : metadata }
}
