import type { KeyScope } from './account.ts'
import type { JsonObject } from './json.ts'

/** The effect of a change on the records that a cache may hold. */
export type Effect =
  | 'nothing'
  | 'account'
  | 'project'
  | 'store'
  | 'secrets'
  | 'tokens'
  | 'list'
  | 'item'

interface Action {
  /** The scope that an account key needs. The transaction of the change verifies it. */
  readonly scope: KeyScope
  readonly effect: Effect
  /** The webhook event of the change. */
  readonly event?: string
  /** The kind of `data` in the body of the event. */
  readonly data?: 'project' | 'store' | 'item' | 'import' | 'purchase' | 'user' | 'endpoint'
  /** The event of the further messages, which have the refunds of an import or of a recording. */
  readonly refunds?: string
}

/** The audited actions. A webhook event is one row. */
export const ACTIONS = {
  'account.create': { scope: 'admin', effect: 'account' },
  'account_key.add': { scope: 'admin', effect: 'account' },
  'account_key.update': { scope: 'admin', effect: 'account' },
  'account_key.revoke': { scope: 'admin', effect: 'account' },
  'project.create': { scope: 'catalog', effect: 'project' },
  'project.update': {
    scope: 'catalog',
    effect: 'project',
    event: 'project.updated',
    data: 'project',
  },
  'project.rotate_key': { scope: 'admin', effect: 'project' },
  'store.create': { scope: 'catalog', effect: 'store', event: 'store.created', data: 'store' },
  'store.update': { scope: 'catalog', effect: 'store', event: 'store.updated', data: 'store' },
  'item.create': { scope: 'catalog', effect: 'list', event: 'item.created', data: 'item' },
  'item.update': { scope: 'catalog', effect: 'item', event: 'item.updated', data: 'item' },
  'item.archive': { scope: 'catalog', effect: 'item', event: 'item.archived', data: 'item' },
  'item.restore': { scope: 'catalog', effect: 'item', event: 'item.restored', data: 'item' },
  'purchases.import': {
    scope: 'purchases',
    effect: 'nothing',
    event: 'purchases.imported',
    data: 'import',
    refunds: 'purchases.refunded',
  },
  'purchases.record': {
    scope: 'purchases',
    effect: 'nothing',
    event: 'purchase.recorded',
    data: 'purchase',
    refunds: 'purchases.refunded',
  },
  // Has only the messages with the refunds.
  'purchases.refund': {
    scope: 'purchases',
    effect: 'nothing',
    event: 'purchases.refunded',
    refunds: 'purchases.refunded',
  },
  // The cancellation of the purchases that a vendor's file lacks.
  'purchases.reconcile': {
    scope: 'purchases',
    effect: 'nothing',
    event: 'purchases.refunded',
    refunds: 'purchases.refunded',
  },
  'purchases.deliver': { scope: 'purchases', effect: 'nothing' },
  'imports.undo': {
    scope: 'purchases',
    effect: 'nothing',
    event: 'purchases.undone',
    data: 'import',
  },
  'tokens.issue': { scope: 'tokens', effect: 'nothing' },
  'tokens.revoke': { scope: 'tokens', effect: 'tokens' },
  'signing_keys.rotate': { scope: 'admin', effect: 'nothing' },
  'secrets.seal': { scope: 'admin', effect: 'secrets' },
  'secrets.drop': { scope: 'admin', effect: 'secrets' },
  'audit.archive': { scope: 'admin', effect: 'nothing' },
  // No effect, because each record that a catalog changes has an audit entry of its own.
  'catalog.apply': { scope: 'catalog', effect: 'nothing' },
  'users.export': { scope: 'users', effect: 'nothing' },
  'users.erase': { scope: 'users', effect: 'tokens', event: 'user.erased', data: 'user' },
  'webhooks.test': { scope: 'admin', effect: 'nothing', event: 'webhook.test', data: 'endpoint' },
  'webhooks.replay': { scope: 'admin', effect: 'nothing' },
  'webhooks.resend': { scope: 'admin', effect: 'nothing' },
  'webhooks.pause': { scope: 'admin', effect: 'nothing' },
  'webhooks.resume': { scope: 'admin', effect: 'nothing' },
  'webhooks.update': { scope: 'admin', effect: 'nothing' },
  'webhooks.confirm': { scope: 'admin', effect: 'nothing' },
} as const satisfies { readonly [action: string]: Action }

export type AuditAction = keyof typeof ACTIONS

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
