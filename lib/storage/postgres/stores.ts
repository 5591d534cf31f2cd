import { maybe } from '../columns.ts'
import type { StoreMethods } from '../port.ts'
import { storeReads } from '../reads.ts'
import { FIND_STORE, UPDATE_STORE } from '../statements.ts'
import { STORE_CHANGES, STORES } from '../tables.ts'
import { insertOnce, recordWrite } from './audit.ts'
import { lockAuthority, lockOf, verifyAuthority } from './authority.ts'
import { configuredQuery, listConfigured } from './configured.ts'
import type { Database } from './connection.ts'
import { assertQuotaOfGrowth } from './quota.ts'

export function storeMethods(db: Database): StoreMethods {
  return {
    ...storeReads(db),
    insertStore: (store, write = {}) => insertOnce(db, write, STORES, store),
    listStores: (project_id, page) => listConfigured(db, STORES, PAGE_OF_STORES, project_id, page),
    updateStore({ account_id, store_id }, change, write = {}) {
      return db.transaction(async (tx) => {
        await lockAuthority(tx, write.authority, lockOf.store({ account_id, store_id }))
        const row = await tx.find(`${FIND_STORE} FOR NO KEY UPDATE`, account_id, store_id)
        const current = maybe(STORES.read, row)
        if (!current) return undefined
        await verifyAuthority(tx, write.authority)
        const changed = change(current)
        if (changed === current) return current
        await tx.run(UPDATE_STORE, ...STORE_CHANGES.values(changed), account_id, store_id)
        const { quota } = write
        await assertQuotaOfGrowth(tx, quota, current.store_config, changed.store_config)
        await recordWrite(tx, write)
        return changed
      })
    },
  }
}

const PAGE_OF_STORES = configuredQuery(STORES, 'project_id', 'store_config')
