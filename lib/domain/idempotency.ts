/** The result of a create call with an idempotency key. A repeated call returns it again. */
export interface IdempotencyRecord {
  readonly account_id: string
  /** 1 to 255 characters. */
  readonly key: string
  /**
   * A hash of operation and input. Inputs may hold secrets, so a master key makes it an HMAC;
   * `sealSecrets` converts older records.
   */
  readonly fingerprint: string
  /** The fields of the result that the input lacks, as JSON. */
  readonly answer: string
  /** ISO 8601, UTC. */
  readonly created_at: string
  readonly expires_at: string
}
