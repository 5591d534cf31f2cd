import type { CatalogItem } from './actions.ts'
import { Refusal } from './refusal.ts'

export interface Item {
  readonly item: number
  readonly name: string
  price: number
  version: number
  isArchived: boolean
}

type Change = Partial<Pick<Item, 'price' | 'isArchived'>>

/**
 * Plans the changes for a catalog with one store: first those to stored items in their order, then
 * the new items in the order of the file. Throws when the file has errors.
 */
export function planCatalog(
  store: { readonly items: readonly Item[] } | undefined,
  listed: readonly CatalogItem[],
  archiveMissing: boolean,
) {
  const at: string[] = store ? [] : ['$.stores[0].store_id']
  const places = new Map<string, number>()
  for (const [i, { name }] of listed.entries()) {
    if (places.has(name)) at.push(`$.stores[0].items[${i}].name`)
    else places.set(name, i)
  }
  const counts = { created: 0, updated: 0, archived: 0, restored: 0, unchanged: 0, missing: 0 }
  const changes: [action: string, name: string][] = []
  const changed: [Item, Change][] = []
  for (const item of store?.items ?? []) {
    const place = places.get(item.name)
    places.delete(item.name)
    if (place === undefined) {
      if (item.isArchived) continue
      if (!archiveMissing) counts.missing++
      else {
        counts.archived++
        changes.push(['archive', item.name])
        changed.push([item, { isArchived: true }])
      }
      continue
    }
    const { price, archived } = listed[place] as CatalogItem
    if (item.isArchived && archived === undefined) at.push(`$.stores[0].items[${place}].name`)
    const isArchived = archived ?? item.isArchived
    const next = { price: price === undefined ? item.price : Number(price), isArchived }
    const other = isArchived ? 'archive' : 'restore'
    const action = isArchived === item.isArchived ? 'update' : other
    if (action === 'update' && next.price === item.price) counts.unchanged++
    else {
      counts[`${action}d`]++
      changes.push([action, item.name])
      changed.push([item, next])
    }
  }
  const created = store ? [...places.values()].map((place) => listed[place] as CatalogItem) : []
  for (const item of created) {
    if (item.price === undefined) at.push(`$.stores[0].items[${listed.indexOf(item)}].price`)
    counts.created++
    changes.push(['create', item.name])
  }
  if (at.length > 0) throw new Refusal('invalid_request', ...at)
  return { shown: { ...counts, changes }, changed, created }
}
