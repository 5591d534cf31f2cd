import type { AuditAction, AuditEntry } from './audit.ts'
import type { StoredEndpoint } from './endpoint.ts'
import type { WebhookEventType } from './webhook.ts'

/** Maps audited actions to webhook events. Other actions cause no event. */
const EVENT_OF: { readonly [Action in AuditAction]?: WebhookEventType } = {
  'project.update': 'project.updated',
  'store.create': 'store.created',
  'store.update': 'store.updated',
  'item.create': 'item.created',
  'item.update': 'item.updated',
  'item.archive': 'item.archived',
  'item.restore': 'item.restored',
  'purchases.import': 'purchases.imported',
  'imports.undo': 'purchases.undone',
  'purchases.record': 'purchase.recorded',
  'users.erase': 'user.erased',
  'webhooks.test': 'webhook.test',
}

export const EVENT_ACTIONS = Object.keys(EVENT_OF) as AuditAction[]

export function eventOf({ action }: Pick<AuditEntry, 'action'>): WebhookEventType | undefined {
  return EVENT_OF[action]
}

/** Whether an endpoint receives the event that an audit entry of its project causes. */
export function receives(
  { endpoint_id, store_id }: Pick<StoredEndpoint, 'endpoint_id' | 'store_id'>,
  entry: AuditEntry,
): boolean {
  if (entry.action === 'webhooks.test') return entry.subject === endpoint_id
  return eventOf(entry) !== undefined && (store_id === '' || entry.store_id === store_id)
}
