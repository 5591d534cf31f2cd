import type { PlainValue, Row } from '../columns.ts'
import { ENDPOINTS, MESSAGES } from '../tables.ts'

// The webhook methods of both SQL adapters. Each is a generator that yields statements and receives
// their results, because SQLite runs a transaction synchronously and PostgreSQL does not.

export type Value = PlainValue | boolean | object

export interface Statement {
  readonly sql: string
  readonly values: readonly Value[]
  /** Whether the result is rows. Otherwise it is the number of changed rows. */
  readonly reads: boolean
}

export type Program<T> = Generator<Statement, T, unknown>

export function* all(sql: string, ...values: Value[]): Program<Row[]> {
  return (yield { sql, values, reads: true }) as Row[]
}

export function* find(sql: string, ...values: Value[]): Program<Row | undefined> {
  return (yield* all(sql, ...values))[0]
}

export function* run(sql: string, ...values: Value[]): Program<number> {
  return (yield { sql, values, reads: false }) as number
}

/** The SQL that differs between the databases. `a` is an audit entry, `e` an endpoint. */
export interface WebhookDialect {
  /** The database's clock in Unix milliseconds. */
  readonly clock: string
  /** Whether an entry comes after the endpoint's position. */
  readonly isAfter: string
  /** Whether no transaction that is still open can precede an entry. */
  readonly isSettled: string
  /** The order in which entries are read. */
  readonly order: string
  /**
   * The entries `a` after the position of an endpoint `e`, in order. Takes the id of the endpoint
   * and the most entries.
   */
  unread(condition: string): string
  /** Sets the part of a position that `read_seq` lacks, from an entry `a`. */
  readonly setXid: string
  /** Whether an endpoint's position is just before an entry `a`, or after it. */
  readonly isBack: string
  /** Removes what `setNewest` set beside the position. */
  readonly setBack: string
  /** Sets the position after the newest entry that is committed. */
  readonly setNewest: string
  /** Locks the selected rows of `e`. */
  readonly lock: string
  readonly lockFree: string
  values<R>(table: { values(r: R): Value[]; sqliteValues(r: R): PlainValue[] }, record: R): Value[]
  /** The rows of a JSON array as a table. */
  rows(columns: { readonly [name: string]: 'text' | 'bigint' }): string
  list(values: readonly unknown[]): Value
  /** The rows of a JSON array of texts or numbers, with a column `value`. */
  readonly each: { readonly text: string; readonly bigint: string }
}

/** The SQL that several webhook methods share. `m` is a message. */
export function fragmentsOf({ isAfter }: WebhookDialect) {
  const endpointColumns = ENDPOINTS.names.map((name) => `e.${name}`).join(', ')
  const isWaiting = "m.state = 'waiting'"
  return {
    endpointColumns,
    messageColumns: MESSAGES.names.map((name) => `m.${name}`).join(', '),
    entryColumns:
      'a.seq, a.at, a.actor, a.action, a.subject, a.account_id, a.project_id, \
    a.store_id, a.request_id, a.data',
    isWaiting,
    findEndpoint: `SELECT ${endpointColumns} FROM webhook_endpoints e WHERE e.endpoint_id = ?`,
    isUnread: `a.project_id = e.project_id AND ${isAfter}`,
    countWaiting: `(SELECT count(*) FROM (SELECT 1 FROM webhook_messages m
    WHERE m.endpoint_id = e.endpoint_id AND ${isWaiting} LIMIT ?) w)`,
  }
}
