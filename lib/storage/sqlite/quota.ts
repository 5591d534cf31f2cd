import type { JsonObject } from '../../domain/fields.ts'
import type { Quota } from '../port.ts'
import { assertWithin, grows, type Usage } from '../quota.ts'
import { COUNT_USAGE } from '../statements.ts'
import type { Connection } from './connection.ts'

/** Throws `quota_exceeded` if the account exceeds its quota after a change. */
export function assertQuota(db: Connection, quota: Quota | undefined): void {
  if (!quota) return
  const { account_id, project_id = null, projects = -1, stores = -1 } = quota
  const row = db.find(COUNT_USAGE, account_id, projects + 1, project_id, stores + 1, account_id)
  assertWithin((row ?? {}) as Usage, quota)
}

/** Calls `assertQuota` if a change increases the bytes of configuration. */
export function assertQuotaOfGrowth(
  db: Connection,
  quota: Quota | undefined,
  before: JsonObject,
  after: JsonObject,
): void {
  if (quota && grows(before, after)) assertQuota(db, quota)
}
