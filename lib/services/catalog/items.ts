import { setImmediate } from 'node:timers/promises'
import type { AuditAction, AuditEntry } from '../../domain/audit.ts'
import {
  catalogItemFields,
  MAX_MISTAKES,
  type ParsedItem,
  type PlannedChange,
  repeated,
} from '../../domain/catalog.ts'
import type { EndpointWrite } from '../../domain/endpoint.ts'
import { type Differences, differences } from '../../domain/field-differences.ts'
import { parseAt } from '../../domain/fields.ts'
import { formatInstant } from '../../domain/instant.ts'
import {
  archiveItem,
  describeItemChange,
  ITEM,
  type Item,
  type ItemType,
  restoreItem,
} from '../../domain/item.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { Rule } from '../../domain/rules.ts'
import type { Store } from '../../domain/store.ts'
import type { ErrorDetail } from '../../errors.ts'
import {
  catalogPages,
  type ItemUpdate,
  type KeyCheck,
  type StoreUpdate,
} from '../../storage/port.ts'
import { subjectOf } from '../audit.ts'
import type { Context } from '../context.ts'
import { newItem } from '../items.ts'
import type { SecretHolder } from '../secret-fields.ts'

/**
 * A plan holds at most 1 MiB of large old values as JSON, because parsed JSON takes up to 24 times its
 * text. The old values of 600 large items needed 900 MiB.
 */
const MAX_OLD_TEXT = 1024 ** 2
const LARGE_TEXT = 256

export type Draft = ReturnType<typeof createDraft>

/** Collects the changes of a plan, what to write for them, and the mistakes of the catalog. */
export function createDraft(problems: ErrorDetail[], signal: AbortSignal | undefined) {
  return {
    signal,
    counts: { created: 0, updated: 0, archived: 0, restored: 0, unchanged: 0, missing: 0 },
    changes: [] as PlannedChange[],
    newStores: [] as Store[],
    stores: [] as StoreUpdate[],
    /** The checks and writes of the transaction for the new and changed project and stores. */
    endpoints: [] as EndpointWrite[],
    keyChecks: [] as KeyCheck[],
    addedConfigBytes: 0,
    newItems: [] as Item[],
    items: [] as ItemUpdate[],
    /** How much JSON of large old values the changes may still hold. */
    roomForOld: MAX_OLD_TEXT,
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
    if (problems.length >= MAX_MISTAKES) break
    if (index % 250 === 249) await setImmediate()
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
  const { archived_at, ...values } = changed
  const fields = differences(stored, values)
  const entries = Object.entries(fields)
  if (action === 'update' && entries.length === 0) {
    draft.counts.unchanged++
    return
  }
  const to = Object.fromEntries(entries.map(([field, { to }]) => [field, to]))
  draft.items.push({ ...to, id, version: version + 1, archived_at })
  const change = {
    action,
    kind: 'item',
    store_id,
    name,
    id,
    version,
    ...(entries.length > 0 && shownFields(draft, fields)),
  } as const
  addChange(draft, change, stored, describeItemChange(stored, { ...changed, version: version + 1 }))
}

/** Leaves out large old values that the plan has no room for. */
export function shownFields(draft: Draft, fields: Differences): Pick<PlannedChange, 'fields'> {
  const shown: Record<string, Differences[string]> = {}
  let isShortened = false
  for (const [field, { from, to }] of Object.entries(fields)) {
    const length = JSON.stringify(from)?.length ?? 0
    const isLarge = length > LARGE_TEXT
    const isLeftOut = isLarge && length > draft.roomForOld
    if (isLeftOut) isShortened = true
    else if (isLarge) draft.roomForOld -= length
    shown[field] = isLeftOut ? { to } : { from, to }
  }
  return { fields: shown, ...(isShortened && { is_shortened: true }) }
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
    if (draft.newItems.length % 250 === 0) {
      await setImmediate()
      draft.signal?.throwIfAborted()
    }
  }
}
