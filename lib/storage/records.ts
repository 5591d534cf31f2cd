import type { Account, AccountKey } from '../domain/account.ts'
import type { AuditAction, AuditEntry } from '../domain/audit.ts'
import type { JsonObject } from '../domain/fields.ts'
import type { IdempotencyRecord } from '../domain/idempotency.ts'
import type { Item, ItemType } from '../domain/item.ts'
import type { Project } from '../domain/project.ts'
import { PURCHASE_STATUSES, type PurchaseStatus, type StoredPurchase } from '../domain/purchase.ts'
import type { Store, StoreType } from '../domain/store.ts'
import type { NumberedEntry } from './archive.ts'
import type { FormerPublicKey, StoredSigningKey, StoreSummary, Watermark } from './port.ts'

/**
 * A row of SQLite, which has objects as text and booleans as integers, or of PostgreSQL, which has
 * int8 as text.
 */
type Row = { readonly [column: string]: unknown }

export function accountRecord(row: Row): Account {
  return {
    account_id: row.account_id as string,
    name: row.name as string,
    created_at: row.created_at as string,
  }
}

export function accountKeyRecord(row: Row): AccountKey {
  return {
    key_id: row.key_id as string,
    account_id: row.account_id as string,
    hash: row.hash as string,
    created_at: row.created_at as string,
    ...(row.revoked_at === null ? {} : { revoked_at: row.revoked_at as string }),
  }
}

export function projectRecord(row: Row): Project {
  return {
    id: row.id as string,
    account_id: row.account_id as string,
    name: row.name as string,
    bundle_id: row.bundle_id as string,
    platform: row.platform as string,
    status: row.status as string,
    dlscheme: row.dlscheme as string,
    public_key: row.public_key as string,
    config: objectOf(row.config),
    created_at: row.created_at as string,
  }
}

export function formerPublicKeyRecord(row: Row): FormerPublicKey {
  return {
    public_key: row.public_key as string,
    project_id: row.project_id as string,
    expires_at: row.expires_at as string,
  }
}

export function storeRecord(row: Row): Store {
  return {
    account_id: row.account_id as string,
    project_id: row.project_id as string,
    store_id: row.store_id as string,
    store_type: row.store_type as StoreType,
    is_sandbox: Boolean(row.is_sandbox),
    status: row.status as string,
    store_config: objectOf(row.store_config),
    created_at: row.created_at as string,
  }
}

export function storeSummaryRecord(row: Row): StoreSummary {
  return {
    store_id: row.store_id as string,
    store_type: row.store_type as StoreType,
    is_sandbox: Boolean(row.is_sandbox),
    status: row.status as string,
  }
}

/** Of a row that holds its store's ids too, or of one beside the row of its store. */
export function itemRecord(row: Row, store: Row = row): Item {
  return {
    id: row.id as string,
    account_id: store.account_id as string,
    project_id: store.project_id as string,
    store_id: store.store_id as string,
    name: row.name as string,
    display_name: row.display_name as string,
    description: row.description as string,
    price: numberOf(row.price),
    type: row.type as ItemType,
    metadata: objectOf(row.metadata),
    created_at: row.created_at as string,
  }
}

/** Of a row beside the ids of its import and its store. */
export function purchaseRecord(row: Row, store_id: string): StoredPurchase {
  return {
    store_id,
    import_id: row.import_id as string,
    transaction_id: row.transaction_id as string,
    sku: row.sku as string,
    purchased_at: numberOf(row.purchased_at),
    ...(row.user_id === null ? {} : { user_id: row.user_id as string }),
    quantity: row.quantity as number,
    ...(row.price === null ? {} : { price: numberOf(row.price) }),
    ...(row.currency === null ? {} : { currency: row.currency as string }),
    status: PURCHASE_STATUSES[row.status as number] as PurchaseStatus,
    metadata: row.metadata === null ? {} : objectOf(row.metadata),
  }
}

export function signingKeyRecord(row: Row): StoredSigningKey {
  return {
    kid: row.kid as string,
    secret: row.secret as Uint8Array,
    created_at: row.created_at as string,
  }
}

export function watermarkRecord(row: Row): Watermark {
  return {
    project_id: row.project_id as string,
    user_id: row.user_id as string,
    not_after: numberOf(row.not_after),
  }
}

export function idempotencyRecord(row: Row): IdempotencyRecord {
  return {
    account_id: row.account_id as string,
    key: row.key as string,
    fingerprint: row.fingerprint as string,
    answer: row.answer as string,
    created_at: row.created_at as string,
    expires_at: row.expires_at as string,
  }
}

export function auditRecord(row: Row): AuditEntry {
  return {
    at: row.at as string,
    actor: row.actor as string,
    action: row.action as AuditAction,
    subject: row.subject as string,
    account_id: row.account_id as string,
    request_id: row.request_id as string,
  }
}

export function numberedEntry(row: Row): NumberedEntry {
  return { seq: numberOf(row.seq), ...auditRecord(row) }
}

/** The record of a row that may not be there. */
export function maybe<T>(record: (row: Row) => T, row: Row | undefined): T | undefined {
  return row && record(row)
}

function objectOf(value: unknown): JsonObject {
  return typeof value === 'string' ? JSON.parse(value) : (value as JsonObject)
}

/** An integer as a number: the schemas have none beyond 2^53−1. */
export function numberOf(value: unknown): number {
  const number = Number(value)
  if (Number.isSafeInteger(number)) return number
  throw new RangeError('the database holds a number beyond 2^53−1')
}
