export interface KeyRotation {
  readonly public_key: string
  /** Former keys work until this time at the latest; ISO 8601, UTC. */
  readonly former_until: string
}

export interface FormerPublicKey {
  readonly public_key: string
  readonly project_id: string
  readonly expires_at: string
}
