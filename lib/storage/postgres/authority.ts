import { type Authority, assertAuthority } from '../../domain/authority.ts'
import type { StoreKey } from '../port.ts'
import { numberOf } from '../records.ts'
import type { Connection, Transaction } from './connection.ts'

/**
 * Throws when an authority does not hold. Until the transaction ends nobody can revoke it: its rows
 * are locked FOR SHARE, and a revocation locks the same row for itself first. Both take the fair
 * lock before, see `lockAuthority`.
 *
 * The statements are sent together: one round trip. The connection runs them in this order, each
 * with a snapshot of its own, so that the watermark is read after the lock on its project was
 * granted: in one statement with the lock it would be that of before the wait.
 *
 * A change that updates one of these rows locks it exclusively before: of two that first share it,
 * each would wait for the other.
 */
export async function verifyAuthority(
  tx: Transaction,
  authority: Authority | undefined,
): Promise<void> {
  if (!authority) return
  const { key_id, token, store } = authority
  const [, key, project, watermark, found] = await Promise.all([
    lockAuthority(tx, authority),
    key_id === undefined ? undefined : tx.find(FIND_KEY, key_id),
    token && tx.find('SELECT status FROM projects WHERE id = $1 FOR SHARE', token.project_id),
    token ? findWatermark(tx, token.project_id, token.user_id) : 0,
    store && tx.find(`${FIND_STORE} FOR SHARE`, store.account_id, store.store_id),
  ])
  assertAuthority(authority, {
    has_key: key !== undefined,
    project_status: project?.status as string | undefined,
    watermark,
    store_status: found?.status as string | undefined,
  })
}

/** The higher of the revocation watermarks of a project and of its user; 0 without any. */
export async function findWatermark(
  on: Connection,
  project_id: string,
  user_id: string,
): Promise<number> {
  const row = await on.find(
    `SELECT coalesce(max(not_after), 0) AS watermark FROM token_bounds
     WHERE project_id = $1 AND user_id IN ('', $2)`,
    project_id,
    user_id,
  )
  return numberOf(row?.watermark)
}

/**
 * Takes the fair locks of an authority, shared, and those of `changed`, exclusively.
 *
 * Row locks are not fair: whoever asks for FOR SHARE passes a FOR UPDATE that waits, and a steady
 * stream of writers would keep a revocation waiting until its statement timeout. Advisory locks are
 * granted in the order of their requests.
 *
 * Prevents deadlocks: takes the locks in the order of their numbers, and callers hold no lock yet
 * that a holder of one of these may wait for. So it comes before the rows are locked.
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

/** The names of the fair locks. */
export const lockOf = {
  key: (key_id: string) => `key ${key_id}`,
  project: (project_id: string) => `project ${project_id}`,
  store: ({ account_id, store_id }: StoreKey) => `store ${account_id} ${store_id}`,
}

/** Any number, the same for all locks of this kind: the letters "auth". */
const LOCK_CLASS = 0x61757468

// Two names may have one number: who needs both takes that lock once.
const LOCK = `
  SELECT CASE WHEN is_exclusive THEN pg_advisory_xact_lock(${LOCK_CLASS}, number)
    ELSE pg_advisory_xact_lock_shared(${LOCK_CLASS}, number) END
  FROM (
    SELECT hashtext(name) AS number, bool_or(is_exclusive) AS is_exclusive FROM (
      SELECT json_array_elements_text($1) AS name, true AS is_exclusive
      UNION ALL SELECT json_array_elements_text($2), false) AS names
    GROUP BY number ORDER BY number) AS locks`

const FIND_KEY = 'SELECT 1 FROM account_keys WHERE revoked_at IS NULL AND key_id = $1 FOR SHARE'

/**
 * Finds a key, and takes its fair lock before that of its row, in one statement. The statement's
 * snapshot is of before the wait, but FOR SHARE reads the row anew when it was updated since.
 */
export function findLockedKey(key_id: string, place: (value: string) => string): string {
  return `SELECT 1 FROM account_keys
    WHERE (SELECT pg_advisory_xact_lock_shared(${LOCK_CLASS}, hashtext(${place(lockOf.key(key_id))})))
      IS NOT NULL AND revoked_at IS NULL AND key_id = ${place(key_id)} FOR SHARE`
}

const FIND_STORE = 'SELECT status FROM stores WHERE account_id = $1 AND store_id = $2'
