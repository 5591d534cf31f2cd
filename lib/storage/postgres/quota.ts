import type { JsonObject } from '../../domain/fields.ts'
import { numberOf } from '../columns.ts'
import type { Quota } from '../port.ts'
import { assertWithin, grows } from '../quota.ts'
import { COUNT_USAGE } from '../statements.ts'
import type { Connection } from './connection.ts'

/**
 * Throws `quota_exceeded` if the account exceeds its quota after a change. A trigger adds the bytes
 * of a configuration to the account's row, and thereby locks the row. Concurrent changes wait for
 * each other there, so each of them counts the previous ones.
 */
export async function assertQuota(on: Connection, quota: Quota | undefined): Promise<void> {
  if (!quota) return
  const { account_id, project_id = null, projects = -1, stores = -1 } = quota
  const limits = [account_id, projects + 1, project_id, stores + 1, account_id]
  const row = await on.find(COUNT_USAGE, ...limits)
  if (!row) return
  const usage = {
    projects: numberOf(row.projects),
    stores: numberOf(row.stores),
    config_bytes: numberOf(row.config_bytes),
  }
  assertWithin(usage, quota)
}

/** Calls `assertQuota` if a change increases the bytes of configuration. */
export async function assertQuotaOfGrowth(
  on: Connection,
  quota: Quota | undefined,
  before: JsonObject,
  after: JsonObject,
): Promise<void> {
  if (quota && grows(before, after)) await assertQuota(on, quota)
}
