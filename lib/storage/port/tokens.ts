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

/** Which tokens to revoke, and when. */
export interface Revocation {
  readonly project_id: string
  /** The user; '' for all users of the project. */
  readonly user_id: string
  /** The time of the revocation in Unix seconds. */
  readonly at: number
}

/** Identifies a user: a user id is unique only within its project. */
export interface UserKey {
  readonly project_id: string
  readonly user_id: string
}
