import { setImmediate } from 'node:timers/promises'
import type { AuditAction, AuditEntry } from '../../domain/audit.ts'
import {
  catalogItemFields,
  type ParsedItem,
  type PlannedChange,
  repeated,
} from '../../domain/catalog.ts'
import { differences } from '../../domain/differences.ts'
import { type JsonObject, parseAt, type Rule } from '../../domain/fields.ts'
import { formatInstant } from '../../domain/instant.ts'
import {
  archiveItem,
  describeItemChange,
  ITEM,
  type Item,
  type ItemType,
  restoreItem,
} from '../../domain/item.ts'
import type { Store } from '../../domain/store.ts'
import type { ErrorDetail } from '../../errors.ts'
import { catalogPages } from '../../storage/port.ts'
import { subjectOf } from '../audit.ts'
import type { Context } from '../context.ts'
import { newItem } from '../items.ts'
import type { SecretHolder } from '../secret-fields.ts'

export type Draft = ReturnType<typeof createDraft>

/** Collects the changes of a plan, what to write for them, and the mistakes of the catalog. */
export function createDraft(problems: ErrorDetail[]) {
  return {
    counts: { created: 0, updated: 0, archived: 0, restored: 0, unchanged: 0, missing: 0 },
    changes: [] as PlannedChange[],
    /** The new and changed project and stores. */
    configured: [] as [before: SecretHolder | undefined, after: SecretHolder][],
    newItems: [] as Item[],
    items: [] as Item[],
    /** The action, subject and data of each change's audit entry. */
    entries: [] as Pick<AuditEntry, 'action' | 'subject' | 'data'>[],
    problems,
  }
}

/** Adds a change to the plan, and its audit entry, which is about `record`. */
export function addChange(
  { counts, changes, entries }: Draft,
  change: PlannedChange,
  record: SecretHolder | Item,
  data?: JsonObject,
): void {
  const { action, kind } = change
  counts[`${action}d`]++
  changes.push(change)
  const entry = { action: `${kind}.${action}` as AuditAction, ...subjectOf(record) }
  entries.push(data ? { ...entry, data } : entry)
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
  for (const [index, each] of items.entries()) {
    const itemPath = `${path}[${index}]`
    const item = parseAt(each, catalogItemFields, itemPath, problems)
    const first = item && listed.get(item.name)
    if (first) problems.push(repeated(`${itemPath}.name`, first.path))
    else if (item) listed.set(item.name, { item, path: itemPath })
    if (index % 1000 === 999) await setImmediate()
  }
  return listed
}

/** Plans the changes of a stored store's items. Removes the stored items from `listed`. */
export async function planStoredItems(
  { storage, now }: Context,
  draft: Draft,
  store: Store,
  listed: Map<string, ListedItem>,
  archiveMissing: boolean,
): Promise<void> {
  const at = formatInstant(now())
  for await (const { items } of catalogPages((page) => storage.listItems(store, page))) {
    for (const stored of items) {
      const found = listed.get(stored.name)
      if (found) {
        listed.delete(stored.name)
        compareItem(draft, stored, found, at)
      } else if (stored.archived_at === undefined) {
        if (archiveMissing) planChange(draft, 'archive', stored, archiveItem(stored, at))
        else draft.counts.missing++
      }
    }
  }
}

function compareItem(draft: Draft, stored: Item, { item, path }: ListedItem, at: string): void {
  const { type, archived, ...fields } = item
  assertSame(draft, type, stored.type, `${path}.type`)
  const isArchived = stored.archived_at !== undefined
  if (isArchived && archived === undefined) {
    const message = 'is taken by an archived item: "archived": false restores it'
    draft.problems.push({ field: `${path}.name`, code: 'archived', message })
  }
  const changed = { ...stored, ...fields }
  if (archived && !isArchived) planChange(draft, 'archive', stored, archiveItem(changed, at))
  else if (archived === false && isArchived) {
    planChange(draft, 'restore', stored, restoreItem(changed))
  } else planChange(draft, 'update', stored, changed)
}

function planChange(
  draft: Draft,
  action: PlannedChange['action'],
  stored: Item,
  changed: Item,
): void {
  const { store_id, name, id, version } = stored
  const { archived_at: _, ...values } = changed
  const fields = differences(stored, values)
  const hasFields = Object.keys(fields).length > 0
  if (action === 'update' && !hasFields) {
    draft.counts.unchanged++
    return
  }
  const next = { ...changed, version: version + 1 }
  draft.items.push(next)
  const change = {
    action,
    kind: 'item',
    store_id,
    name,
    id,
    version,
    ...(hasFields && { fields }),
  } as const
  addChange(draft, change, next, describeItemChange(stored, next))
}

/** Plans the listed items that the store does not have. `type` is for items without a type. */
export async function planNewItems(
  context: Context,
  draft: Draft,
  store: Store,
  listed: ReadonlyMap<string, ListedItem>,
  type: ItemType | undefined,
): Promise<void> {
  for (const [name, { item: given, path }] of listed) {
    const item = type && !given.type ? { ...given, type } : given
    const defaults: JsonObject = {}
    for (const [field, rule] of Object.entries<Rule<unknown>>(ITEM)) {
      if (field in item) continue
      if (!rule.isRequired) defaults[field] = rule(undefined, field, draft.problems)
      else {
        const message = 'is required for a new item'
        draft.problems.push({ field: `${path}.${field}`, code: 'required', message })
      }
    }
    const { archived, ...fields } = { ...defaults, ...item } as Required<ParsedItem>
    const created = newItem(context, store, fields)
    const record = archived ? archiveItem(created, created.created_at) : created
    draft.newItems.push(record)
    const { store_id } = store
    addChange(draft, { action: 'create', kind: 'item', store_id, name, item }, record)
    if (draft.newItems.length % 1000 === 0) await setImmediate()
  }
}
