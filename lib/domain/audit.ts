import type { JsonObject } from './fields.ts'

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
  'account.create': { effect: 'account' },
  'account_key.add': { effect: 'account' },
  'account_key.revoke': { effect: 'account' },
  'project.create': { effect: 'project' },
  'project.update': { effect: 'project', event: 'project.updated', data: 'project' },
  'project.rotate_key': { effect: 'project' },
  'store.create': { effect: 'store', event: 'store.created', data: 'store' },
  'store.update': { effect: 'store', event: 'store.updated', data: 'store' },
  'item.create': { effect: 'list', event: 'item.created', data: 'item' },
  'item.update': { effect: 'item', event: 'item.updated', data: 'item' },
  'item.archive': { effect: 'item', event: 'item.archived', data: 'item' },
  'item.restore': { effect: 'item', event: 'item.restored', data: 'item' },
  'purchases.import': {
    effect: 'nothing',
    event: 'purchases.imported',
    data: 'import',
    refunds: 'purchases.refunded',
  },
  'purchases.record': {
    effect: 'nothing',
    event: 'purchase.recorded',
    data: 'purchase',
    refunds: 'purchases.refunded',
  },
  // Has only the messages with the refunds.
  'purchases.refund': {
    effect: 'nothing',
    event: 'purchases.refunded',
    refunds: 'purchases.refunded',
  },
  'purchases.deliver': { effect: 'nothing' },
  'imports.undo': { effect: 'nothing', event: 'purchases.undone', data: 'import' },
  'tokens.issue': { effect: 'nothing' },
  'tokens.revoke': { effect: 'tokens' },
  'signing_keys.rotate': { effect: 'nothing' },
  'secrets.seal': { effect: 'secrets' },
  'secrets.drop': { effect: 'secrets' },
  'audit.archive': { effect: 'nothing' },
  // No effect, because each record that a catalog changes has an audit entry of its own.
  'catalog.apply': { effect: 'nothing' },
  'users.export': { effect: 'nothing' },
  'users.erase': { effect: 'tokens', event: 'user.erased', data: 'user' },
  'webhooks.test': { effect: 'nothing', event: 'webhook.test', data: 'endpoint' },
  'webhooks.replay': { effect: 'nothing' },
  'webhooks.pause': { effect: 'nothing' },
  'webhooks.resume': { effect: 'nothing' },
  'webhooks.confirm': { effect: 'nothing' },
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
