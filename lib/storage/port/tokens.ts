export interface StoredSigningKey {
  readonly kid: string
  readonly secret: Uint8Array
  readonly created_at: string
}

/**
 * The revocation watermark of a project or of one of its users. A revocation raises it, and tokens
 * that were issued under a lower watermark are invalid.
 */
export interface Watermark {
  readonly project_id: string
  /** The user; '' for all users of the project. */
  readonly user_id: string
  /** Unix seconds of the revocation, or one more than the previous watermark if that is higher. */
  readonly not_after: number
}

/** Identifies a user: a user id is unique only within its project. '' stands for all users. */
export type UserKey = Pick<Watermark, 'project_id' | 'user_id'>

/** Which tokens to revoke, and the time of the revocation in Unix seconds. */
export type Revocation = UserKey & { readonly at: number }
