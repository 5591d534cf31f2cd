import type { Account } from '../domain/account.ts'
import type { ListQuery } from '../domain/query.ts'
import type { WebhookDelivery, WebhookDeliveryState, WebhookEndpoint } from '../domain/webhook.ts'
import type { CallOptions } from './audit.ts'

export interface Webhooks {
  /** One page of the account's endpoints, in order of their ids. */
  list(account: Account, query?: WebhookQuery): Promise<WebhookPage>
  /** Iterates over all endpoints, and reads them page by page. */
  all(account: Account, query?: Pick<WebhookQuery, 'project_id'>): AsyncIterable<WebhookEndpoint>
  /** Throws `webhook_not_found`, also for an endpoint of another account. */
  get(account: Account, endpoint_id: string): Promise<WebhookEndpoint>
  /** One page of the messages of an endpoint, newest first. The log keeps 30 days. */
  log(account: Account, query: WebhookLogQuery): Promise<WebhookLogPage>
  /** Sends `webhook.test` to an endpoint. */
  test(account: Account, endpoint_id: string, options?: CallOptions): Promise<WebhookEndpoint>
  /**
   * Sends all events again, from a number or a time on, that are still in the audit log. An event
   * may arrive although it is older.
   */
  replay(account: Account, request: WebhookReplay, options?: CallOptions): Promise<WebhookEndpoint>
  /** Stops deliveries. `resume` continues them where they stopped. */
  pause(account: Account, endpoint_id: string, options?: CallOptions): Promise<WebhookEndpoint>
  /** Continues after `pause`, and after an endpoint was disabled. All waiting messages are due. */
  resume(account: Account, endpoint_id: string, options?: CallOptions): Promise<WebhookEndpoint>
  /**
   * Activates the URL that a session set. With `url`, throws `invalid_request` when the unconfirmed
   * URL is another one meanwhile.
   */
  confirm(
    account: Account,
    endpoint_id: string,
    options?: CallOptions & { readonly url?: string | undefined },
  ): Promise<WebhookEndpoint>
}

export interface WebhookQuery extends ListQuery {
  /** If given, lists only the endpoints of this project and its stores. */
  readonly project_id?: string | undefined
}

export interface WebhookPage {
  readonly endpoints: readonly WebhookEndpoint[]
  /** The `cursor` of the next page; missing on the last page. */
  readonly next?: string
}

export interface WebhookLogQuery extends ListQuery {
  readonly endpoint_id: string
  /** If given, lists only the messages in this state. */
  readonly state?: WebhookDeliveryState | undefined
}

export interface WebhookLogPage {
  readonly deliveries: readonly WebhookDelivery[]
  /** The `cursor` of the next page; missing on the last page. */
  readonly next?: string
}

/** Give one of `from` and `since`. */
export interface WebhookReplay {
  readonly endpoint_id: string
  /** The `sequence` of the first event. */
  readonly from?: number | undefined
  /** Events from this time on: ISO 8601 with a zone, or a date, which means midnight UTC. */
  readonly since?: string | undefined
}
