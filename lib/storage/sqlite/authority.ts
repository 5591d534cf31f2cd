import { type Authority, assertAuthority } from '../../domain/authority.ts'
import type { Connection } from './connection.ts'

/**
 * Throws when an authority does not hold. Within a transaction it then holds until the commit: a
 * file has one writer at a time.
 */
export function verifyAuthority(db: Connection, authority: Authority | undefined): void {
  if (!authority) return
  const { key_id, token, store } = authority
  assertAuthority(authority, {
    has_key: key_id !== undefined && db.find(FIND_KEY, key_id) !== undefined,
    project_status: token && statusOf(db, FIND_PROJECT, token.project_id),
    watermark: token ? findWatermark(db, token.project_id, token.user_id) : 0,
    store_status: store && statusOf(db, FIND_STORE, store.account_id, store.store_id),
  })
}

/** The higher of the revocation watermarks of a project and of its user; 0 without any. */
export function findWatermark(db: Connection, project_id: string, user_id: string): number {
  const row = db.find(
    `SELECT max(not_after) AS watermark FROM token_bounds
     WHERE project_id = ? AND user_id IN ('', ?)`,
    project_id,
    user_id,
  )
  return (row?.watermark as number | null) ?? 0
}

const FIND_KEY = 'SELECT 1 FROM account_keys WHERE key_id = ? AND revoked_at IS NULL'
const FIND_PROJECT = 'SELECT status FROM projects WHERE id = ?'
const FIND_STORE = 'SELECT status FROM stores WHERE account_id = ? AND store_id = ?'

function statusOf(db: Connection, sql: string, ...values: string[]): string | undefined {
  return db.find(sql, ...values)?.status as string | undefined
}
