import type { AuditEntry, NumberedEntry } from '../../domain/audit.ts'
import type { Authority } from '../../domain/authority.ts'
import type { IdempotencyRecord } from '../../domain/idempotency.ts'
import type { Page, RecordPage } from './page.ts'
import type { UserKey } from './tokens.ts'
import type { WriteOptions } from './write.ts'

export interface AuditMethods {
  /** For a call that writes nothing: throws if a condition of the `Authority` is not met. */
  verifyAuthority(authority: Authority): Promise<void>
  findIdempotencyRecord(account_id: string, key: string): Promise<IdempotencyRecord | undefined>
  /**
   * Writes audit entries, idempotency records and key checks, in the order of `writes`. Changes
   * nothing else.
   */
  insertAudit(...writes: readonly WriteOptions[]): Promise<void>
  /** Applies `change` to the fingerprints (request hashes) of one page of idempotency records. */
  updateFingerprints(
    change: (fingerprint: string) => string,
    page: Page,
  ): Promise<UpdatedFingerprints>
  /**
   * Lists the idempotency records of an account, sorted by the UTF-8 bytes of their keys. May
   * include expired records.
   */
  listIdempotencyRecords(account_id: string, page: Page): Promise<RecordPage<IdempotencyRecord>>
  /** Lists the audit log of one account or of all, oldest entries first. */
  listAudit(account_id: string | undefined, page: Page): Promise<AuditPage>
  /** Lists the audit log of one account, newest entries first. */
  listRecentAudit(account_id: string, page: Page): Promise<AuditPage>
  /** Lists the audit entries about an item, except that of its creation; newest first. */
  listItemAudit(item_id: string, page: Page): Promise<AuditPage>
  /**
   * Lists the entries of all accounts in an order that never changes: every entry that is committed
   * later comes after the listed ones. `after` is an earlier `position`. With `limit` 0, resolves
   * to the newest position.
   */
  listSettled(page: Page): Promise<SettledPage>
  /** Moves old audit entries into a file. Resolves to their number. See `archive.ts`. */
  archiveAudit(request: ArchiveRequest): Promise<number>
  /** Replaces a user's id by the pseudonym in one page of an account's audit entries. */
  pseudonymizeAudit(
    account_id: string,
    user: UserKey,
    page: Page,
    write?: WriteOptions,
  ): Promise<PseudonymizedEntries>
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[]
  readonly next?: string
}

export interface SettledPage {
  readonly entries: readonly NumberedEntry[]
  /** The position after the last listed entry. Without entries, the given position. */
  readonly position: string
}

export interface UpdatedFingerprints {
  /** The number of idempotency records whose fingerprint was replaced. */
  readonly updated: number
  readonly next?: string
}

export interface ArchiveRequest {
  /** Stops at the first audit entry that is not older than this time; ISO 8601, UTC. */
  readonly before: string
  /** The path of a new file, or of an earlier archive of the same log. */
  readonly file: string
  /**
   * Also stops at the first audit entry that may still have to be sent to a webhook endpoint.
   * Ignores endpoints that were stopped or failing before this time. Unix milliseconds; default 0.
   */
  readonly stopped_before?: number | undefined
  /** The audit entry that records the archive run. Written with the first moved entries. */
  readonly write?: WriteOptions
  /** Called after each batch with the number of entries moved so far. */
  readonly onProgress?: ((archived: number) => void) | undefined
  /** Stops the archive run between two batches. */
  readonly signal?: AbortSignal | undefined
}

export interface PseudonymizedEntries {
  /** The number of audit entries in which the user's id was replaced. */
  readonly changed: number
  readonly next?: string
}
