import type { AuditDialect } from './audit/dialect.ts'
import type { Row, Table } from './columns.ts'
import type { Program, Query, Statement } from './program.ts'
import type { StatusChangeDialect } from './purchases/dialect.ts'
import type { StoresOfAccount } from './records.ts'
import type { WebhookDialect } from './webhooks/dialect.ts'

/**
 * The SQL and the programs that differ between SQLite and PostgreSQL. A fragment that only one
 * feature needs stands beside the programs of that feature.
 */
export interface Dialect {
  /** Appended to a SELECT, locks its rows for a change. SQLite has one writer, and needs no locks. */
  readonly forUpdate: '' | ' FOR NO KEY UPDATE'
  /** Appended to a SELECT, keeps other transactions from changing its rows. */
  readonly forShare: '' | ' FOR SHARE'
  /** The SQL of the hexadecimal digits of a column of bytes. */
  bytes(column: string): string
  /** The SQL of the text of a `timestamptz`. */
  time(column: string): string
  /** Takes named locks; see `lockAuthority`. */
  lock(changed: readonly string[], shared: readonly string[]): Statement | undefined
  /** Keeps other transactions from writing into a table. */
  lockTable(name: string, mode: 'SHARE' | 'EXCLUSIVE'): Program<void>
  /** Inserts records. Returns how many: fewer if other rows have the same unique values. */
  insertAll<R>(table: Table<R>, records: readonly R[]): Program<number>
  /** The SQL that deletes some expired idempotency records. Its parameter is the time. */
  readonly deleteExpired: string
  readonly webhooks: WebhookDialect
  readonly audit: AuditDialect
  readonly statusChanges: StatusChangeDialect
  /**
   * The SQL of a page of a query, whose rows have the columns `text` and `place`, and are ordered by
   * `place`. PostgreSQL sends all rows that a statement selects, so it leaves out those that
   * follow `most` of text, but for the first. The default is `PAGE_TEXT`.
   */
  pageOfText(query: string, order: 'ASC' | 'DESC', most?: number): string
  /** The most projects or stores on a page. PostgreSQL measures the texts of all. */
  readonly mostConfigured: number
  /** The SQL of a table with these columns, from a JSON array of objects. */
  rows(columns: { readonly [name: string]: { readonly type: string } }): string
  /** The SQL of a table with one column, from a JSON array of texts or numbers. */
  readonly each: { readonly text: string; readonly bigint: string }
}

export interface Sql extends Dialect {
  /** Runs a program that only reads, without a transaction. */
  read<T>(program: Program<T>): Promise<T>
  /** Runs a program in a transaction, which may be repeated. */
  write<T>(program: () => Program<T>, mode?: WriteMode): Promise<T>
  /**
   * Runs a query that may take minutes. SQLite runs it in another thread if `stores` have many
   * purchases, and passes the only store to `queryOf` if the account has one store.
   */
  readLong(
    stores: StoresOfAccount,
    queryOf: (stores: StoresOfAccount) => Query,
    options?: LongRead,
  ): Promise<readonly Row[]>
  /** Runs a program of one statement that writes. PostgreSQL needs no transaction for it. */
  writeOnce<T>(program: () => Program<T>): Promise<T>
}

export interface LongRead {
  /** Only the purchases of this user count. */
  readonly user_id?: string | undefined
  /** Ends the read. */
  readonly signal?: AbortSignal | undefined
}

export interface WriteMode {
  /** Whether a statement may take ten minutes on PostgreSQL. */
  readonly isLong?: true
  /**
   * The account that the write is for. PostgreSQL limits its share of the connections. On SQLite, the
   * accounts take turns.
   */
  readonly account_id?: string | undefined
  /** Whether SQLite does not share the transaction with other writes. */
  readonly isAlone?: true
  /** Whether SQLite does not fsync: a later commit makes the writes durable. */
  readonly isLazy?: true
}
