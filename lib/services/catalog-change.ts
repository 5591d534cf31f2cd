import type { AuditAction } from '../domain/audit.ts'
import type { ParsedItem, PlannedChange } from '../domain/catalog.ts'
import { formatInstant } from '../domain/instant.ts'
import { type Item, initialItem } from '../domain/item.ts'
import type { Project } from '../domain/project.ts'
import type { CatalogItemChange } from '../storage/port.ts'
import type { Context } from './context.ts'
import { createId } from './ids.ts'

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
    const fields = { ...initialItem(), ...given }
    const state = { created_at: at, version: 1, ...(archived ? { archived_at: at } : {}) }
    yield { id: createId('itm', now()), ...owner, ...fields, ...state }
  }
}
