import type { Store } from '../../domain/store.ts'
import { recordPage } from '../pages.ts'
import type { StoreKey, StoreMethods } from '../port.ts'
import { maybe, storeRecord, storeSummaryRecord } from '../records.ts'
import { insertOnce, recordWrite } from './audit.ts'
import { verifyAuthority } from './authority.ts'
import type { Connection, Row } from './connection.ts'
import { assertQuotaOfGrowth } from './quota.ts'

export function storeMethods(db: Connection): StoreMethods {
  return {
    insertStore(store, write = {}) {
      return db.write(() => insertOnce(db, write, () => insertStore(db, store)))
    },
    async findStore(account_id, store_id, project_id) {
      if (project_id === undefined) return findStore(db, { account_id, store_id })
      const sql = `${FIND} AND project_id = ?`
      return maybe(storeRecord, db.find(sql, account_id, store_id, project_id))
    },
    async listStores(project_id, page) {
      return db.some(
        (rows) => recordPage(rows, page, storeRecord, ({ seq }) => seq, textOf),
        'SELECT * FROM stores WHERE project_id = ? AND seq > ? ORDER BY seq LIMIT ?',
        project_id,
        page.after ?? 0,
        page.limit + 1,
      )
    },
    async listStoreSummaries(project_id, page) {
      const rows = db.all(
        `SELECT seq, store_id, store_type, is_sandbox, status FROM stores
         WHERE project_id = ? AND seq > ? ORDER BY seq LIMIT ?`,
        project_id,
        page.after ?? 0,
        page.limit + 1,
      )
      return recordPage(rows, page, storeSummaryRecord, ({ seq }) => seq)
    },
    updateStore(key, change, write = {}) {
      return db.write(() => {
        verifyAuthority(db, write.authority)
        const current = findStore(db, key)
        if (!current) return undefined
        const changed = change(current)
        if (changed === current) return current
        db.run(
          `UPDATE stores SET is_sandbox = ?, status = ?, store_config = ?
           WHERE account_id = ? AND store_id = ?`,
          Number(changed.is_sandbox),
          changed.status,
          JSON.stringify(changed.store_config),
          key.account_id,
          key.store_id,
        )
        assertQuotaOfGrowth(db, write.quota, current.store_config, changed.store_config)
        recordWrite(db, write)
        return changed
      })
    },
  }
}

/** The number by which the rows of a store name it. */
export function seqOfStore(db: Connection, store: StoreKey): number {
  const row = findRowOfStore(db, store)
  if (!row) throw new Error('the store must be inserted before what it holds')
  return row.seq as number
}

/** What the rows of a store have in common. */
export function findRowOfStore(
  db: Connection,
  { account_id, store_id }: StoreKey,
): Row | undefined {
  const sql = `
    SELECT seq, account_id, project_id, store_id FROM stores WHERE account_id = ? AND store_id = ?`
  return db.find(sql, account_id, store_id)
}

function textOf({ store_config }: Row): number {
  return (store_config as string).length
}

function findStore(db: Connection, { account_id, store_id }: StoreKey): Store | undefined {
  return maybe(storeRecord, db.find(FIND, account_id, store_id))
}

const FIND = 'SELECT * FROM stores WHERE account_id = ? AND store_id = ?'

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
