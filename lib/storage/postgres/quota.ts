import type { JsonObject } from '../../domain/fields.ts'
import type { Quota } from '../port.ts'
import { assertWithin, grows } from '../quota.ts'
import { numberOf } from '../records.ts'
import type { Connection } from './connection.ts'

/**
 * Throws `quota_exceeded` when the account has more than its quota, after a change. The trigger that
 * counts the configuration of a new record locks the account's row. Of changes at once each
 * therefore counts those before it.
 */
export async function assertQuota(on: Connection, quota: Quota | undefined): Promise<void> {
  if (!quota) return
  const { account_id, project_id, projects, stores } = quota
  // Counts no further than the limit.
  const row = await on.find(
    `SELECT config_bytes,
       (SELECT count(*) FROM (SELECT 1 FROM projects WHERE account_id = $1 LIMIT $2) p) AS projects,
       (SELECT count(*) FROM (SELECT 1 FROM stores WHERE project_id = $3 LIMIT $4) s) AS stores
     FROM accounts WHERE account_id = $1`,
    account_id,
    projects === undefined ? 0 : projects + 1,
    project_id ?? null,
    stores === undefined ? 0 : stores + 1,
  )
  if (!row) return
  const usage = {
    projects: numberOf(row.projects),
    stores: numberOf(row.stores),
    config_bytes: numberOf(row.config_bytes),
  }
  assertWithin(usage, quota)
}

/** The same, for a change that may leave as many bytes as there were. */
export async function assertQuotaOfGrowth(
  on: Connection,
  quota: Quota | undefined,
  before: JsonObject,
  after: JsonObject,
): Promise<void> {
  if (quota && grows(before, after)) await assertQuota(on, quota)
}
