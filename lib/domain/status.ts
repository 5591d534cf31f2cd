import { text } from './fields.ts'

/** A status: any text of 1 to 64 characters. Only `disabled` and `archived` have an effect. */
export const status = text(1, 64)

/**
 * Whether a project or store is neither disabled nor archived. An inactive project has no valid
 * tokens. An inactive store is missing from new sessions and takes no purchases.
 */
export function isActive(record: { readonly status: string }): boolean {
  return record.status !== 'disabled' && record.status !== 'archived'
}
