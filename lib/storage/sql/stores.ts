import type { Store } from '../../domain/store.ts'
import { lockOf } from './authority.ts'
import type { Sql } from './dialect.ts'
import { findRecord, limitsOfConfigured, listBySeq, pageOf, pageOfConfigured } from './pages.ts'
import { run } from './program.ts'
import type { AuthorizedChange, Changed, Page, StoreKey, WriteOptions } from './records.ts'
import { STORE_CHANGES, STORE_SUMMARIES, STORES } from './tables.ts'
import { changeRecord, insertOnce, shareOf } from './write.ts'

export function storeMethods(sql: Sql) {
  const { read, write } = sql
  const pageOfStores = pageOfConfigured(sql, STORES, 'store_config', 'project_id')
  return {
    /** Inserts a store. Resolves to `taken` if the account has a store with this `store_id`. */
    insertStore: (store: Store, options: WriteOptions = {}) =>
      insertOnce(sql, options, STORES, store),
    /** Finds a store. With a `project_id`, the store must be in that project. */
    findStore: (account_id: string, store_id: string, project_id?: string) =>
      project_id === undefined
        ? read(findRecord(STORES.read, FIND_STORE, account_id, store_id))
        : read(findRecord(STORES.read, FIND_STORE_OF_PROJECT, account_id, store_id, project_id)),
    /** Lists the stores of a project in order of creation. A page of large configs ends early. */
    listStores: (id: string, page: Page) =>
      read(listBySeq(STORES, pageOfStores, limitsOfConfigured(sql, page), id)),
    /** Lists the stores of a project like `listStores`, but without reading their configurations. */
    listStoreSummaries: (id: string, page: Page) =>
      read(listBySeq(STORE_SUMMARIES, PAGE_OF_SUMMARIES, page, id)),
    /** Replaces a store by the result of `change`, see `changeRecord`. */
    updateStore: (
      { account_id, store_id }: StoreKey,
      change: (current: Store) => Changed<Store>,
      options: AuthorizedChange = {},
    ) =>
      write(() => {
        const stored = {
          locks: [lockOf.store({ account_id, store_id })],
          find: findRecord(STORES.read, FIND_STORE + sql.forUpdate, account_id, store_id),
          update: (changed: Store) =>
            run(UPDATE_STORE, ...STORE_CHANGES.values(changed), account_id, store_id),
        }
        return changeRecord(sql, stored, change, options)
      }, shareOf(options)),
  }
}

const OF_STORE = 'WHERE account_id = ? AND store_id = ?'
const FIND_STORE = `SELECT ${STORES.list} FROM stores ${OF_STORE}`
const FIND_STORE_OF_PROJECT = `${FIND_STORE} AND project_id = ?`
const PAGE_OF_SUMMARIES = pageOf(STORE_SUMMARIES, 'project_id')
const UPDATE_STORE = STORE_CHANGES.updateWhere('account_id = ? AND store_id = ?')
