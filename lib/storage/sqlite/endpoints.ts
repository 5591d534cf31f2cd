import type { WebhookDialect } from '../sql/webhooks/dialect.ts'

/** Audit entries are committed in the order of `seq`, so a position is one number. */
export const WEBHOOKS: WebhookDialect = {
  clock: "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
  // An index by project would skip the entries of other projects, but adds 4 % to the CPU time of
  // each create, and some 400 bytes to its WAL.
  isExamined: 'a.account_id = e.account_id',
  isAfter: 'a.seq > e.read_seq',
  isSettled: 'true',
  order: 'a.seq',
  unread: (condition) => `
    webhook_endpoints e JOIN audit a ON ${condition} WHERE e.endpoint_id = ? ORDER BY a.seq LIMIT ?`,
  position: "e.read_seq || ' ' || e.read_rest",
  setXid: '',
  isBack: 'a.seq - 1 <= e.read_seq',
  setBack: '',
  setNewest: 'read_seq = (SELECT coalesce(max(seq), 0) FROM audit)',
}
