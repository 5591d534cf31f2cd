import { text } from './fields.ts'

/** Any text of 1 to 64 characters. Only `disabled` and `archived` have an effect. */
export const status = text(1, 64)

/** An inactive project has no valid tokens. An inactive store is hidden. */
export function isActive(record: { readonly status: string }): boolean {
  return record.status !== 'disabled' && record.status !== 'archived'
}
