/** The audited actions. */
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
  'users.export',
  'users.erase',
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

/**
 * One change. Written in the same transaction as the change. Only the erasure of a user edits it,
 * and replaces the user's id by a pseudonym.
 */
export interface AuditEntry {
  /** ISO 8601, UTC. */
  readonly at: string
  /**
   * `key:<key_id>` for an account key, `token:<jti>` for a bearer, `operator` for CLI and library.
   */
  readonly actor: string
  readonly action: AuditAction
  /** The id of the changed record. */
  readonly subject: string
  /** The account that owns the record; '' without one. */
  readonly account_id: string
  /** The id of the request; '' without one. */
  readonly request_id: string
}
