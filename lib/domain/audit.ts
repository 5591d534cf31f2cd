/** The actions that the audit log records. */
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

/** The audit entry of one change, written in its transaction and never edited. */
export interface AuditEntry {
  /** The time of the change; ISO 8601, UTC. */
  readonly at: string
  /**
   * `key:<key_id>` for an account key, `token:<jti>` for a token, `operator` for CLI and library.
   */
  readonly actor: string
  readonly action: AuditAction
  /** The id of the changed record. */
  readonly subject: string
  /** The account that owns the record; '' if none does. */
  readonly account_id: string
  /** The id of the request; '' if there was none. */
  readonly request_id: string
}
