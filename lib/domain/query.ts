import { type InputOf, invalidField, type ParsedOf, parseObject } from './fields.ts'
import { parseInstant } from './instant.ts'
import { PURCHASE_STATUSES } from './purchase.ts'
import { boolean, note, oneOf, optional, pattern, required, text, withSchema } from './rules.ts'
import { storeId } from './store.ts'

/** The maximum number of records on a page. */
export const MAX_PAGE = 1000
const DEFAULT_PAGE = 100
const LIMIT_SCHEMA = { type: 'integer', minimum: 1, maximum: MAX_PAGE }

export const limit = withSchema<number, number | string>(LIMIT_SCHEMA, (value, field, problems) => {
  const number = typeof value === 'string' && /^\d{1,4}$/.test(value) ? Number(value) : value
  if (Number.isInteger(number) && (number as number) >= 1 && (number as number) <= MAX_PAGE) {
    return number as number
  }
  problems.push({ field, code: 'invalid', message: 'must be a whole number from 1 to 1000' })
  return 0
})

/** A rule for a time. Its result is Unix milliseconds. */
export const instant = withSchema<number, string>({ type: 'string' }, (value, field, problems) => {
  const written = typeof value === 'string' ? value : ''
  const isDay = /^\d{4}-\d\d-\d\d$/.test(written)
  const found = parseInstant(isDay ? `${written}T00:00:00Z` : written)
  if (found === undefined) {
    const message = 'must be a day (2026-01-31) or a time with its zone (2026-01-31T12:00:00Z)'
    problems.push({ field, code: 'invalid', message })
  }
  return found ?? 0
})

/** One page of a list. */
export interface ListPage {
  /** The `cursor` of the next page; missing on the last page. */
  readonly next?: string
}

export const limitField = {
  /** The maximum number of records on the page, 1 to 1000; by default 100. */
  limit: optional(limit, () => DEFAULT_PAGE),
}

export const listFields = {
  ...limitField,
  /** The `next` of the previous page. If missing, the first page is read. */
  cursor: optional(pattern(/^\d{1,16}$/, 'must be the next of the previous page')),
}

/** The page of a list to read. */
export interface ListQuery extends InputOf<typeof listFields> {}

interface ParsedPage {
  readonly limit: number
  readonly cursor?: string | undefined
}

/** Converts a parsed query to the page that a storage reads. */
export function pageFor({ limit, cursor }: ParsedPage): { limit: number; after?: string } {
  return cursor === undefined ? { limit } : { limit, after: cursor }
}

/** The parameters of `GET /items`. Without a `limit`, the response has the whole list. */
export const itemQueryFields = {
  store_id: required(storeId),
  limit: optional(limit),
  /** The `next` of the previous page. If missing, the first page is read. */
  cursor: optional(text(1, 64)), // the id of an item
  /** Lists only the item with this SKU, if it is there. Without a `cursor`. */
  name: optional(note('The SKU of the only item to list. Without a `cursor`.', text(1, 255))),
}

export const itemListFields = {
  ...itemQueryFields,
  /** Whether to list the archived items instead of the active ones. Only accounts may set it. */
  archived: optional(note('Whether to list only archived items.', boolean), () => false),
  /**
   * Lists only items whose `name` or `display_name` contains this text. Ignores case. Only accounts
   * may set it.
   */
  search: optional(note('A text in `name` or `display_name`. Ignores case.', text(1, 255))),
  ...limitField,
}

export interface ItemQuery extends InputOf<typeof itemListFields> {}

export const itemHistoryFields = {
  /** The id of the item. */
  id: required(text(1, 64)),
  ...listFields,
}

export interface ItemHistoryQuery extends InputOf<typeof itemHistoryFields> {}

export const importListFields = {
  store_id: required(storeId),
  /** Whether the import that started last comes first. */
  newest_first: optional(
    note('Whether the import that started last comes first.', boolean),
    () => false,
  ),
  ...listFields,
}

export interface ImportQuery extends InputOf<typeof importListFields> {}

export const storeListFields = { project_id: required(text(1, 64)), ...listFields }

export interface StoreQuery extends InputOf<typeof storeListFields> {}

export const auditFields = {
  /** If given, lists only the entries of this account. */
  account_id: optional(text(1, 64)),
  ...listFields,
}

export interface AuditQuery extends InputOf<typeof auditFields> {}

export const recentAuditFields = {
  /** If given, lists only the entries about this record. */
  subject: optional(note('Lists only the entries about this record.', text(1, 1024))),
  /** The earliest time: ISO 8601 with a zone, or a date, which means midnight UTC. */
  from: optional(note('The start: a time with its zone, or a day in UTC.', instant)),
  /** Only entries before this time are listed. The formats are the same as for `from`. */
  to: optional(note('The exclusive end: a time with its zone, or a day in UTC.', instant)),
  ...listFields,
}

/** Selects entries of the account's audit log. */
export interface RecentAuditQuery extends InputOf<typeof recentAuditFields> {}

/** Parses an `AuditQuery` whose cursor is the `next` of `followAudit`. */
export function parseFollowQuery(input: unknown) {
  return parseObject(input, {
    ...auditFields,
    cursor: optional(pattern(/^\d{1,20}(\.\d{1,19})?$/, 'must be the next of the previous page')),
  })
}

export const archiveFields = {
  /** Entries before this time or date (UTC) are moved. It must be at least one hour ago. */
  before: required(instant),
  /** The path of a new file. Without old entries, no file remains. */
  file: required(text(1, 4096)),
}

/** The input for moving old entries of the audit log into a file. */
export interface AuditArchive extends InputOf<typeof archiveFields> {}

export const selectionFields = {
  user_id: optional(text(1, 255)),
  sku: optional(text(1, 255)),
  status: optional(oneOf(PURCHASE_STATUSES)),
  /** Selects only purchases that this import added. */
  import_id: optional(text(1, 64)),
  /** The earliest purchase time: ISO 8601 with a zone, or a date, which means midnight UTC. */
  from: optional(note('The start: a time with its zone, or a day in UTC.', instant)),
  /** Only purchases before this time are selected. The formats are the same as for `from`. */
  to: optional(note('The exclusive end: a time with its zone, or a day in UTC.', instant)),
}

/** Selects the purchases of a store that meet all given conditions. */
export interface PurchaseSelection extends InputOf<typeof selectionFields> {
  readonly store_id: string
}

/** Selects the purchases that a storage lists. Times are Unix milliseconds. */
export interface PurchaseFilter extends ParsedOf<typeof selectionFields> {
  /** Whether to leave out delivered purchases, and those that count as delivered. */
  readonly undelivered?: boolean | undefined
}

export const purchaseListFields = {
  /** The store. Required without a `transaction_id`. */
  store_id: optional(storeId),
  /**
   * Lists only the purchase with this id, of the store or of each store of the account. If a store
   * has none, lists the purchases of the order: those whose ids begin with this id and a slash.
   */
  transaction_id: optional(text(1, 255)),
  /** Whether the purchase that was imported last comes first. */
  newest_first: optional(
    note('Whether the purchase that was imported last comes first.', boolean),
    () => false,
  ),
  /** Whether to list only the purchases that must still be delivered. */
  undelivered: optional(
    note('Whether to list only the purchases that must still be delivered.', boolean),
    () => false,
  ),
  ...selectionFields,
  ...listFields,
}

export interface PurchaseQuery extends InputOf<typeof purchaseListFields> {}

/** Throws `invalid_request` if the query has neither a `store_id` nor a `transaction_id`. */
export function parsePurchaseQuery(input: unknown) {
  const query = parseObject(input, purchaseListFields)
  if (query.store_id !== undefined || query.transaction_id !== undefined) return query
  throw invalidField('store_id', 'required', 'is required without a transaction_id')
}

export const purchaseKeyFields = {
  store_id: required(storeId),
  transaction_id: required(text(1, 255)),
}

/** Identifies a purchase. */
export interface PurchaseKey extends InputOf<typeof purchaseKeyFields> {}

/** The parameters of `GET /purchases/owned`: the user is that of the token. */
export const ownPurchasesFields = {
  store_id: required(storeId),
  ...limitField,
  /** The `next` of the previous page. If missing, the first page is read. */
  cursor: optional(text(1, 255)), // the SKU of an item
}

export const ownedListFields = { ...ownPurchasesFields, user_id: required(text(1, 255)) }

/** One page of what a user owns in a store. */
export interface OwnedQuery extends InputOf<typeof ownedListFields> {}
