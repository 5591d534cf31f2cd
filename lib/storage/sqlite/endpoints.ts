import type { EndpointWrite } from '../../domain/endpoint.ts'
import type { PlainValue } from '../columns.ts'
import { type Program, type WebhookDialect, webhookPrograms } from '../webhooks.ts'
import type { Connection } from './connection.ts'

/** Audit entries are committed in the order of `seq`, so a position is one number. */
const DIALECT: WebhookDialect = {
  clock: "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
  isAfter: 'a.seq > e.read_seq',
  isSettled: 'true',
  order: 'a.seq',
  unread: (condition) => `
    webhook_endpoints e JOIN audit a ON ${condition} WHERE e.endpoint_id = ? ORDER BY a.seq LIMIT ?`,
  setXid: '',
  isBack: 'a.seq - 1 <= e.read_seq',
  setBack: '',
  setNewest: 'read_seq = (SELECT coalesce(max(seq), 0) FROM audit)',
  lock: '',
  lockFree: '',
  values: (table, record) => table.sqliteValues(record),
  rows(columns) {
    const fields = Object.keys(columns).map((name) => `json_extract(value, '$.${name}') AS ${name}`)
    return `(SELECT ${fields.join(', ')} FROM json_each(?))`
  },
  list: (values) => JSON.stringify(values),
  each: {
    text: '(SELECT value FROM json_each(?))',
    bigint: '(SELECT value FROM json_each(?))',
  },
}

export const programs = webhookPrograms(DIALECT)

export function execute<T>(db: Connection, program: Program<T>): T {
  let step = program.next()
  while (!step.done) {
    const { sql, values, reads } = step.value
    const plain = values as PlainValue[]
    step = program.next(reads ? db.all(sql, ...plain) : db.run(sql, ...plain))
  }
  return step.value
}

/** Inserts, changes or deletes webhook endpoints, in the transaction of another change. */
export function writeEndpoints(db: Connection, writes: readonly EndpointWrite[]): void {
  execute(db, programs.writeEndpoints(writes))
}

/**
 * Finds the `seq` of the first audit entry that a webhook endpoint has not read, or of which it has
 * a waiting message. An archive run stops before this entry.
 */
export function findNeeded(db: Connection, stopped_before: number): number | undefined {
  return execute(db, programs.findNeeded(stopped_before))
}
