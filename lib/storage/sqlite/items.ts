import type { Row } from '../columns.ts'
import { fillPage, storeNotFound } from '../pages.ts'
import type { ItemMethods } from '../port.ts'
import { itemReads } from '../reads.ts'
import { ITEMS, itemRecord } from '../tables.ts'
import { insertOnce } from './audit.ts'
import type { Connection } from './connection.ts'
import { findStoreRow } from './stores.ts'

export function itemMethods(db: Connection): ItemMethods {
  return {
    ...itemReads(db),
    insertItem: (item, write = {}) => db.write(() => insertOnce(db, write, ITEMS, item)),
    insertItems(items) {
      return db.write(() => {
        for (const item of items) {
          if (!db.find('SELECT 1 FROM items WHERE id = ?', item.id)) db.insert(ITEMS, item)
        }
      })
    },
    async listItems(key, { limit, after }) {
      const store = findStoreRow(db, key)
      const { project_id = store?.project_id } = key
      if (!store || store.project_id !== project_id) throw storeNotFound()
      const seq = store.seq as number
      // Items are only added, never changed, in the order of `seq`. The revision is the newest
      // item's id, because another item may get the same `seq` after a backup was restored.
      const newest = db.find(FIND_NEWEST, seq)
      const { taken, ...further } = db.some(
        (rows) => fillPage(rows, limit, textOf),
        PAGE_OF_ITEMS,
        seq,
        after ?? null,
        limit + 1,
      )
      const items = taken.map((row) => itemRecord(row, store))
      return { items, revision: `${seq}.${newest?.id ?? ''}`, ...further }
    },
  }
}

const FIND_NEWEST = 'SELECT id FROM items WHERE store = ? ORDER BY seq DESC LIMIT 1'

// Leaves out the store's ids: each would cost as much per row as a column of the item.
const PAGE_OF_ITEMS = `
  SELECT ${ITEMS.list} FROM items
  WHERE store = ? AND seq > coalesce((SELECT seq FROM items WHERE id = ?), 0)
  ORDER BY seq LIMIT ?`

function textOf({ description, metadata }: Row): number {
  return (description as string).length + (metadata as string).length
}
