import { type Authority, assertAuthority } from '../../domain/authority.ts'
import { numberOf } from '../columns.ts'
import type { StoreKey } from '../port.ts'
import { pseudonymOf } from '../pseudonym.ts'
import { FIND_KEY, FIND_PROJECT_STATUS, FIND_STORE_STATUS, FIND_WATERMARK } from '../statements.ts'
import type { Transaction } from './connection.ts'

/**
 * Throws if a condition of an authority fails. Until the transaction ends, nobody can revoke the
 * authority: the rows of its key, project and store are locked FOR SHARE, and a revocation needs an
 * exclusive lock. This function and a revocation first take the locks of `lockAuthority`.
 *
 * The statements are sent together, in one round trip. The server runs them in this order, each
 * with its own snapshot. It therefore reads the watermark after the project was locked. A single
 * statement would read with a snapshot from before the wait for that lock.
 *
 * A change of one of these rows must lock the row exclusively before it calls this function. If two
 * changes first locked the row FOR SHARE, they would deadlock.
 */
export async function verifyAuthority(
  tx: Transaction,
  authority: Authority | undefined,
): Promise<void> {
  if (!authority) return
  const { key_id, token, store } = authority
  const [, key, project, watermark, found] = await Promise.all([
    lockAuthority(tx, authority),
    key_id === undefined ? undefined : tx.find(`${FIND_KEY} FOR SHARE`, key_id),
    token && tx.find(`${FIND_PROJECT_STATUS} FOR SHARE`, token.project_id),
    token && tx.find(FIND_WATERMARK, token.project_id, token.user_id, pseudonymOf(token)),
    store && tx.find(`${FIND_STORE_STATUS} FOR SHARE`, store.account_id, store.store_id),
  ])
  assertAuthority(authority, {
    has_key: key !== undefined,
    project_status: project?.status as string | undefined,
    watermark: watermark ? numberOf(watermark.watermark) : 0,
    store_status: found?.status as string | undefined,
  })
}

/**
 * Takes advisory locks: a shared one for each record of an authority, and an exclusive one for each
 * name in `changed`.
 *
 * Row locks are not fair: a FOR SHARE request overtakes a waiting FOR UPDATE. With row locks alone,
 * a steady stream of writers could delay a revocation until its statement timeout. Advisory locks
 * are granted in the order of the requests.
 *
 * Takes the locks in ascending order of their numbers, to prevent deadlocks. Call it before any row
 * is locked: another transaction could hold one of these locks and wait for that row.
 */
export function lockAuthority(
  tx: Transaction,
  authority: Authority | undefined,
  ...changed: readonly string[]
): Promise<unknown> {
  const { key_id, token, store } = authority ?? {}
  const shared: string[] = []
  if (key_id !== undefined) shared.push(lockOf.key(key_id))
  if (token) shared.push(lockOf.project(token.project_id))
  if (store) shared.push(lockOf.store(store))
  return tx.run(LOCK, changed, shared)
}

/** The names of the advisory locks. `LOCK` hashes them to numbers. */
export const lockOf = {
  key: (key_id: string) => `key ${key_id}`,
  project: (project_id: string) => `project ${project_id}`,
  store: ({ account_id, store_id }: StoreKey) => `store ${account_id} ${store_id}`,
}

/** An arbitrary number for the advisory locks of authorities: the letters "auth". */
const LOCK_CLASS = 0x61757468

// Names with the same hash share one lock.
const LOCK = `
  SELECT CASE WHEN is_exclusive THEN pg_advisory_xact_lock(${LOCK_CLASS}, number)
    ELSE pg_advisory_xact_lock_shared(${LOCK_CLASS}, number) END
  FROM (
    SELECT hashtext(name) AS number, bool_or(is_exclusive) AS is_exclusive FROM (
      SELECT json_array_elements_text(?) AS name, true AS is_exclusive
      UNION ALL SELECT json_array_elements_text(?), false) AS names
    GROUP BY number ORDER BY number) AS locks`

/**
 * Finds a key by its id. First takes the advisory lock of the key, then the row lock. If the
 * statement waits, its snapshot becomes outdated, but FOR SHARE then reads a changed row again.
 */
export const FIND_LOCKED_KEY = `
  SELECT 1 FROM account_keys
  WHERE (SELECT pg_advisory_xact_lock_shared(${LOCK_CLASS}, hashtext(?))) IS NOT NULL
    AND revoked_at IS NULL AND key_id = ? FOR SHARE`
