import type { AuditAction } from '../domain/audit.ts'
import {
  type Differences,
  type ItemList,
  type ParsedItem,
  type PlannedChange,
  parseCatalogItem,
} from '../domain/catalog.ts'
import { formatInstant } from '../domain/instant.ts'
import type { Item, ItemType } from '../domain/item.ts'
import type { Project } from '../domain/project.ts'
import type { CatalogItemChange } from '../storage/port.ts'
import type { Context } from './context.ts'
import { createId } from './ids.ts'

/**
 * A change of an item. Keeps the `fields` as JSON and parses it at each access. As objects, the
 * `fields` of 100,000 items would take 20 MiB.
 */
export class ChangedItem implements PlannedChange {
  readonly kind = 'item'
  readonly action: PlannedChange['action']
  readonly store_id: string
  readonly name: string
  readonly id: string
  readonly version: number
  readonly #fields: string | undefined

  constructor(action: PlannedChange['action'], item: Item, fields: Differences = {}) {
    this.action = action
    this.store_id = item.store_id
    this.name = item.name
    this.id = item.id
    this.version = item.version
    this.#fields = Object.keys(fields).length > 0 ? JSON.stringify(fields) : undefined
  }

  get fields(): Differences | undefined {
    return this.#fields === undefined ? undefined : JSON.parse(this.#fields)
  }

  toJSON(): object {
    const { kind, action, store_id, name, id, version, fields } = this
    return { action, kind, store_id, name, id, version, ...(fields && { fields }) }
  }
}

/**
 * A new item. Parses the `item` at each access: all parsed items together take as much memory as
 * the catalog.
 */
export class CreatedItem implements PlannedChange {
  readonly action = 'create'
  readonly kind = 'item'
  readonly store_id: string
  readonly name: string
  readonly #items: ItemList<unknown>
  readonly #index: number
  readonly #type: ItemType | undefined

  constructor(
    store_id: string,
    name: string,
    items: ItemList<unknown>,
    index: number,
    type: ItemType | undefined,
  ) {
    this.store_id = store_id
    this.name = name
    this.#items = items
    this.#index = index
    this.#type = type
  }

  get item(): ParsedItem {
    const item = parseCatalogItem(this.#items.at(this.#index), '', []) as ParsedItem
    return this.#type && !item.type ? { ...item, type: this.#type } : item
  }

  toJSON(): object {
    const { action, kind, store_id, name, item } = this
    return { action, kind, store_id, name, item }
  }
}

/** Yields the changes one by one: together they take as much memory as the catalog. */
export function* itemChanges(
  { now }: Context,
  changes: readonly PlannedChange[],
): Generator<CatalogItemChange> {
  const at = formatInstant(now())
  for (const { action, id, version, store_id = '', name = '', fields = {} } of changes) {
    if (id === undefined || version === undefined) continue
    const { from, to } = fields.price ?? {}
    const data = {
      name,
      version: version + 1,
      ...(Object.keys(fields).length > 0 && { changed: Object.keys(fields) }),
      ...(from !== undefined && { price: { old: from, new: to } }),
    }
    const audit = { action: `item.${action}` as AuditAction, subject: id, store_id, data }
    const changed = Object.entries(fields).map(([name, { to }]) => [name, to])
    const archived_at = { archive: at, restore: null }[action as 'archive']
    const state = archived_at === undefined ? {} : { archived_at }
    yield { id, version, ...Object.fromEntries(changed), ...state, audit }
  }
}

/** Yields the new items one by one: together they take as much memory as the catalog. */
export function* newItems(
  { now }: Context,
  { id: project_id, account_id }: Project,
  changes: readonly PlannedChange[],
): Generator<Item> {
  const at = formatInstant(now())
  for (const change of changes) {
    const { store_id = '' } = change
    const item = change.kind === 'item' && change.action === 'create' ? change.item : undefined
    if (!item) continue
    const { archived, ...given } = item as Required<ParsedItem>
    const owner = { account_id, project_id, store_id }
    const fields = { ...{ description: '', metadata: {} }, ...given }
    const state = { created_at: at, version: 1, ...(archived ? { archived_at: at } : {}) }
    yield { id: createId('itm', now()), ...owner, ...fields, ...state }
  }
}
