import { text } from './rules.ts'

/** The statuses that have an effect. */
export const INACTIVE: readonly string[] = ['disabled', 'inactive', 'suspended', 'archived']

/** A status: any text of 1 to 64 characters. Only those in `INACTIVE` have an effect. */
export const status = text(1, 64)

/**
 * Whether a project or store is active. An inactive project has no valid tokens. An inactive store
 * takes no purchases.
 */
export function isActive(record: { readonly status: string }): boolean {
  return !INACTIVE.includes(record.status)
}
