import { TillError } from '../../errors.ts'
import { numberOf } from './columns.ts'
import { find, type Program } from './program.ts'
import type { Quota } from './records.ts'

/** Reads the usage of an account. Counts records only up to given limits. */
const COUNT_USAGE = `
  SELECT config_bytes,
    (SELECT count(*) FROM (SELECT 1 FROM projects WHERE account_id = ? LIMIT ?) p) AS projects,
    (SELECT count(*) FROM (
      SELECT 1 FROM account_keys WHERE account_id = ? AND revoked_at IS NULL LIMIT ?) k) AS keys,
    (SELECT count(*) FROM (SELECT 1 FROM stores WHERE project_id = ? LIMIT ?) s) AS stores
  FROM accounts WHERE account_id = ?`

/**
 * Throws `quota_exceeded` if the account exceeds its quota after a change. A trigger adds the bytes
 * of a configuration to the account's row, and thereby locks the row. Concurrent changes wait for
 * each other there, so each of them counts the previous ones.
 */
export function* assertQuota(quota: Quota | undefined): Program<void> {
  if (!quota) return
  const { account_id, project_id = null, projects = -1, keys = -1, stores = -1 } = quota
  const ofAccount = [account_id, projects + 1, account_id, keys + 1]
  const row = yield* find(COUNT_USAGE, ...ofAccount, project_id, stores + 1, account_id)
  for (const [name, message] of Object.entries(MESSAGES)) {
    const limit = quota[name as keyof typeof MESSAGES]
    if (!row || limit === undefined || numberOf(row[name]) <= limit) continue
    throw new TillError('quota_exceeded', message(limit.toLocaleString('en-US')))
  }
}

const MESSAGES = {
  projects: (limit: string) => `An account may have at most ${limit} projects`,
  keys: (limit: string) => `An account may have at most ${limit} keys`,
  stores: (limit: string) => `A project may have at most ${limit} stores`,
  config_bytes: (limit: string) =>
    `The config and store_config of an account may have at most ${limit} bytes together`,
}
