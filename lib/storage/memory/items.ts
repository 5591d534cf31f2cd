import type { Item } from '../../domain/item.ts'
import { fillPage, storeNotFound } from '../pages.ts'
import type { ItemMethods } from '../port.ts'
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
    async listItems(store, { limit, after }) {
      const records = stores.get(storeKey(store))
      const { project_id = records?.store.project_id } = store
      if (!records || records.store.project_id !== project_id) throw storeNotFound()
      const all = [...records.items.values()]
      const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1
      const { taken, ...further } = fillPage(all.slice(start), limit, textOf)
      return { items: structuredClone(taken), revision: String(all.length), ...further }
    },
  }
}

function textOf({ description, metadata }: Item): number {
  return description.length + JSON.stringify(metadata).length
}
