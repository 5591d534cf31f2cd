import {
  type Fields,
  type Given,
  oneOf,
  optional,
  parseExact,
  parseObject,
  pattern,
  type Rule,
  required,
  text,
} from './fields.ts'
import { parseInstant } from './instant.ts'
import { PURCHASE_STATUSES, type PurchaseStatus } from './purchase.ts'
import { storeId } from './store.ts'

/** What a list of purchases is asked for; what is left out does not matter. */
export interface PurchaseQuery {
  readonly store_id: string
  readonly user_id?: string | undefined
  readonly sku?: string | undefined
  readonly status?: PurchaseStatus | undefined
  /** From when on: a time with its zone, or a day, which begins at midnight UTC. */
  readonly from?: string | undefined
  /** Up to when, exclusive. */
  readonly to?: string | undefined
  /** 1 to 1000; 100 unless told. */
  readonly limit?: number | string | undefined
  /** The `next` of the page before. */
  readonly cursor?: string | undefined
}

/** Which purchases are asked for. */
export interface PurchaseFilter {
  readonly user_id?: string
  readonly sku?: string
  readonly status?: PurchaseStatus
  /** Unix milliseconds, inclusive. */
  readonly from?: number
  /** Unix milliseconds, exclusive. */
  readonly to?: number
}

interface ParsedPurchaseQuery extends PurchaseFilter {
  readonly store_id: string
  readonly limit: number
  readonly cursor?: string
}

const place = pattern(/^\d{1,16}$/, 'must be the next of the page before')

/** What a list of items is asked for. */
export interface ItemQuery {
  readonly store_id: string
  /** 1 to 1000, which is what a page may have unless told. */
  readonly limit?: number | string | undefined
  /** The `next` of the page before. */
  readonly cursor?: string | undefined
}

interface ParsedPage {
  readonly limit: number
  readonly cursor?: string
}

type ParsedItemQuery = Pick<ItemQuery, 'store_id'> & ParsedPage

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

/** How many records a page may have. */
export const MAX_PAGE = 1000

const limit: Rule<number> = (value, field, problems) => {
  const number = typeof value === 'string' && /^\d{1,4}$/.test(value) ? Number(value) : value
  if (Number.isInteger(number) && (number as number) >= 1 && (number as number) <= MAX_PAGE) {
    return number as number
  }
  problems.push({ field, code: 'invalid', message: 'must be a whole number from 1 to 1000' })
  return 0
}

/** What a list of records in order of creation is asked for. */
export interface ListQuery {
  /** 1 to 1000, which is what a page may have unless told. */
  readonly limit?: number | string | undefined
  /** The `next` of the page before. */
  readonly cursor?: string | undefined
}

const listFields: Fields<ParsedPage> = {
  limit: optional(limit, () => MAX_PAGE),
  cursor: optional(place),
}

export function parseListQuery(input: unknown): ParsedPage {
  return parseExact(input, listFields)
}

/** What a list of stores is asked for. */
export interface StoreQuery extends ListQuery {
  readonly project_id: string
}

export function parseProjectStoreQuery(
  input: unknown,
): ParsedPage & Pick<StoreQuery, 'project_id'> {
  return parseExact(input, { ...listFields, project_id: required(text(1, 64)) })
}

/** The page of a storage that a query asks for. */
export function pageFor({ limit, cursor }: ParsedPage): { limit: number; after?: string } {
  return cursor === undefined ? { limit } : { limit, after: cursor }
}

const itemFields: Fields<ParsedItemQuery> = {
  store_id: required(storeId),
  limit: optional(limit, () => MAX_PAGE),
  cursor: optional(text(1, 64)),
}

export function parseItemQuery(input: unknown): ParsedItemQuery {
  return parseObject(input, itemFields)
}

/** What the audit log is asked for. */
export interface AuditQuery {
  /** Of all accounts unless told. */
  readonly account_id?: string | undefined
  /** 1 to 1000; 100 unless told. */
  readonly limit?: number | string | undefined
  /** The `next` of the page before. */
  readonly cursor?: string | undefined
}

type ParsedAuditQuery = Given<Pick<AuditQuery, 'account_id'>> & ParsedPage

const auditFields: Fields<ParsedAuditQuery> = {
  account_id: optional(text(1, 64)),
  limit: optional(limit, () => 100),
  cursor: optional(place),
}

export function parseAuditQuery(input: unknown): ParsedAuditQuery {
  return parseExact(input, auditFields)
}

/** Which entries of the audit log are moved into which file. */
export interface AuditArchive {
  /**
   * The entries up to the first that is not before this time (with its zone) or day (UTC), which is
   * at least one hour ago.
   */
  readonly before: string
  /** A new file, or the one of an earlier archive of the same log, which then grows. */
  readonly file: string
}

export function parseAuditArchive(input: unknown): { before: number; file: string } {
  return parseExact(input, { before: required(instant), file: required(text(1, 4096)) })
}

const queryFields: Fields<ParsedPurchaseQuery> = {
  store_id: required(storeId),
  user_id: optional(text(1, 255)),
  sku: optional(text(1, 255)),
  status: optional(oneOf(PURCHASE_STATUSES)),
  from: optional(instant),
  to: optional(instant),
  limit: optional(limit, () => 100),
  cursor: optional(place),
}

export function parsePurchaseQuery(input: unknown): ParsedPurchaseQuery {
  return parseExact(input, queryFields)
}
