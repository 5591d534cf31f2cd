import { type Authority, assertAuthority } from '../../domain/authority.ts'
import { pseudonymOf } from '../pseudonym.ts'
import { FIND_KEY, FIND_PROJECT_STATUS, FIND_STORE_STATUS, FIND_WATERMARK } from '../statements.ts'
import type { Connection } from './connection.ts'

/**
 * Throws if a condition of an authority fails. In a transaction, nobody can revoke the authority
 * before the commit, because a SQLite file has only one writer at a time.
 */
export function verifyAuthority(db: Connection, authority: Authority | undefined): void {
  if (!authority) return
  const { key_id, token, store } = authority
  assertAuthority(authority, {
    has_key: key_id !== undefined && db.find(FIND_KEY, key_id) !== undefined,
    project_status: token && statusOf(db, FIND_PROJECT_STATUS, token.project_id),
    watermark: token ? watermarkOf(db, token.project_id, token.user_id) : 0,
    store_status: store && statusOf(db, FIND_STORE_STATUS, store.account_id, store.store_id),
  })
}

function statusOf(db: Connection, sql: string, ...ids: string[]): string | undefined {
  return db.find(sql, ...ids)?.status as string | undefined
}

function watermarkOf(db: Connection, project_id: string, user_id: string): number {
  const pseudonym = pseudonymOf({ project_id, user_id })
  return db.find(FIND_WATERMARK, project_id, user_id, pseudonym)?.watermark as number
}
