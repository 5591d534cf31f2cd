/**
 * What a request with an `Idempotency-Key` was answered: kept with what it made, so that the same
 * request sent again is answered the same and makes nothing.
 */
export interface IdempotencyRecord {
  readonly account_id: string
  /** As it was sent, 1 to 255 characters. */
  readonly key: string
  /**
   * A hash of operation and input, keyed where there is a master key: inputs may hold secrets. One
   * from before there was a key is keyed when secrets are sealed.
   */
  readonly fingerprint: string
  /** What the operation returned beside its input, as JSON. */
  readonly answer: string
  /** ISO 8601, UTC. */
  readonly created_at: string
  readonly expires_at: string
}
