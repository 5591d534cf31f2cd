import { type WebhookDialect, webhookPrograms } from '../webhooks.ts'

/** Audit entries are committed in the order of `seq`, so a position is one number. */
export const DIALECT: WebhookDialect = {
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
