import { ACTIONS, type AuditAction, type AuditEntry } from './audit.ts'

type Row = (typeof ACTIONS)[AuditAction]
type EventRow = Extract<Row, { readonly event: string }>

export type WebhookEventType =
  | EventRow['event']
  | Extract<Row, { readonly refunds: string }>['refunds']

const rows = Object.entries(ACTIONS) as [AuditAction, Row][]

/** The events that a webhook receives. */
export const WEBHOOK_EVENTS: readonly WebhookEventType[] = [
  ...new Set(
    rows.flatMap(([, row]) => [
      ...('event' in row ? [row.event] : []),
      ...('refunds' in row ? [row.refunds] : []),
    ]),
  ),
]

/** The actions that cause an event. */
export const EVENT_ACTIONS = rows.flatMap(([action, row]) => ('event' in row ? [action] : []))

/** The actions whose entries an endpoint reads that receives only these events; default all. */
export function actionsOf(events: readonly string[] | undefined): readonly AuditAction[] {
  return events
    ? EVENT_ACTIONS.filter((action) => hasEvent(ACTIONS[action], events))
    : EVENT_ACTIONS
}

/** Whether an endpoint receives messages of a type. It receives each test. */
export function isSelected(events: readonly string[] | undefined, type: WebhookEventType): boolean {
  return events === undefined || type === 'webhook.test' || events.includes(type)
}

function hasEvent(row: Row, events: readonly string[]): boolean {
  const types = [...('event' in row ? [row.event] : []), ...('refunds' in row ? [row.refunds] : [])]
  return types.some((type) => isSelected(events, type))
}

/** The event of an audit entry; undefined for an action that causes none. */
export function eventOf({ action }: Pick<AuditEntry, 'action'>): EventRow | undefined {
  const row: Row | undefined = ACTIONS[action]
  return row && 'event' in row ? row : undefined
}

/** Whether an endpoint receives the event that an audit entry causes. */
export function receives(
  endpoint: {
    readonly endpoint_id: string
    readonly project_id: string
    readonly store_id: string
    readonly events?: readonly string[]
  },
  entry: AuditEntry,
): boolean {
  const { endpoint_id, project_id, store_id, events } = endpoint
  if (entry.project_id !== project_id) return false
  if (entry.action === 'webhooks.test') return entry.subject === endpoint_id
  const row = eventOf(entry)
  if (!row || (events && !hasEvent(row, events))) return false
  return store_id === '' || entry.store_id === store_id
}
