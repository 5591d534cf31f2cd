import { randomBytes } from 'node:crypto'
import type { Item } from '../domain/item.ts'
import type { UpdateOptions, WriteOptions } from './records.ts'

/** Completes an update: the next version of the item, and the `data` of its audit entry. */
export function nextVersion(
  current: Item,
  changed: Item,
  { describe, ...write }: UpdateOptions<Item>,
): { readonly item: Item; readonly write: WriteOptions } {
  const item = { ...changed, version: current.version + 1 }
  const { audit } = write
  if (!audit || !describe) return { item, write }
  return { item, write: { ...write, audit: { ...audit, data: describe(current, item) } } }
}

/** A value for the column `changed`: nine characters of the time, then 80 random bits. */
export function newChange(): string {
  const time = Date.now().toString(36).padStart(9, '0')
  return `${time}${randomBytes(10).toString('base64url')}`
}

/**
 * The row to write for a copied item. A copy does not include `changed`: an item that was ever
 * changed gets a new random value.
 */
export function copiedItem(item: Item): Item & { readonly changed?: string } {
  return item.version === 1 ? item : { ...item, changed: newChange() }
}
