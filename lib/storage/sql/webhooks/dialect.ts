import { AUDIT, ENDPOINTS, MESSAGES } from '../tables.ts'

/** The SQL of webhooks that differs. `a` is an audit entry, `e` an endpoint. */
export interface WebhookDialect {
  /** The database's clock in Unix milliseconds. */
  readonly clock: string
  /** Whether an endpoint reads an entry. It reads at least those of its project. */
  readonly isExamined: string
  /** Whether an entry comes after the endpoint's position. */
  readonly isAfter: string
  /** Whether no open transaction can still insert an entry that comes before this one. */
  readonly isSettled: string
  /** The order in which entries are read. */
  readonly order: string
  /**
   * The entries `a` after the position of an endpoint `e`, in order. The parameters are the id of
   * the endpoint and the maximum number of entries.
   */
  unread(condition: string): string
  /** The position of an endpoint, as a text to compare. */
  readonly position: string
  /**
   * Sets the transaction id of a position to that of entry `a`. Only PostgreSQL positions have a
   * transaction id.
   */
  readonly setXid: string
  /**
   * Whether the endpoint's current position is directly before entry `a`, or further on. Moving it
   * back to directly before `a` then skips no entry.
   */
  readonly isBack: string
  /** Clears the columns that only a position from `setNewest` uses. */
  readonly setBack: string
  /** Moves the position of an endpoint to after the newest committed entry. */
  readonly setNewest: string
}

/** Whether an entry is unread by an endpoint. */
export const isUnread = ({ isExamined, isAfter }: WebhookDialect) => `${isExamined} AND ${isAfter}`

// The SQL that several webhook methods share. `m` is a message.
/** Whether an entry that an endpoint reads is about its project, and about its store if it has one. */
export const IS_OWN = "a.project_id = e.project_id AND e.store_id IN ('', a.store_id)"
export const ENDPOINT_COLUMNS = ENDPOINTS.names.map((name) => `e.${name}`).join(', ')
export const MESSAGE_COLUMNS = MESSAGES.names.map((name) => `m.${name}`).join(', ')
export const ENTRY_COLUMNS = ['seq', ...AUDIT.names].map((name) => `a.${name}`).join(', ')
export const IS_WAITING = "m.state = 'waiting'"
export const FIND_ENDPOINT = `
  SELECT ${ENDPOINT_COLUMNS} FROM webhook_endpoints e WHERE e.endpoint_id = ?`
export const COUNT_WAITING = `
  (SELECT count(*) FROM (SELECT 1 FROM webhook_messages m
    WHERE m.endpoint_id = e.endpoint_id AND ${IS_WAITING} LIMIT ?) w)`
