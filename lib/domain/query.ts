import {
  type Fields,
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

/** Which purchases are asked for; what is left out does not matter. */
export interface PurchaseFilter {
  readonly user_id?: string
  readonly sku?: string
  readonly status?: PurchaseStatus
  /** Unix milliseconds, inclusive. */
  readonly from?: number
  /** Unix milliseconds, exclusive. */
  readonly to?: number
}

export interface PurchaseQuery extends PurchaseFilter {
  readonly store_id: string
  readonly limit: number
  readonly cursor?: string
}

const place = pattern(/^\d{1,16}$/, 'must be the next of the page before')

/** A page of a store's items; without a limit as many as a page may have. */
export interface ItemQuery {
  readonly store_id: string
  readonly limit: number
  readonly cursor?: string
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

const itemFields: Fields<ItemQuery> = {
  store_id: required(storeId),
  limit: optional(limit, () => MAX_PAGE),
  cursor: optional(text(1, 64)),
}

export function parseItemQuery(input: unknown): ItemQuery {
  return parseObject(input, itemFields)
}

/** A page of the audit log. */
export interface AuditQuery {
  readonly account_id?: string
  readonly limit: number
  readonly cursor?: string
}

const auditFields: Fields<AuditQuery> = {
  account_id: optional(text(1, 64)),
  limit: optional(limit, () => 100),
  cursor: optional(place),
}

export function parseAuditQuery(input: unknown): AuditQuery {
  return parseObject(input, auditFields)
}

const queryFields: Fields<PurchaseQuery> = {
  store_id: required(storeId),
  user_id: optional(text(1, 255)),
  sku: optional(text(1, 255)),
  status: optional(oneOf(PURCHASE_STATUSES)),
  from: optional(instant),
  to: optional(instant),
  limit: optional(limit, () => 100),
  cursor: optional(place),
}

/** `from` and `to` as purchase files have times, or as a day, which begins at midnight UTC. */
export function parsePurchaseQuery(input: unknown): PurchaseQuery {
  return parseObject(input, queryFields)
}
