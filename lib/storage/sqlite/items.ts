import type { Row } from '../sql/columns.ts'
import { byArchived, type OwnItemMethods } from '../sql/items.ts'
import { fillPage, storeNotFound } from '../sql/pages.ts'
import { ITEMS, itemRecord } from '../sql/tables.ts'
import type { Connection } from './connection.ts'
import { findStoreRow } from './stores.ts'

/** Lists the items of a store by its `seq`. */
export function listingOfItems(db: Connection): Pick<OwnItemMethods, 'listItems'> {
  return {
    async listItems(key, { limit, after }) {
      const store = findStoreRow(db, key)
      const { project_id = store?.project_id, archived } = key
      if (!store || store.project_id !== project_id) throw storeNotFound()
      const seq = store.seq as number
      // Reads the revision before the items: the items may be newer than the revision, but never
      // older.
      const revision = after === undefined ? revisionOf(db, seq) : ''
      const { taken, ...further } = db.some(
        (rows) => fillPage(rows, limit, textOf),
        pageOfItems(archived),
        seq,
        after ?? null,
        limit + 1,
      )
      const items = taken.map((row) => itemRecord(row, store))
      return { items, revision, ...further }
    },
  }
}

/**
 * Returns a text that differs after each change of the store's items. The sum of versions counts
 * updates. The random ids make the revision unique even after a backup was restored.
 */
function revisionOf(db: Connection, store: number): string {
  const newest = db.find(FIND_NEWEST, store)
  const changes = db.find(FIND_CHANGES, store)
  return [store, newest?.id, changes?.versions, changes?.changed].join('.')
}

const FIND_CHANGES = `
  SELECT sum(version) AS versions, max(changed) AS changed FROM items
  WHERE store = ? AND version > 1`
const FIND_NEWEST = 'SELECT id FROM items WHERE store = ? ORDER BY seq DESC LIMIT 1'

// Does not select the columns of the store. They are the same in each row, and reading them would
// take as long as reading the columns of the item.
const pageOfItems = byArchived(
  (condition) => `
  SELECT ${ITEMS.list} FROM items
  WHERE store = ? ${condition} AND seq > coalesce((SELECT seq FROM items WHERE id = ?), 0)
  ORDER BY seq LIMIT ?`,
)

function textOf({ description, metadata }: Row): number {
  return (description as string).length + (metadata as string).length
}
