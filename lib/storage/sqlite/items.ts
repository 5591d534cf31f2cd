import type { Item } from '../../domain/item.ts'
import { fillPage, storeNotFound } from '../pages.ts'
import type { ItemMethods } from '../port.ts'
import { itemRecord, maybe } from '../records.ts'
import { insertOnce } from './audit.ts'
import type { Connection, Row } from './connection.ts'
import { findRowOfStore } from './stores.ts'

export function itemMethods(db: Connection): ItemMethods {
  return {
    insertItem(item, write = {}) {
      return db.write(() => insertOnce(db, write, () => insertItem(db, item)))
    },
    insertItems(items) {
      return db.write(() => {
        for (const item of items) {
          if (!db.find('SELECT 1 FROM items WHERE id = ?', item.id)) insertItem(db, item)
        }
      })
    },
    async findItem(id) {
      return maybe(itemRecord, db.find(FIND, id))
    },
    async listItems(store, { limit, after }) {
      const owner = findRowOfStore(db, store)
      const { project_id = owner?.project_id } = store
      if (!owner || owner.project_id !== project_id) throw storeNotFound()
      const seq = owner.seq as number
      // Items are added and never changed, and the numbers of a file's rows ascend with their
      // commits. Its id, not its number: after a backup was restored a number may be given anew.
      const newest = db.find('SELECT id FROM items WHERE store = ? ORDER BY seq DESC LIMIT 1', seq)
      // Without the store's columns, each of which would cost as much again in each row.
      const { taken, ...further } = db.some(
        (rows) => fillPage(rows, limit, textOf),
        `SELECT id, name, display_name, description, price, type, metadata, created_at FROM items
         WHERE store = ? AND seq > coalesce((SELECT seq FROM items WHERE id = ?), 0)
         ORDER BY seq LIMIT ?`,
        seq,
        after ?? null,
        limit + 1,
      )
      const items = taken.map((row) => itemRecord(row, owner))
      return { items, revision: `${seq}.${newest?.id ?? ''}`, ...further }
    },
  }
}

function textOf({ description, metadata }: Row): number {
  return (description as string).length + (metadata as string).length
}

const FIND = `
  SELECT i.*, s.account_id, s.project_id, s.store_id FROM items i JOIN stores s ON s.seq = i.store
  WHERE i.id = ?`

function insertItem(db: Connection, item: Item): boolean {
  const inserted = db.run(
    `INSERT INTO items (id, store, name, display_name, description, price, type, metadata,
       created_at)
     VALUES (?, (SELECT seq FROM stores WHERE account_id = ? AND store_id = ?),
       ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (store, name) DO NOTHING`,
    item.id,
    item.account_id,
    item.store_id,
    item.name,
    item.display_name,
    item.description,
    item.price,
    item.type,
    JSON.stringify(item.metadata),
    item.created_at,
  )
  return inserted === 1
}
