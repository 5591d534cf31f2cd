import type { AuditEntry } from '../../domain/audit.ts'
import type { Authority } from '../../domain/authority.ts'
import type { EndpointWrite } from '../../domain/endpoint.ts'
import type { IDEMPOTENCY_RECORDS } from '../sql/tables.ts'

export type IdempotencyRecord = ReturnType<typeof IDEMPOTENCY_RECORDS.read>

/** The checks and additional writes in the transaction of a change. */
export interface WriteOptions {
  /**
   * The conditions under which the caller may write. The transaction of the change checks them
   * again. If one fails, the change throws the error of `assertAuthority` and writes nothing. A
   * revocation waits for the transactions that have already checked the conditions.
   */
  readonly authority?: Authority | undefined
  readonly audit?: AuditEntry
  readonly idempotency?: IdempotencyRecord
  /** A quota, which is checked after the change. */
  readonly quota?: Quota
  /** Changes of webhook endpoints. */
  readonly endpoints?: readonly EndpointWrite[]
  /** Set if the change stores secrets. */
  readonly keyChecks?: readonly KeyCheck[]
}

/**
 * Verifies that the master keys of a writer belong to the secrets of the storage. Throws
 * `master_key_mismatch` if the storage has a check value that none of `values` equals. If the
 * storage has none, writes the first of `values`.
 */
export interface KeyCheck {
  /** The check values of the master keys, newest first; empty without a master key. */
  readonly values: readonly string[]
  /** Whether to delete the stored check value first. */
  readonly isReplaced?: true
}

/** The options of a change that also writes an audit entry. */
export type AuditedWrite = WriteOptions & { readonly audit: AuditEntry }

/** The maximum usage. A change that would exceed it throws `quota_exceeded` and writes nothing. */
export interface Quota {
  readonly account_id: string
  /** The project whose stores are counted and compared with `stores`. */
  readonly project_id?: string
  readonly projects?: number
  readonly stores?: number
  /** Bytes of `config` and `store_config` as JSON, summed over all projects and stores. */
  readonly config_bytes?: number
}

/**
 * The outcome of an insertion. `taken`: a record with this name exists. `repeated`: a valid
 * idempotency record with this key exists. Only `inserted` has written the record.
 */
export type Insertion = 'inserted' | 'taken' | 'repeated'
