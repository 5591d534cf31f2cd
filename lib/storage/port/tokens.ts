import type { Page, RecordPage } from './page.ts'
import type { WriteOptions } from './write.ts'

export interface TokenMethods {
  /** Inserts a signing key, for `copyStorage`. */
  insertSigningKey(key: StoredSigningKey): Promise<void>
  /** Inserts a signing key if there is none. Of concurrent calls, only one inserts. */
  insertFirstSigningKey(key: StoredSigningKey): Promise<void>
  /**
   * Lists the signing keys, oldest first. Not paged, because there are few: only the operator adds
   * keys, and a rotation deletes those that no valid token needs.
   */
  listSigningKeys(): Promise<StoredSigningKey[]>
  /**
   * Inserts a key, and deletes the keys whose `kid` is in the result of `drop`. `drop` gets all
   * keys, including the new one. Resolves to the result of `drop`. Concurrent rotations run one
   * after the other.
   */
  rotateSigningKeys(
    key: StoredSigningKey,
    drop: (keys: readonly StoredSigningKey[]) => readonly string[],
    write?: WriteOptions,
  ): Promise<readonly string[]>

  /**
   * Raises the revocation watermark of a project or of one of its users. The new watermark is the
   * time `at`, but at least 1 above each earlier watermark that applies to the revoked tokens.
   */
  revokeTokens(revocation: Revocation, write?: WriteOptions): Promise<void>
  /** Raises a revocation watermark to a value. Never lowers a stored one. For `copyStorage`. */
  insertWatermark(watermark: Watermark): Promise<void>
  /**
   * Finds the higher of the revocation watermarks of a project and its user; 0 if there is none. A
   * token is revoked if it was issued under a lower watermark.
   */
  findWatermark(project_id: string, user_id: string): Promise<number>
  /** Lists the revocation watermarks of a project and its users, sorted by bytes of `user_id`. */
  listWatermarks(project_id: string, page: Page): Promise<RecordPage<Watermark>>
  /**
   * Moves a user's watermark to the user's pseudonym. Revoked tokens stay revoked. Resolves to
   * whether the user had a watermark.
   */
  pseudonymizeWatermark(user: UserKey, write?: WriteOptions): Promise<boolean>
}

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
