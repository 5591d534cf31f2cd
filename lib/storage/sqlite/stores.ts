import { maybe, type Row } from '../columns.ts'
import { recordPage } from '../pages.ts'
import type { StoreKey, StoreMethods } from '../port.ts'
import { storeReads } from '../reads.ts'
import { FIND_STORE, pageOf, UPDATE_STORE } from '../statements.ts'
import { STORE_CHANGES, STORES } from '../tables.ts'
import { insertOnce, recordWrite } from './audit.ts'
import { verifyAuthority } from './authority.ts'
import type { Connection } from './connection.ts'
import { assertQuotaOfGrowth } from './quota.ts'

export function storeMethods(db: Connection): StoreMethods {
  return {
    ...storeReads(db),
    insertStore: (store, write = {}) => db.write(() => insertOnce(db, write, STORES, store)),
    async listStores(project_id, page) {
      return db.some(
        (rows) => recordPage(rows, page, STORES.read, ({ seq }) => seq, textOf),
        PAGE_OF_STORES,
        project_id,
        page.after ?? '0',
        page.limit + 1,
      )
    },
    updateStore({ account_id, store_id }, change, write = {}) {
      return db.write(() => {
        verifyAuthority(db, write.authority)
        const current = maybe(STORES.read, db.find(FIND_STORE, account_id, store_id))
        if (!current) return undefined
        const changed = change(current)
        if (changed === current) return current
        db.run(UPDATE_STORE, ...STORE_CHANGES.sqliteValues(changed), account_id, store_id)
        assertQuotaOfGrowth(db, write.quota, current.store_config, changed.store_config)
        recordWrite(db, write)
        return changed
      })
    },
  }
}

const PAGE_OF_STORES = pageOf(STORES, 'project_id')

function textOf({ store_config }: Row): number {
  return (store_config as string).length
}

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
