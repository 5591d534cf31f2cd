import { text } from './fields.ts'

/** A status is any string of 1 to 64 characters; two of them have effect. */
export const status = text(1, 64)

/**
 * Whether a project opens sessions and its tokens hold; whether a store is shown and takes imports.
 */
export function isActive(record: { readonly status: string }): boolean {
  return record.status !== 'disabled' && record.status !== 'archived'
}
