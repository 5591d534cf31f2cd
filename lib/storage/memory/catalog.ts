import type { AuditEntry } from '../../domain/audit.ts'
import type { Item } from '../../domain/item.ts'
import type { Project } from '../../domain/project.ts'
import { CATALOG_PAGE_TEXT, catalogChanged, entryMaker, stateOf } from '../catalog.ts'
import type { CatalogChanges, CatalogItemChange, CatalogMethods, Quota } from '../port.ts'
import { assertWithin, bytesOf } from '../quota.ts'
import { pageOf } from './pages.ts'
import { CountedMap, type KeptPurchase, type State, storeKey } from './state.ts'

export function catalogMethods(state: State): CatalogMethods {
  const { projects, stores, items } = state
  const stateNow = (project_id: string) => {
    const project = projects.get(project_id)
    if (!project) return undefined
    return stateOf(
      project,
      state.storesOf(project_id).map((store) => {
        const all = [...state.recordsOf(store).items.values()]
        const ids = all.map(({ id }) => id).sort()
        const versions = all.reduce((sum, { version }) => sum + version, 0)
        return [store, { items: all.length, versions, newest: ids.at(-1) ?? null, latest: null }]
      }),
    )
  }
  const keep = (item: Item) => {
    state.recordsOf(item).items.set(item.name, item)
    items.set(item.id, item)
  }
  return {
    async findCatalogState(project_id) {
      return stateNow(project_id)
    },
    async listCatalogItems(store, page) {
      const all = [...(stores.get(storeKey(store))?.items.values() ?? [])]
      const textOf = ({ description, metadata }: Item) =>
        description.length + JSON.stringify(metadata).length
      return pageOf(all, page, textOf, CATALOG_PAGE_TEXT)
    },
    async applyCatalog({ project_id, project, ...changes }, write = {}) {
      state.verify(write.authority)
      // A change in memory cannot be rolled back, so all checks come before the first change.
      if (stateNow(project_id) !== changes.state) throw catalogChanged()
      if (changes.newStores.some((store) => stores.has(storeKey(store)))) throw catalogChanged()
      const newItems = [...changes.newItems]
      const isTaken = ({ name, ...store }: Item) =>
        stores.get(storeKey(store))?.items.has(name) ?? false
      const isOld = ({ id, version }: CatalogItemChange) => items.get(id)?.version !== version
      const itemChanges = [...changes.items]
      if (newItems.some(isTaken) || itemChanges.some(isOld)) throw catalogChanged()
      countUsage(state, { ...changes, project_id }, project, write.quota)
      const entries = entryMaker(write)
      const note = (all: readonly AuditEntry[]) => {
        for (const audit of all) state.recordWrite({ audit })
      }
      if (project) {
        projects.set(project_id, structuredClone(project))
        note(entries.project(project))
      }
      for (const store of changes.newStores) {
        const maps = {
          items: new Map(),
          purchases: new CountedMap<KeptPurchase>(),
          imports: new Map(),
        }
        const records = { ...maps, erased: new Map() }
        stores.set(storeKey(store), { store: structuredClone(store), ...records })
        note(entries.store('store.create', store))
      }
      for (const store of changes.stores) {
        state.recordsOf(store).store = structuredClone(store)
        note(entries.store('store.update', store))
      }
      for (const item of newItems) {
        keep(structuredClone(item))
        note(entries.newItem(item))
      }
      for (const change of itemChanges) {
        const { id, version, archived_at, audit: _, ...fields } = change
        note(entries.item(change))
        const { archived_at: before, ...item } = items.get(id) as Item
        const after = archived_at === undefined ? before : (archived_at ?? undefined)
        const archived = after === undefined ? {} : { archived_at: after }
        keep({ ...item, ...structuredClone(fields), version: version + 1, ...archived })
      }
      state.recordWrite(write)
    },
  }
}

/** Adds the sizes of the configurations to their account's usage, or throws `quota_exceeded`. */
function countUsage(
  state: State,
  { project_id, newStores, stores }: Pick<CatalogChanges, 'project_id' | 'newStores' | 'stores'>,
  project: Project | undefined,
  quota: Quota | undefined,
): void {
  const account_id = state.projects.get(project_id)?.account_id ?? ''
  let config_bytes = state.configBytes.get(account_id) ?? 0
  for (const { store_config } of newStores) config_bytes += bytesOf(store_config)
  for (const store of stores) {
    config_bytes += bytesOf(store.store_config) - bytesOf(state.recordsOf(store).store.store_config)
  }
  const before = state.projects.get(project_id)?.config ?? {}
  if (project) config_bytes += bytesOf(project.config) - bytesOf(before)
  const count = state.storesOf(project_id).length + newStores.length
  if (quota) assertWithin({ stores: count, config_bytes }, quota)
  state.configBytes.set(account_id, config_bytes)
}
