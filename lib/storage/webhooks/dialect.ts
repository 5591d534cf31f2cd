import type { PlainValue } from '../columns.ts'
import type { Value } from '../sql/program.ts'
import { AUDIT, ENDPOINTS, MESSAGES } from '../tables.ts'

export { all, find, type Program, run } from '../sql/program.ts'

/** The SQL that differs between the databases. `a` is an audit entry, `e` an endpoint. */
export interface WebhookDialect {
  /** The database's clock in Unix milliseconds. */
  readonly clock: string
  /** Whether an entry comes after the endpoint's position. */
  readonly isAfter: string
  /** Whether no open transaction can still insert an entry that comes before this one. */
  readonly isSettled: string
  /** The order in which entries are read. */
  readonly order: string
  /**
   * The entries `a` after the position of an endpoint `e`, in order. The parameters are the id of
   * the endpoint and the maximum number of entries.
   */
  unread(condition: string): string
  /**
   * Sets the transaction id of a position to that of entry `a`. Only PostgreSQL positions have a
   * transaction id.
   */
  readonly setXid: string
  /**
   * Whether the endpoint's current position is directly before entry `a`, or further on. Moving it
   * back to directly before `a` then skips no entry.
   */
  readonly isBack: string
  /** Clears the columns that only a position from `setNewest` uses. */
  readonly setBack: string
  /** Moves the position of an endpoint to after the newest committed entry. */
  readonly setNewest: string
  /** Locks the selected rows of `e`. */
  readonly lock: string
  readonly lockFree: string
  values<R>(table: { values(r: R): Value[]; sqliteValues(r: R): PlainValue[] }, record: R): Value[]
  /** The SQL of a table with these columns, from a JSON array of objects. */
  rows(columns: { readonly [name: string]: { readonly type: string } }): string
  list(values: readonly unknown[]): Value
  /** The SQL of a table with one column, `value`, from a JSON array of texts or numbers. */
  readonly each: { readonly text: string; readonly bigint: string }
}

/** The SQL that several webhook methods share. `m` is a message. */
export function fragmentsOf({ isAfter }: WebhookDialect) {
  const endpointColumns = ENDPOINTS.names.map((name) => `e.${name}`).join(', ')
  const isWaiting = "m.state = 'waiting'"
  return {
    endpointColumns,
    messageColumns: MESSAGES.names.map((name) => `m.${name}`).join(', '),
    entryColumns: ['seq', ...AUDIT.names].map((name) => `a.${name}`).join(', '),
    isWaiting,
    findEndpoint: `SELECT ${endpointColumns} FROM webhook_endpoints e WHERE e.endpoint_id = ?`,
    isUnread: `a.project_id = e.project_id AND ${isAfter}`,
    countWaiting: `(SELECT count(*) FROM (SELECT 1 FROM webhook_messages m
    WHERE m.endpoint_id = e.endpoint_id AND ${isWaiting} LIMIT ?) w)`,
  }
}
