import type { JsonObject } from './fields.ts'

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
  'item.update',
  'item.archive',
  'item.restore',
  'purchases.import',
  'purchases.record',
  'imports.undo',
  'tokens.issue',
  'tokens.revoke',
  'signing_keys.rotate',
  'secrets.seal',
  'secrets.drop',
  'audit.archive',
  'catalog.apply',
  'users.export',
  'users.erase',
  'webhooks.test',
  'webhooks.replay',
  'webhooks.pause',
  'webhooks.resume',
  'webhooks.confirm',
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

/**
 * The audit entry of one change, written in the transaction of the change. Entries are edited only
 * to erase a user: a pseudonym then replaces the id of the user.
 */
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
  /** The account that owns the changed record; '' if none does. */
  readonly account_id: string
  /** The project of the changed record; '' if it has none. */
  readonly project_id: string
  /** The store of the changed record; '' if it has none. */
  readonly store_id: string
  /** The id of the request that made the change; '' if none was given. */
  readonly request_id: string
  /**
   * Facts that the records no longer show after the change, such as the old price. Never a secret.
   */
  readonly data?: JsonObject
}

/** An audit entry with its sequence number, which is unique and never used again. */
export interface NumberedEntry extends AuditEntry {
  readonly seq: number
}
