import {
  type Fields,
  type Given,
  oneOf,
  optional,
  parseObject,
  pattern,
  type Rule,
  required,
  text,
} from './fields.ts'
import { parseInstant } from './instant.ts'
import { PURCHASE_STATUSES, type PurchaseStatus } from './purchase.ts'
import { storeId } from './store.ts'

/** One page of a list. */
export interface ListQuery {
  /** The most records of the page, 1 to 1000; default 100. */
  readonly limit?: number | string | undefined
  /** The `next` of the previous page. */
  readonly cursor?: string | undefined
}

export interface ItemQuery extends ListQuery {
  readonly store_id: string
}

export interface StoreQuery extends ListQuery {
  readonly project_id: string
}

export interface AuditQuery extends ListQuery {
  /** Only the entries of this account. */
  readonly account_id?: string | undefined
}

/** Selects the purchases of a store for which all given fields are true. */
export interface PurchaseSelection {
  readonly store_id: string
  readonly user_id?: string | undefined
  readonly sku?: string | undefined
  readonly status?: PurchaseStatus | undefined
  /** The earliest time: ISO 8601 with a zone, or a day, which starts at midnight UTC. */
  readonly from?: string | undefined
  /** Purchases before this time; the same formats. */
  readonly to?: string | undefined
}

export interface PurchaseQuery extends PurchaseSelection, ListQuery {}

/** The purchases that a storage lists. */
export interface PurchaseFilter {
  readonly user_id?: string
  readonly sku?: string
  readonly status?: PurchaseStatus
  /** Unix milliseconds, inclusive. */
  readonly from?: number
  /** Unix milliseconds, exclusive. */
  readonly to?: number
}

/** Moves old entries of the audit log into a file. */
export interface AuditArchive {
  /** Moves the entries before this time or day (UTC), which is at least one hour ago. */
  readonly before: string
  /** A new file, or the file of an earlier archive of the same log: that one grows. */
  readonly file: string
}

interface ParsedPage {
  readonly limit: number
  readonly cursor?: string | undefined
}

/** The most records of a page. */
export const MAX_PAGE = 1000
const DEFAULT_PAGE = 100

const limit: Rule<number> = (value, field, problems) => {
  const number = typeof value === 'string' && /^\d{1,4}$/.test(value) ? Number(value) : value
  if (Number.isInteger(number) && (number as number) >= 1 && (number as number) <= MAX_PAGE) {
    return number as number
  }
  problems.push({ field, code: 'invalid', message: 'must be a whole number from 1 to 1000' })
  return 0
}

const instant: Rule<number> = (value, field, problems) => {
  const written = typeof value === 'string' ? value : ''
  const isDay = /^\d{4}-\d\d-\d\d$/.test(written)
  const found = parseInstant(isDay ? `${written}T00:00:00Z` : written)
  if (found === undefined) {
    const message = 'must be a day (2026-01-31) or a time with its zone (2026-01-31T12:00:00Z)'
    problems.push({ field, code: 'invalid', message })
  }
  return found ?? 0
}

const listFields: Fields<ParsedPage> = {
  limit: optional(limit, () => DEFAULT_PAGE),
  cursor: optional(pattern(/^\d{1,16}$/, 'must be the next of the previous page')),
}

/** The page that a storage reads. */
export function pageFor({ limit, cursor }: ParsedPage): { limit: number; after?: string } {
  return cursor === undefined ? { limit } : { limit, after: cursor }
}

export function parseListQuery(input: unknown): ParsedPage {
  return parseObject(input, listFields)
}

const itemFields: Fields<Pick<ItemQuery, 'store_id'> & ParsedPage> = {
  store_id: required(storeId),
  limit: listFields.limit,
  cursor: optional(text(1, 64)), // the id of an item
}

export function parseItemQuery(input: unknown) {
  return parseObject(input, itemFields)
}

const storeFields: Fields<Pick<StoreQuery, 'project_id'> & ParsedPage> = {
  project_id: required(text(1, 64)),
  ...listFields,
}

export function parseProjectStoreQuery(input: unknown) {
  return parseObject(input, storeFields)
}

const auditFields: Fields<Given<Pick<AuditQuery, 'account_id'>> & ParsedPage> = {
  account_id: optional(text(1, 64)),
  ...listFields,
}

export function parseAuditQuery(input: unknown) {
  return parseObject(input, auditFields)
}

export function parseAuditArchive(input: unknown): { before: number; file: string } {
  return parseObject(input, { before: required(instant), file: required(text(1, 4096)) })
}

export const selectionFields: Fields<PurchaseFilter> = {
  user_id: optional(text(1, 255)),
  sku: optional(text(1, 255)),
  status: optional(oneOf(PURCHASE_STATUSES)),
  from: optional(instant),
  to: optional(instant),
}

const purchaseFields: Fields<PurchaseFilter & { readonly store_id: string } & ParsedPage> = {
  store_id: required(storeId),
  ...selectionFields,
  ...listFields,
}

export function parsePurchaseQuery(input: unknown) {
  return parseObject(input, purchaseFields)
}
