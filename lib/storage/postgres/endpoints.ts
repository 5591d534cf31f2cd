import type { WebhookDialect } from '../sql/webhooks/dialect.ts'
import { HORIZON } from './horizon.ts'

/**
 * Audit entries are not committed in the order of `seq`: a transaction may take number 10, and
 * commit after another one that took 11. A position is therefore a pair `(xid, seq)`. Only entries
 * below the horizon are read: no open transaction can insert another one before them.
 */
export const WEBHOOKS: WebhookDialect = {
  clock: '(extract(epoch FROM clock_timestamp()) * 1000)::bigint',
  isExamined: 'a.project_id = e.project_id',
  isAfter: `(a.xid, a.seq) > (e.read_xid, e.read_seq) AND (e.started IS NULL
    OR (NOT pg_visible_in_snapshot(a.xid, e.started) AND a.xid <> e.started_by))`,
  isSettled: `a.xid < ${HORIZON}`,
  order: 'a.xid, a.seq',
  // The planner expects that a third of the log is unread. The LATERAL join keeps it from scanning
  // the whole log.
  unread: (condition) => `
    (SELECT * FROM webhook_endpoints WHERE endpoint_id = ?) e CROSS JOIN LATERAL (
      SELECT * FROM audit a WHERE ${condition} ORDER BY a.xid, a.seq LIMIT ?) a
    ORDER BY a.xid, a.seq`,
  position: "e.read_xid || ' ' || e.read_seq || ' ' || e.read_rest",
  setXid: 'read_xid = a.xid,',
  isBack: '(a.xid, a.seq - 1) <= (e.read_xid, e.read_seq)',
  setBack: 'started = NULL, started_by = NULL,',
  // The position before all entries of open transactions.
  setNewest: `read_xid = ${HORIZON}, read_seq = 0,
    started = pg_current_snapshot(), started_by = pg_current_xact_id()`,
}
