import type { Account, AccountKey, KeyScope } from '../../domain/account.ts'
import type { AuditAction, AuditEntry, NumberedEntry } from '../../domain/audit.ts'
import type { EndpointSecret, StoredEndpoint, UnconfirmedConfig } from '../../domain/endpoint.ts'
import type { WebhookEventType } from '../../domain/event.ts'
import {
  GRANT,
  type ImportDetails,
  type ImportRecord,
  type ImportTotal,
  MAX_TOTALS,
  othersOf,
} from '../../domain/import.ts'
import { formatInstant } from '../../domain/instant.ts'
import { ITEM, ITEM_NAMES, type Item, type ItemType, type ItemValues } from '../../domain/item.ts'
import type { StoredMessage } from '../../domain/message.ts'
import type { Project } from '../../domain/project.ts'
import {
  type OwnedItem,
  PURCHASE_STATUSES,
  type Purchase,
  type PurchaseStatus,
} from '../../domain/purchase.ts'
import type { PurchaseIdentity } from '../../domain/repeat.ts'
import type { Store, StoreType } from '../../domain/store.ts'
import type { WebhookDeliveryState, WebhookFailure, WebhookState } from '../../domain/webhook.ts'

import {
  bool,
  bytes,
  type Column,
  type Columns,
  int32,
  integer,
  json,
  nullable,
  numberOf,
  omit,
  optional,
  pick,
  type Row,
  table,
  text,
} from './columns.ts'
import type { CurrentColumns } from './purchases/fills.ts'

export const ACCOUNTS = table<Omit<Account, 'id' | 'project_id'>>('accounts', {
  account_id: text(),
  name: text(),
  created_at: text(),
})

export const ACCOUNT_KEYS = table<Omit<AccountKey, 'last_used_on'>>('account_keys', {
  key_id: text(),
  account_id: text(),
  hash: text(),
  created_at: text(),
  revoked_at: optional(text()),
  name: optional(text()),
  scopes: optional(anyJson<readonly KeyScope[]>()),
})

/**
 * The day (UTC) of the latest use of each account key. A table of its own: its writes clear no cache,
 * and wait for no lock of a key.
 */
export const KEY_USES = table('key_uses', { key_id: text(), last_used_on: text() })

export const PROJECTS = table<Project>('projects', {
  id: text(),
  account_id: text(),
  name: text(),
  bundle_id: text(),
  platform: text(),
  status: text(),
  dlscheme: text(),
  public_key: text(),
  config: json,
  created_at: text(),
})

/** The project columns that an update may change. */
export const PROJECT_CHANGES = omit(PROJECTS, 'id', 'account_id', 'created_at')

export const FORMER_PUBLIC_KEYS = table('former_public_keys', {
  public_key: text(),
  project_id: text(),
  expires_at: text(),
})

export const STORES = table<Store>(
  'stores',
  {
    account_id: text(),
    project_id: text(),
    store_id: text(),
    store_type: text<StoreType>(),
    is_sandbox: bool,
    status: text(),
    store_config: json,
    created_at: text(),
  },
  { unique: 'account_id, store_id' },
)

/** The store columns that an update may change. */
export const STORE_CHANGES = omit(
  STORES,
  'account_id',
  'project_id',
  'store_id',
  'store_type',
  'created_at',
)

export const STORE_SUMMARIES = pick(STORES, 'store_id', 'store_type', 'is_sandbox', 'status')

type StoreIds = 'account_id' | 'project_id' | 'store_id'

/** A row of an item. It refers to its store by `seq`, not by the ids of the store. */
interface ItemRow extends Omit<Item, StoreIds> {
  /** The random id of the item's latest change. The revision of a list contains it. */
  readonly changed?: string
}

/** The column of a field by the type in its JSON Schema. */
const COLUMN_OF: { readonly [type: string]: Column<unknown> } = {
  string: text(),
  'string,null': nullable(text()),
  object: json,
}

const itemColumns = {
  ...Object.fromEntries(
    ITEM_NAMES.map((name) => [name, COLUMN_OF[String(ITEM[name].schema.type)]]),
  ),
  price: integer,
} as Columns<ItemValues>

/** All columns of an item, for writes. */
export const ITEM_ROWS = table<ItemRow>(
  'items',
  {
    id: text(),
    ...itemColumns,
    created_at: text(),
    version: integer,
    archived_at: optional(text()),
    changed: optional(text()),
  },
  {
    unique: 'store, name',
    reference: { column: 'store', table: 'stores', fields: ['account_id', 'store_id'] },
  },
)

/** The columns of an item, for reads. */
export const ITEMS = omit(ITEM_ROWS, 'changed')

/** The columns of an item that an update may change. */
export const ITEM_CHANGES = omit(ITEM_ROWS, 'id', 'name', 'type', 'created_at')

/** Reads an item from its row and from a row with the ids of its store. */
export function itemRecord(row: Row, store: Row = row): Item {
  const { account_id, project_id, store_id } = store as Pick<Item, StoreIds>
  return ITEMS.readInto({ account_id, project_id, store_id }, row)
}

const status: Column<PurchaseStatus> = {
  type: 'smallint',
  read: (stored) => PURCHASE_STATUSES[stored as number] as PurchaseStatus,
}

/** The column of a time in Unix milliseconds that a record has as text. */
const instant: Column<string> = { ...integer, read: (stored) => formatInstant(numberOf(stored)) }

/** The table of purchases. For speed, both adapters have their own statements to write it. */
export const PURCHASES = table<Omit<Purchase, 'store_id'>>('purchases', {
  import_id: text(),
  transaction_id: text(),
  sku: text(),
  purchased_at: instant,
  user_id: optional(text()),
  quantity: integer,
  price: optional(integer),
  currency: optional(text()),
  status,
  metadata: json,
  expires_at: optional(instant),
  is_grant: optional<true>({ type: 'boolean', read: () => true }),
})

/** The rows of a query that groups the purchases of a user by item. */
export const OWNED = table<OwnedItem>('purchases', {
  sku: text(),
  type: text<ItemType>(),
  display_name: text(),
  quantity: integer,
  first_purchased_at: instant,
  last_purchased_at: instant,
  expires_at: optional(instant),
})

/** The columns of `purchases` that `compareRepeat` compares. The SKU is in the table `items`. */
export const PURCHASE_IDENTITIES = table<Omit<PurchaseIdentity, 'sku'>>('purchases', {
  user_id: optional(text()),
  quantity: integer,
  price: optional(integer),
  currency: optional(text()),
  status,
  expires_at: optional(integer),
})

/** The SQL columns of purchases `p`, their imports `i` and items `t`. */
export function purchaseColumns(current: CurrentColumns): string {
  const sources: Partial<Record<string, string>> = {
    ...current,
    import_id: 'i.import_id',
    sku: 't.name',
    is_grant: `nullif(i.layout = '${GRANT}', FALSE)`,
  }
  return ['seq', ...PURCHASES.names]
    .map((name) => `${sources[name] ?? `p.${name}`} AS ${name}`)
    .join(', ')
}

/** A column for any JSON value but null. */
function anyJson<T>(): Column<T> {
  return {
    type: 'json',
    read: (stored) => (typeof stored === 'string' ? JSON.parse(stored) : stored) as T,
  }
}

/** The columns of an import that its commit writes. */
export const IMPORT_DETAILS = table<Partial<ImportDetails>>('imports', {
  actor: optional(text()),
  file_name: optional(text()),
  bytes: optional(integer),
  sha256: optional(text()),
  layout: optional(text()),
  rows: optional(integer),
  added: optional(integer),
  skipped: optional(integer),
  updated: optional(integer),
  passed_over: optional(integer),
  totals: optional(anyJson<readonly ImportTotal[]>()),
  finished_at: optional(text()),
})

/** Reads a row of `imports`, joined with its store. */
export function importRecord(row: Row): ImportRecord {
  const { import_id, store_id, created_at } = row as unknown as ImportRecord
  const stored = IMPORT_DETAILS.readInto({ import_id, store_id, created_at }, row) as ImportRecord
  // An earlier version stored all groups.
  const totals = stored.totals?.slice(0, MAX_TOTALS)
  const record = { ...stored, ...(totals && { totals }), ...othersOf(stored.rows, totals) }
  return row.undone_at === null ? record : { ...record, undone_at: row.undone_at as string }
}

/**
 * Purchases whose user was erased. Of a deleted one, `is_deleted` is set, and later rows with its
 * transaction id are skipped.
 */
export const ERASED_PURCHASES = table('erased_purchases', {
  transaction_id: text(),
  is_deleted: bool,
})

export const SIGNING_KEYS = table('signing_keys', {
  kid: text(),
  secret: bytes,
  created_at: text(),
})

/**
 * The revocation watermarks of projects and of their users ('' for all users of the project). A
 * revocation raises one, and tokens that were issued under a lower one are invalid. `not_after` is
 * the time of the revocation in Unix seconds, or one more than the previous watermark if that is
 * higher.
 */
export const WATERMARKS = table('watermarks', {
  project_id: text(),
  user_id: text(),
  not_after: integer,
})

/** The results of create calls with an idempotency key. Repeated calls return the same result. */
export const IDEMPOTENCY_RECORDS = table('idempotency_records', {
  account_id: text(),
  key: text(),
  /**
   * A hash of the operation and its input. With a master key it is an HMAC, because an input may
   * hold secrets. `sealSecrets` removes those that are older than the newest master key.
   */
  fingerprint: text(),
  /** The fields of the result that are not in the input, as JSON. */
  answer: text(),
  created_at: text(),
  expires_at: text(),
})

export const AUDIT = table<AuditEntry>('audit', {
  at: text(),
  actor: text(),
  action: text<AuditAction>(),
  subject: text(),
  account_id: text(),
  project_id: text(),
  store_id: text(),
  request_id: text(),
  data: optional(json),
})

export function numberedEntry(row: Row): NumberedEntry {
  return AUDIT.readInto({ seq: numberOf(row.seq) }, row)
}

export const ENDPOINTS = table<StoredEndpoint>('webhook_endpoints', {
  endpoint_id: text(),
  account_id: text(),
  project_id: text(),
  store_id: text(),
  url: text(),
  secrets: anyJson<readonly EndpointSecret[]>(),
  unconfirmed: optional(anyJson<UnconfirmedConfig>()),
  state: text<WebhookState>(),
  reason: optional(text<'gone' | 'secret'>()),
  stopped_at: optional(integer),
  due_at: integer,
  failing_since: optional(integer),
  last_failure: optional(anyJson<WebhookFailure>()),
  events: optional(anyJson<readonly WebhookEventType[]>()),
})

export const MESSAGES = table<StoredMessage>('webhook_messages', {
  endpoint_id: text(),
  sequence: integer,
  part: int32,
  type: text<WebhookEventType>(),
  webhook_id: text(),
  part_range: optional(text()),
  state: text<WebhookDeliveryState>(),
  attempts: int32,
  created_at: integer,
  at: optional(integer),
  next_at: integer,
  status: optional(int32),
  error: optional(text()),
  answer: optional(text()),
  duration_ms: optional(integer),
})
