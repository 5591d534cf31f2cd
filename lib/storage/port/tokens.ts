import type { SIGNING_KEYS, WATERMARKS } from '../sql/tables.ts'

export type StoredSigningKey = ReturnType<typeof SIGNING_KEYS.read>

export type Watermark = ReturnType<typeof WATERMARKS.read>

/** Identifies a user: a user id is unique only within its project. '' stands for all users. */
export type UserKey = Pick<Watermark, 'project_id' | 'user_id'>

/** Which tokens to revoke, and the time of the revocation in Unix seconds. */
export type Revocation = UserKey & { readonly at: number }
