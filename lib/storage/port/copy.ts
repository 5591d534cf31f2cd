/** A row as texts, which both databases read and write alike. */
export type CopiedRow = readonly (string | null)[]

export interface CopiedPage {
  /** Rows after this one, in the order of the table's key. */
  readonly after?: CopiedRow | undefined
  readonly limit: number
  /** Leaves out the idempotency records that have expired at this time. */
  readonly now: string
}

/** Methods that only `copyStorage` uses. The tables and their columns are in `sql/copy.ts`. */
export interface CopyMethods {
  /**
   * Marks an empty storage as an unfinished copy until `endCopy`. A marked storage opens only with
   * `forCopy`. Does not mark a storage that already has records. If the storage is marked now, by
   * this call or an earlier one, resolves to the time of the mark.
   */
  beginCopy(now: string): Promise<string | undefined>
  endCopy(): Promise<void>
  countRows(table: string): Promise<number>
  readRows(table: string, page: CopiedPage): Promise<readonly CopiedRow[]>
  /** Writes rows with the numbers of the source. Throws `storage_unavailable` for a known row. */
  insertRows(table: string, rows: readonly CopiedRow[]): Promise<void>
  /** Writes what follows from the copied rows: indexes, sequences, positions. */
  completeCopy(): Promise<void>
  /** Writes the status changes of imports that are not in their purchases yet. SQLite only. */
  applyChanges?(): Promise<void>
  /**
   * Where each store numbers its own purchases: by the `seq` of a store, the number to add, so that
   * no two purchases have the same. Missing where the purchases of all stores have one sequence.
   */
  readNumberBases?(): Promise<ReadonlyMap<string, number>>
}
