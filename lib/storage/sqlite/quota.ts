import type { JsonObject } from '../../domain/fields.ts'
import type { Quota } from '../port.ts'
import { assertWithin, grows, type Usage } from '../quota.ts'
import type { Connection } from './connection.ts'

/** Throws `quota_exceeded` when the account has more than its quota, after a change. */
export function assertQuota(db: Connection, quota: Quota | undefined): void {
  if (!quota) return
  const { account_id, project_id, projects, stores } = quota
  // Counts no further than the limit.
  const usage = db.find(
    `SELECT config_bytes,
       (SELECT count(*) FROM (SELECT 1 FROM projects WHERE account_id = ? LIMIT ?)) AS projects,
       (SELECT count(*) FROM (SELECT 1 FROM stores WHERE project_id = ? LIMIT ?)) AS stores
     FROM accounts WHERE account_id = ?`,
    account_id,
    projects === undefined ? 0 : projects + 1,
    project_id ?? null,
    stores === undefined ? 0 : stores + 1,
    account_id,
  )
  assertWithin((usage ?? {}) as Usage, quota)
}

/** The same, for a change that may leave as many bytes as there were. */
export function assertQuotaOfGrowth(
  db: Connection,
  quota: Quota | undefined,
  before: JsonObject,
  after: JsonObject,
): void {
  if (quota && grows(before, after)) assertQuota(db, quota)
}
