import { setImmediate } from 'node:timers/promises'
import type { AuditAction } from '../domain/audit.ts'
import {
  type ParsedItem,
  type PlannedChange,
  parseCatalogItem,
  repeated,
} from '../domain/catalog.ts'
import { type Differences, differences } from '../domain/differences.ts'
import { isObject } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import {
  describeDifferences,
  type Item,
  type ItemType,
  initialItem,
  REQUIRED_ITEM_FIELDS,
} from '../domain/item.ts'
import type { Project } from '../domain/project.ts'
import type { Store } from '../domain/store.ts'
import type { ErrorDetail } from '../errors.ts'
import { catalogPages } from '../storage/pages.ts'
import type { CatalogItemChange } from '../storage/port.ts'
import type { Context } from './context.ts'
import { createId } from './ids.ts'

export type Draft = ReturnType<typeof createDraft>

/** Collects the changes of a plan, and the mistakes of the catalog. */
export function createDraft(problems: ErrorDetail[]) {
  const counts = { created: 0, updated: 0, archived: 0, restored: 0, unchanged: 0, missing: 0 }
  return { counts, changes: [] as PlannedChange[], problems }
}

export function addChange({ counts, changes }: Draft, change: PlannedChange): void {
  counts[`${change.action}d` as 'created']++
  changes.push(change)
}

/** Adds a mistake if the catalog has another value for a field that never changes. */
export function assertSame({ problems }: Draft, listed: unknown, stored: string, field: string) {
  if (listed === undefined || listed === stored) return
  problems.push({ field, code: 'fixed', message: `never changes: the stored one is '${stored}'` })
}

interface ListedItem {
  readonly item: ParsedItem
  readonly path: string
}

/** Parses the items of a store, by name. Adds a mistake for a name that is listed twice. */
export async function parseItems(
  items: readonly unknown[],
  path: string,
  problems: ErrorDetail[],
): Promise<Map<string, ListedItem>> {
  const listed = new Map<string, ListedItem>()
  // The path of the first item with each name, also of one with another bad field.
  const firsts = new Map<string, string>()
  for (const [index, each] of items.entries()) {
    const itemPath = `${path}[${index}]`
    const item = parseCatalogItem(each, itemPath, problems)
    const name = item ? item.name : nameOf(each)
    const first = firsts.get(name)
    if (first !== undefined) problems.push(repeated(`${itemPath}.name`, first))
    else if (name !== '') firsts.set(name, itemPath)
    if (item && first === undefined) listed.set(name, { item, path: itemPath })
    if (index % 1000 === 999) await setImmediate()
  }
  return listed
}

/** The name of an item that has a bad field; '' if the name itself is bad. */
function nameOf(item: unknown): string {
  const { name } = isObject(item) ? item : {}
  return typeof name === 'string' ? name : ''
}

/** Plans the changes of a stored store's items. Removes the stored items from `listed`. */
export async function planStoredItems(
  { storage }: Context,
  draft: Draft,
  store: Store,
  listed: Map<string, ListedItem>,
  archiveMissing: boolean,
): Promise<void> {
  for await (const { records } of catalogPages(storage, store)) {
    for (const stored of records) {
      const found = listed.get(stored.name)
      if (found) {
        listed.delete(stored.name)
        compareItem(draft, stored, found)
      } else if (stored.archived_at === undefined) {
        if (archiveMissing) addChange(draft, changeOf('archive', stored, {}))
        else draft.counts.missing++
      }
    }
  }
}

function compareItem(draft: Draft, stored: Item, { item, path }: ListedItem): void {
  const { type, archived, ...fields } = item
  const isArchived = stored.archived_at !== undefined
  assertSame(draft, type, stored.type, `${path}.type`)
  if (isArchived && archived === undefined) {
    const message = 'is taken by an archived item: "archived": false restores it'
    draft.problems.push({ field: `${path}.name`, code: 'archived', message })
  }
  const changed = differences(stored, fields)
  if ((archived ?? isArchived) !== isArchived) {
    addChange(draft, changeOf(archived ? 'archive' : 'restore', stored, changed))
  } else if (Object.keys(changed).length > 0) addChange(draft, changeOf('update', stored, changed))
  else draft.counts.unchanged++
}

function changeOf(
  action: PlannedChange['action'],
  { store_id, name, id, version }: Item,
  fields: Differences,
): PlannedChange {
  const change = { action, kind: 'item', store_id, name, id, version } as const
  return Object.keys(fields).length > 0 ? { ...change, fields } : change
}

/** Plans the listed items that the store does not have. `type` is for items without a type. */
export function planNewItems(
  draft: Draft,
  { store_id }: Store,
  listed: ReadonlyMap<string, ListedItem>,
  type: ItemType | undefined,
): void {
  for (const [name, { item: given, path }] of listed) {
    const item = type && !given.type ? { ...given, type } : given
    for (const field of REQUIRED_ITEM_FIELDS.filter((each) => item[each] === undefined)) {
      const message = 'is required for a new item'
      draft.problems.push({ field: `${path}.${field}`, code: 'required', message })
    }
    addChange(draft, { action: 'create', kind: 'item', store_id, name, item })
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
    const data = describeDifferences({ name, version: version + 1 }, fields)
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
    const fields = { ...initialItem(), ...given }
    const state = { created_at: at, version: 1, ...(archived ? { archived_at: at } : {}) }
    yield { id: createId('itm', now()), ...owner, ...fields, ...state }
  }
}
