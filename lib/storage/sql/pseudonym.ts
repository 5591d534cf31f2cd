import { createHash } from 'node:crypto'
import type { AuditEntry } from '../../domain/audit.ts'
import type { UserKey } from './records.ts'

/** Each pseudonym begins with this. The triggers of the audit log let an erasure write it. */
export const ERASED = 'erased:'

/**
 * The pseudonym that replaces the id of an erased user: a hash of the project id and the user id.
 * The user's revocation watermark is stored under it. Revoked tokens stay revoked, because the
 * pseudonym can be computed from the `user_id` in a token. A project id is random, so a user has
 * another pseudonym in each project. Anybody who knows both ids can compute the pseudonym.
 */
export function pseudonymOf({ project_id, user_id }: UserKey): string {
  const hash = createHash('sha256').update(`${project_id}\n${user_id}`).digest('base64url')
  return `${ERASED}${hash.slice(0, 22)}`
}

type Names = Pick<AuditEntry, 'actor' | 'subject'>

/**
 * The texts by which an entry names a user. The actor of a token is `token:` and its `jti`. In a
 * token of another tool, the `jti` may be the user id.
 */
export function namesOf({ project_id, user_id }: UserKey): Names {
  return { actor: `token:${user_id}`, subject: `${project_id}/${user_id}` }
}

/** Whether an audit entry names the user of these names. */
export function isAbout({ actor, subject }: Names, names: Names): boolean {
  return actor === names.actor || subject === names.subject
}
