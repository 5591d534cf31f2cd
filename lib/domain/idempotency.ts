/** The result of a create call with an idempotency key. Repeated calls return the same result. */
export interface IdempotencyRecord {
  readonly account_id: string
  /** The idempotency key of the call, 1 to 255 characters. */
  readonly key: string
  /**
   * A hash of the operation and its input. With a master key it is an HMAC, because an input may
   * hold secrets. `sealSecrets` removes those that are older than the newest master key.
   */
  readonly fingerprint: string
  /** The fields of the result that are not in the input, as JSON. */
  readonly answer: string
  /** The time of the first call; ISO 8601, UTC. */
  readonly created_at: string
  readonly expires_at: string
}
