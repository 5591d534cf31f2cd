import { text } from './fields.ts'

/** A status: any text of 1 to 64 characters. Only `disabled` and `archived` have an effect. */
export const status = text(1, 64)

/** False if disabled or archived: the project then has no valid tokens, the store is hidden. */
export function isActive(record: { readonly status: string }): boolean {
  return record.status !== 'disabled' && record.status !== 'archived'
}
