import type { Item } from '../../domain/item.ts'
import { fillPage, storeNotFound } from '../pages.ts'
import type { ItemMethods } from '../port.ts'
import { nextVersion } from '../versions.ts'
import { type State, storeKey } from './state.ts'

export function itemMethods(state: State): ItemMethods {
  const { items, stores } = state
  return {
    async insertItem(item, write = {}) {
      const { items: inStore } = state.recordsOf(item)
      return state.insertOnce(write, () => {
        if (inStore.has(item.name)) return false
        const kept = structuredClone(item)
        inStore.set(item.name, kept)
        items.set(item.id, kept)
        return true
      })
    },
    async insertItems(all) {
      for (const item of all) {
        if (items.has(item.id)) continue
        const kept = structuredClone(item)
        state.recordsOf(item).items.set(item.name, kept)
        items.set(item.id, kept)
      }
    },
    async findItem(id) {
      return structuredClone(items.get(id))
    },
    async findItemByName(store, name) {
      return structuredClone(stores.get(storeKey(store))?.items.get(name))
    },
    async updateItem(id, change, write = {}) {
      state.verify(write.authority)
      const current = structuredClone(items.get(id))
      const changed = current && change(current)
      if (!current || !changed || changed === current) return current
      const next = nextVersion(current, changed, write)
      const kept = structuredClone(next.item)
      state.recordsOf(kept).items.set(kept.name, kept)
      items.set(id, kept)
      state.recordWrite(next.write)
      return next.item
    },
    async listItems(store, { limit, after }) {
      const records = stores.get(storeKey(store))
      const { project_id = records?.store.project_id, archived } = store
      if (!records || records.store.project_id !== project_id) throw storeNotFound()
      const all = [...records.items.values()]
      const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1
      const wanted = all.slice(start).filter(({ archived_at }) => {
        return archived === undefined || archived === (archived_at !== undefined)
      })
      const { taken, ...further } = fillPage(wanted, limit, textOf)
      const versions = all.reduce((sum, { version }) => sum + version - 1, 0)
      return { items: structuredClone(taken), revision: `${all.length}.${versions}`, ...further }
    },
  }
}

function textOf({ description, metadata }: Item): number {
  return description.length + JSON.stringify(metadata).length
}
