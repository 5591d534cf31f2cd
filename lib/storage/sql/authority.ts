import { type Authority, assertAuthority } from '../../domain/authority.ts'
import { numberOf, pick } from './columns.ts'
import type { Dialect } from './dialect.ts'
import { all, finding, findTogether, type Program } from './program.ts'
import { pseudonymOf } from './pseudonym.ts'
import type { StoreKey } from './records.ts'
import { ACCOUNT_KEYS, WATERMARKS } from './tables.ts'

const KEY_SCOPES = pick(ACCOUNT_KEYS, 'scopes')
const FIND_KEY = 'SELECT scopes FROM account_keys WHERE key_id = ? AND revoked_at IS NULL'
const FIND_PROJECT_STATUS = 'SELECT status FROM projects WHERE id = ?'
const FIND_STORE_STATUS = 'SELECT status FROM stores WHERE account_id = ? AND store_id = ?'
export const FIND_WATERMARK = `
  SELECT coalesce(max(not_after), 0) AS watermark FROM ${WATERMARKS.name}
  WHERE project_id = ? AND user_id IN ('', ?, ?)`

type Locks = Pick<Dialect, 'lock' | 'forShare'>

export const WITHOUT_LOCKS: Locks = { lock: () => undefined, forShare: '' }

/**
 * Throws if a condition of an authority fails. Until the transaction ends, nobody can revoke the
 * authority. On SQLite, only one transaction writes at a time. On PostgreSQL, the rows of the key,
 * project and store are locked FOR SHARE, and a revocation needs an exclusive lock. This function
 * and a revocation first take the locks of `lockAuthority`.
 *
 * PostgreSQL runs the statements in this order, each with its own snapshot. It therefore reads the
 * watermark after the project was locked. A single statement would read with a snapshot from before
 * the wait for that lock.
 *
 * A change of one of these rows must lock the row exclusively before it calls this function. If two
 * changes first locked the row FOR SHARE, they would deadlock.
 */
export function* verifyAuthority(sql: Locks, authority: Authority | undefined): Program<void> {
  if (!authority) return
  const { key_id, token, store } = authority
  const [, key, project, watermark, found] = yield* findTogether(
    sql.lock([], locksOf(authority)),
    key_id === undefined ? undefined : finding(FIND_KEY + sql.forShare, key_id),
    token && finding(FIND_PROJECT_STATUS + sql.forShare, token.project_id),
    token && finding(FIND_WATERMARK, token.project_id, token.user_id, pseudonymOf(token)),
    store && finding(FIND_STORE_STATUS + sql.forShare, store.account_id, store.store_id),
  )
  assertAuthority(authority, {
    key: key && KEY_SCOPES.read(key),
    project_status: project?.status as string | undefined,
    watermark: watermark ? numberOf(watermark.watermark) : 0,
    store_status: found?.status as string | undefined,
  })
}

/**
 * On PostgreSQL, takes advisory locks: a shared one for each record of an authority, and an
 * exclusive one for each name in `changed`.
 *
 * Row locks are not fair: a FOR SHARE request overtakes a waiting FOR UPDATE. With row locks alone,
 * a steady stream of writers could delay a revocation until its statement timeout. Advisory locks
 * are granted in the order of the requests.
 *
 * Takes the locks in ascending order of their numbers, to prevent deadlocks. Call it before any row
 * is locked, except that of an import, which all lock before anything else: another transaction
 * could hold one of these locks and wait for that row.
 */
export function* lockAuthority(
  sql: Dialect,
  authority: Authority | undefined,
  ...changed: readonly string[]
): Program<void> {
  const lock = sql.lock(changed, locksOf(authority))
  if (lock) yield lock
}

/** Locks the rows that a query selects, where the database needs row locks. */
export function* lockRows(sql: Dialect, query: string, ...values: string[]): Program<void> {
  if (sql.forUpdate !== '') yield* all(query + sql.forUpdate, ...values)
}

/** The names of the advisory locks. */
export const lockOf = {
  key: (key_id: string) => `key ${key_id}`,
  project: (project_id: string) => `project ${project_id}`,
  store: ({ account_id, store_id }: StoreKey) => `store ${account_id} ${store_id}`,
}

function locksOf(authority: Authority | undefined): string[] {
  if (!authority) return []
  const { key_id, token, store } = authority
  const names: string[] = []
  if (key_id !== undefined) names.push(lockOf.key(key_id))
  if (token) names.push(lockOf.project(token.project_id))
  if (store) names.push(lockOf.store(store))
  return names
}
