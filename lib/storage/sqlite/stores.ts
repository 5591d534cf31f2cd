import type { StoreKey } from '../sql/records.ts'
import type { Connection, Row } from './connection.ts'

/** A store's `seq`, the key by which other tables refer to it. Throws if there is no store. */
export function seqOfStore(db: Connection, store: StoreKey): number {
  const row = findStoreRow(db, store)
  if (!row) throw new Error('the store must be inserted before its items and purchases')
  return row.seq as number
}

/** Finds a store's `seq`, `account_id`, `project_id` and `store_id`. */
export function findStoreRow(db: Connection, { account_id, store_id }: StoreKey): Row | undefined {
  return db.find(FIND_STORE_ROW, account_id, store_id)
}

const FIND_STORE_ROW = `
  SELECT seq, account_id, project_id, store_id FROM stores WHERE account_id = ? AND store_id = ?`
