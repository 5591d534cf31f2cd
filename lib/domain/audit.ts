/** What an entry of the audit log may tell of. */
export const AUDIT_ACTIONS = [
  'account.create',
  'account_key.add',
  'account_key.revoke',
  'project.create',
  'project.update',
  'project.rotate_key',
  'store.create',
  'store.update',
  'item.create',
  'purchases.import',
  'tokens.issue',
  'tokens.revoke',
  'signing_keys.rotate',
  'secrets.seal',
  'secrets.drop',
  'audit.archive',
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

/**
 * One change: who made it, when, to what. Entries are added with the change itself and never
 * edited.
 */
export interface AuditEntry {
  /** ISO 8601, UTC. */
  readonly at: string
  /**
   * `key:<key_id>` for an account key, `token:<jti>` for a bearer, `operator` for CLI and library.
   */
  readonly actor: string
  readonly action: AuditAction
  /** The id of what was changed. */
  readonly subject: string
  /** The account that owns it; '' for what belongs to none. */
  readonly account_id: string
  /** The request that asked for it; '' outside HTTP. */
  readonly request_id: string
}
