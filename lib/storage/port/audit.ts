import type { AuditEntry, NumberedEntry } from '../../domain/audit.ts'
import type { WriteOptions } from './write.ts'

export interface AuditPage {
  readonly entries: readonly AuditEntry[]
  readonly next?: string
}

export interface SettledPage {
  readonly entries: readonly NumberedEntry[]
  /** The position after the last listed entry. Without entries, the given position. */
  readonly position: string
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
