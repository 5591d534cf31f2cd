import type { StoreMethods } from '../port.ts'
import { STORE_CHANGES, STORE_SUMMARIES, STORES } from '../tables.ts'
import { lockAuthority, lockOf, verifyAuthority } from './authority.ts'
import type { Sql } from './dialect.ts'
import { findRecord, listBySeq, listConfigured, pageOf } from './pages.ts'
import { run } from './program.ts'
import { assertQuotaOfGrowth } from './quota.ts'
import { insertOnce, recordWrite } from './write.ts'

export function storeMethods(sql: Sql): StoreMethods {
  const { read, write } = sql
  const pageOfStores = sql.pageOfConfigured(STORES, 'project_id', 'store_config')
  return {
    insertStore: (store, options = {}) => insertOnce(sql, options, STORES, store),
    findStore: (account_id, store_id, project_id) =>
      project_id === undefined
        ? read(findRecord(STORES.read, FIND_STORE, account_id, store_id))
        : read(findRecord(STORES.read, FIND_STORE_OF_PROJECT, account_id, store_id, project_id)),
    listStores: (id, page) => read(listConfigured(STORES, pageOfStores, id, page)),
    listStoreSummaries: (id, page) => read(listBySeq(STORE_SUMMARIES, PAGE_OF_SUMMARIES, page, id)),
    updateStore: ({ account_id, store_id }, change, options = {}) =>
      write(function* () {
        const { authority, quota } = options
        yield* lockAuthority(sql, authority, lockOf.store({ account_id, store_id }))
        const query = FIND_STORE + sql.forUpdate
        const current = yield* findRecord(STORES.read, query, account_id, store_id)
        if (!current) return undefined
        yield* verifyAuthority(sql, authority)
        const changed = change(current)
        if (changed === current) return current
        yield* run(UPDATE_STORE, ...STORE_CHANGES.values(changed), account_id, store_id)
        yield* assertQuotaOfGrowth(quota, current.store_config, changed.store_config)
        yield* recordWrite(sql, options)
        return changed
      }),
  }
}

const OF_STORE = 'WHERE account_id = ? AND store_id = ?'
const FIND_STORE = `SELECT ${STORES.list} FROM stores ${OF_STORE}`
const FIND_STORE_OF_PROJECT = `${FIND_STORE} AND project_id = ?`
const PAGE_OF_SUMMARIES = pageOf(STORE_SUMMARIES, 'project_id')
export const UPDATE_STORE = STORE_CHANGES.updateWhere('account_id = ? AND store_id = ?')
