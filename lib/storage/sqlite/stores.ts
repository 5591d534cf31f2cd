import type { Store } from '../../domain/store.ts'
import type { StoreKey, StoreVerbs } from '../port.ts'
import { maybe, storeRecord } from '../records.ts'
import type { Connection, Row } from './connection.ts'
import { insertOnce, writeTrail } from './trail.ts'

export function storeVerbs(db: Connection): StoreVerbs {
  return {
    insertStore(store, trail = {}) {
      return db.write(() => insertOnce(db, trail, () => insertStore(db, store)))
    },
    async findStore(account_id, store_id) {
      return findStore(db, { account_id, store_id })
    },
    async listStores(project_id) {
      const sql = 'SELECT * FROM stores WHERE project_id = ? ORDER BY seq'
      return db.all(sql, project_id).map(storeRecord)
    },
    updateStore(key, change, trail = {}) {
      return db.write(() => {
        const current = findStore(db, key)
        if (!current) return undefined
        const changed = change(current)
        db.run(
          `UPDATE stores SET is_sandbox = ?, status = ?, store_config = ?
           WHERE account_id = ? AND store_id = ?`,
          Number(changed.is_sandbox),
          changed.status,
          JSON.stringify(changed.store_config),
          key.account_id,
          key.store_id,
        )
        writeTrail(db, trail)
        return changed
      })
    },
  }
}

/** The number by which the rows of a store name it. */
export function seqOfStore(db: Connection, store: StoreKey): number {
  return rowOfStore(db, store).seq as number
}

/** What the rows of a store have in common. */
export function rowOfStore(db: Connection, { account_id, store_id }: StoreKey): Row {
  const sql = `
    SELECT seq, account_id, project_id, store_id FROM stores WHERE account_id = ? AND store_id = ?`
  const row = db.find(sql, account_id, store_id)
  if (!row) throw new Error('the store must be inserted before what it holds')
  return row
}

function findStore(db: Connection, { account_id, store_id }: StoreKey): Store | undefined {
  const sql = 'SELECT * FROM stores WHERE account_id = ? AND store_id = ?'
  return maybe(storeRecord, db.find(sql, account_id, store_id))
}

function insertStore(db: Connection, store: Store): boolean {
  const inserted = db.run(
    `INSERT INTO stores (account_id, project_id, store_id, store_type, is_sandbox, status,
       store_config, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (account_id, store_id) DO NOTHING`,
    store.account_id,
    store.project_id,
    store.store_id,
    store.store_type,
    Number(store.is_sandbox),
    store.status,
    JSON.stringify(store.store_config),
    store.created_at,
  )
  return inserted === 1
}
