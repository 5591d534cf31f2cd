import { text } from './fields.ts'

/** A status: any text of 1 to 64 characters. Only `disabled` and `archived` have an effect. */
export const status = text(1, 64)

/**
 * Whether a record is active. Inactive projects have no valid tokens; inactive stores are hidden.
 */
export function isActive(record: { readonly status: string }): boolean {
  return record.status !== 'disabled' && record.status !== 'archived'
}
