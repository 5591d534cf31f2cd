import type { sqlMethods } from './sql/methods.ts'
import type { OpenTransaction, PoolState, StorageSize } from './sql/records.ts'

export { catalogPages, listAll, pagesOf, recordsOf } from './sql/lists.ts'
export { isAbout, namesOf, pseudonymOf } from './sql/pseudonym.ts'
export type * from './sql/purchases/records.ts'
export type * from './sql/records.ts'
export type * from './sql/webhooks/records.ts'

type SqlMethods = ReturnType<typeof sqlMethods>['methods']

/**
 * The contract between the services and a database. Each method is atomic. A write is durable when
 * its promise resolves. Records are returned as they were inserted. Do not change a returned
 * record: it may be frozen or shared.
 *
 * A method throws `storage_unavailable` while the database cannot be used: locked, full or
 * unreachable. A write with an `authority` first checks its conditions, such as a valid account
 * key. If one fails, the write throws the error of `assertAuthority`.
 */
export interface Storage extends SqlMethods {
  /**
   * Rejects if the database does not answer, was moved, or is an unfinished copy. Resolves to the
   * clock of a database server in Unix milliseconds.
   */
  ping(): Promise<number | undefined>
  /** A sentence for each fault of an earlier version that opening the database has repaired. */
  readonly repairs?: readonly string[]
  /** Checks the whole database. Resolves to a list with one sentence for each problem. */
  check(): Promise<string[]>
  /** Writes a consistent copy into a new file. Missing unless the database is a file. */
  backup?(path: string): Promise<void>
  /**
   * Closes the storage, and deletes its file if no other process uses it, and if it has no account
   * or is an unfinished copy. Missing unless this storage has created the file.
   */
  discard?(): Promise<void>
  /** Rewrites the file without replaced and deleted data. Missing unless the database is a file. */
  forget?(): Promise<void>
  /** Empties the write-ahead log, which holds replaced data. Only for a database that is a file. */
  emptyLog?(): Promise<void>
  /** Resolves to the size on disk. Missing for a storage in memory. */
  size?(): Promise<StorageSize>
  /**
   * Calls `listener` soon after each commit of this process with an audit entry. Returns a function
   * that removes the listener.
   */
  onWrite(listener: () => void): () => void
  /**
   * Finds the oldest open transaction that has written to the database. Readers that follow the
   * audit log wait for it: webhooks and `listSettled`. Missing if transactions run one at a time.
   */
  findOpenTransaction?(): Promise<OpenTransaction | undefined>
  /** Returns the state of the connection pool. Missing without a pool. */
  poolState?(): PoolState
  /**
   * Begins a request. Returns a function that runs the calls of this request: see `Till.together`.
   */
  together(): Together
  /**
   * Reads that may return cached records without a check whether they have changed. Use them only
   * for records that the caller's write verifies again in its transaction, or for fields that never
   * change.
   */
  readonly stale: Pick<SqlMethods, 'findAccountByKeyHash' | 'findStore'>
  /** Helps callers to cache answers. Missing in a storage that does not check for changes. */
  readonly dataVersion?: DataVersion
  close(): Promise<void>
}

/**
 * Calls `work`. Reads that `work` begins synchronously may return data from the start of the
 * request: see `Till.together`.
 */
export type Together = <T>(work: () => T) => T

/**
 * Tells whether a cached answer is still correct: call `current` before you read the data of an
 * answer. The answer is correct as long as `current` returns the same number after a `check`.
 */
export interface DataVersion {
  /** A counter. After a change of data that can be cached, the next `check` increases it. */
  current(): number
  /** Checks whether data has changed. The check starts after the call, even if another one runs. */
  check(): Promise<void>
}
