import {
  boolean,
  type Fields,
  type Given,
  invalidField,
  note,
  oneOf,
  optional,
  parseObject,
  pattern,
  required,
  text,
  wholeNumber,
  withSchema,
} from './fields.ts'
import { parseInstant } from './instant.ts'
import { PURCHASE_STATUSES, type Purchase, type PurchaseStatus } from './purchase.ts'
import { storeId } from './store.ts'
import {
  WEBHOOK_DELIVERY_STATES,
  type WebhookDelivery,
  type WebhookDeliveryState,
} from './webhook.ts'

/** The page of a list to read. */
export interface ListQuery {
  /** The maximum number of records on the page, 1 to 1000; by default 100. */
  readonly limit?: number | string | undefined
  /** The `next` of the previous page. If missing, the first page is read. */
  readonly cursor?: string | undefined
}

export interface ItemQuery extends ListQuery {
  readonly store_id: string
  /** Whether to list the archived items instead of the active ones. Only accounts may set it. */
  readonly archived?: boolean | undefined
  /**
   * Lists only items whose `name` or `display_name` contains this text. Ignores case. Only accounts
   * may set it.
   */
  readonly search?: string | undefined
}

export interface ItemHistoryQuery extends ListQuery {
  /** The id of the item. */
  readonly id: string
}

export interface StoreQuery extends ListQuery {
  readonly project_id: string
}

export interface AuditQuery extends ListQuery {
  /** If given, lists only the entries of this account. */
  readonly account_id?: string | undefined
}

export interface ImportQuery extends ListQuery {
  readonly store_id: string
}

export interface WebhookQuery extends ListQuery {
  /** If given, lists only the endpoints of this project and its stores. */
  readonly project_id?: string | undefined
}

export interface WebhookLogQuery extends ListQuery {
  readonly endpoint_id: string
  /** If given, lists only the messages in this state. */
  readonly state?: WebhookDeliveryState | undefined
}

/** Identifies a message of the delivery log. */
export type WebhookDeliveryKey = Pick<WebhookDelivery, 'endpoint_id' | 'webhook_id'>

/** Give one of `from` and `since`. */
export interface WebhookReplay {
  readonly endpoint_id: string
  /** The `sequence` of the first event. */
  readonly from?: number | undefined
  /** Events from this time on: ISO 8601 with a zone, or a date, which means midnight UTC. */
  readonly since?: string | undefined
}

/** Selects the purchases of a store that meet all given conditions. */
export interface PurchaseSelection {
  readonly store_id: string
  readonly user_id?: string | undefined
  readonly sku?: string | undefined
  readonly status?: PurchaseStatus | undefined
  /** Selects only purchases that this import added. */
  readonly import_id?: string | undefined
  /** The earliest purchase time: ISO 8601 with a zone, or a date, which means midnight UTC. */
  readonly from?: string | undefined
  /** Only purchases before this time are selected. The formats are the same as for `from`. */
  readonly to?: string | undefined
}

export interface PurchaseQuery extends Omit<PurchaseSelection, 'store_id'>, ListQuery {
  /** The store. Required without a `transaction_id`. */
  readonly store_id?: string | undefined
  /** Lists only the purchase with this id: of the store, or of each store of the account. */
  readonly transaction_id?: string | undefined
  /** Whether the purchase that was imported last comes first. */
  readonly newest_first?: boolean | undefined
}

/** Identifies a purchase. */
export type PurchaseKey = Pick<Purchase, 'store_id' | 'transaction_id'>

/** One page of what a user owns in a store. */
export interface OwnedQuery extends ListQuery {
  readonly store_id: string
  readonly user_id: string
}

/** Selects the purchases that a storage lists. */
export interface PurchaseFilter {
  readonly user_id?: string
  readonly sku?: string
  readonly status?: PurchaseStatus
  readonly import_id?: string
  /** Only purchases at or after this time; Unix milliseconds. */
  readonly from?: number
  /** Only purchases before this time; Unix milliseconds. */
  readonly to?: number
}

/** The input for moving old entries of the audit log into a file. */
export interface AuditArchive {
  /** Entries before this time or date (UTC) are moved. It must be at least one hour ago. */
  readonly before: string
  /** A new file, or an earlier archive of the same log, to which the entries are appended. */
  readonly file: string
}

/** One page of a list. */
export interface ListPage {
  /** The `cursor` of the next page; missing on the last page. */
  readonly next?: string
}

interface ParsedPage {
  readonly limit: number
  readonly cursor?: string | undefined
}

/** The maximum number of records on a page. */
export const MAX_PAGE = 1000
const DEFAULT_PAGE = 100
const LIMIT_SCHEMA = { type: 'integer', minimum: 1, maximum: MAX_PAGE }

export const limit = withSchema<number>(LIMIT_SCHEMA, (value, field, problems) => {
  const number = typeof value === 'string' && /^\d{1,4}$/.test(value) ? Number(value) : value
  if (Number.isInteger(number) && (number as number) >= 1 && (number as number) <= MAX_PAGE) {
    return number as number
  }
  problems.push({ field, code: 'invalid', message: 'must be a whole number from 1 to 1000' })
  return 0
})

const instant = withSchema<number>({ type: 'string' }, (value, field, problems) => {
  const written = typeof value === 'string' ? value : ''
  const isDay = /^\d{4}-\d\d-\d\d$/.test(written)
  const found = parseInstant(isDay ? `${written}T00:00:00Z` : written)
  if (found === undefined) {
    const message = 'must be a day (2026-01-31) or a time with its zone (2026-01-31T12:00:00Z)'
    problems.push({ field, code: 'invalid', message })
  }
  return found ?? 0
})

export const listFields: Fields<ParsedPage> = {
  limit: optional(limit, () => DEFAULT_PAGE),
  cursor: optional(pattern(/^\d{1,16}$/, 'must be the next of the previous page')),
}

/** Converts a parsed query to the page that a storage reads. */
export function pageFor({ limit, cursor }: ParsedPage): { limit: number; after?: string } {
  return cursor === undefined ? { limit } : { limit, after: cursor }
}

/** The parameters of `GET /items`. Without a `limit`, the response has the whole list. */
export const itemQueryFields = {
  store_id: required(storeId),
  limit: optional(limit),
  cursor: optional(text(1, 64)), // the id of an item
}

export const itemListFields: Fields<
  Given<Omit<ItemQuery, 'archived'>> & { archived: boolean } & ParsedPage
> = {
  ...itemQueryFields,
  archived: optional(note('Whether to list only archived items.', boolean), () => false),
  search: optional(note('A text in `name` or `display_name`. Ignores case.', text(1, 255))),
  limit: listFields.limit,
}

export const itemHistoryFields: Fields<Pick<ItemHistoryQuery, 'id'> & ParsedPage> = {
  id: required(text(1, 64)),
  ...listFields,
}

export const importListFields: Fields<Pick<ImportQuery, 'store_id'> & ParsedPage> = {
  store_id: required(storeId),
  ...listFields,
}

export const storeListFields: Fields<Pick<StoreQuery, 'project_id'> & ParsedPage> = {
  project_id: required(text(1, 64)),
  ...listFields,
}

export const auditFields: Fields<Given<Pick<AuditQuery, 'account_id'>> & ParsedPage> = {
  account_id: optional(text(1, 64)),
  ...listFields,
}

export function parseFollowQuery(input: unknown) {
  return parseObject(input, {
    ...auditFields,
    cursor: optional(pattern(/^\d{1,20}(\.\d{1,19})?$/, 'must be the next of the previous page')),
  })
}

export function parseAuditArchive(input: unknown): { before: number; file: string } {
  return parseObject(input, { before: required(instant), file: required(text(1, 4096)) })
}

export const selectionFields: Fields<PurchaseFilter> = {
  user_id: optional(text(1, 255)),
  sku: optional(text(1, 255)),
  status: optional(oneOf(PURCHASE_STATUSES)),
  import_id: optional(text(1, 64)),
  from: optional(note('The start: a time with its zone, or a day in UTC.', instant)),
  to: optional(note('The exclusive end: a time with its zone, or a day in UTC.', instant)),
}

type ParsedPurchaseQuery = PurchaseFilter & {
  store_id?: string
  transaction_id?: string
  newest_first: boolean
} & ParsedPage

export const purchaseListFields: Fields<ParsedPurchaseQuery> = {
  store_id: optional(storeId),
  transaction_id: optional(text(1, 255)),
  newest_first: optional(
    note('Whether the purchase that was imported last comes first.', boolean),
    () => false,
  ),
  ...selectionFields,
  ...listFields,
}

export const purchaseKeyFields: Fields<PurchaseKey> = {
  store_id: required(storeId),
  transaction_id: required(text(1, 255)),
}

/** Throws `invalid_request` if the query has neither a `store_id` nor a `transaction_id`. */
export function parsePurchaseQuery(input: unknown): ParsedPurchaseQuery {
  const query = parseObject<ParsedPurchaseQuery>(input, purchaseListFields)
  if (query.store_id !== undefined || query.transaction_id !== undefined) return query
  throw invalidField('store_id', 'required', 'is required without a transaction_id')
}

/** The parameters of `GET /purchases/owned`: the user is that of the token. */
export const ownPurchasesFields: Fields<Pick<OwnedQuery, 'store_id'> & ParsedPage> = {
  store_id: required(storeId),
  limit: listFields.limit,
  cursor: optional(text(1, 255)), // the SKU of an item
}

export const ownedListFields: Fields<Pick<OwnedQuery, 'store_id' | 'user_id'> & ParsedPage> = {
  ...ownPurchasesFields,
  user_id: required(text(1, 255)),
}

const endpointId = text(1, 255)

export const webhookListFields: Fields<Given<{ project_id?: string }> & ParsedPage> = {
  project_id: optional(text(1, 64)),
  limit: listFields.limit,
  cursor: optional(endpointId),
}

export const deliveryListFields = {
  endpoint_id: required(endpointId),
  state: optional(oneOf(WEBHOOK_DELIVERY_STATES)),
  ...listFields,
}

export const deliveryFields = {
  endpoint_id: required(endpointId),
  webhook_id: required(text(1, 64)),
}

/** `since` becomes Unix milliseconds. */
export const replayFields: Fields<Given<Omit<WebhookReplay, 'since'> & { since?: number }>> = {
  endpoint_id: required(endpointId),
  from: optional(wholeNumber(0, Number.MAX_SAFE_INTEGER)),
  since: optional(instant),
}

export function parseReplay(input: unknown) {
  const parsed = parseObject(input, replayFields)
  if ((parsed.from === undefined) !== (parsed.since === undefined)) return parsed
  throw invalidField('from', 'required', 'or since is required, and not both')
}
