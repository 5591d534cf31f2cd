import type { Store } from '../../domain/store.ts'
import type { StoreMethods } from '../port.ts'
import { bytesOf } from '../quota.ts'
import { pageOf } from './pages.ts'
import { CountedMap, type State, storeKey } from './state.ts'

export function storeMethods(state: State): StoreMethods {
  const { stores } = state
  return {
    async insertStore(store, write = {}) {
      return state.insertOnce(write, () => {
        if (stores.has(storeKey(store))) return false
        state.countConfig(store.account_id, write.quota, store.store_config)
        stores.set(storeKey(store), {
          store: structuredClone(store),
          items: new Map(),
          purchases: new CountedMap(),
          imports: new Map(),
          erased: new Map(),
        })
        return true
      })
    },
    async findStore(account_id, store_id, project_id) {
      const store = stores.get(storeKey({ account_id, store_id }))?.store
      if (project_id !== undefined && store?.project_id !== project_id) return undefined
      return structuredClone(store)
    },
    async listStores(project_id, page) {
      const textOf = ({ store_config }: Store) => bytesOf(store_config)
      return pageOf(state.storesOf(project_id), page, textOf)
    },
    async listStoreSummaries(project_id, page) {
      const found = state.storesOf(project_id)
      const summaries = found.map(({ store_id, store_type, is_sandbox, status }) => {
        return { store_id, store_type, is_sandbox, status }
      })
      return pageOf(summaries, page)
    },
    async updateStore(key, change, write = {}) {
      state.verify(write.authority)
      const records = stores.get(storeKey(key))
      if (!records) return undefined
      const current = structuredClone(records.store)
      const changed = change(current)
      if (changed === current) return current
      const { account_id, store_config } = changed
      state.countConfig(account_id, write.quota, store_config, current.store_config)
      records.store = structuredClone(changed)
      state.recordWrite(write)
      return structuredClone(changed)
    },
  }
}
