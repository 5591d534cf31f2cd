import type { Account } from '../../domain/account.ts'
import type { AuditAction } from '../../domain/audit.ts'
import {
  activated,
  isShown,
  type StoredEndpoint,
  stopEndpoint,
  withConfig,
} from '../../domain/endpoint.ts'
import { actionsOf } from '../../domain/event.ts'
import { invalidField, parseObject } from '../../domain/fields.ts'
import { formatInstant } from '../../domain/instant.ts'
import { messageNotFound, type StoredMessage } from '../../domain/message.ts'
import { type ListPage, pageFor } from '../../domain/query.ts'
import {
  confirmationFields,
  deliveryFields,
  deliveryListFields,
  parseReplay,
  type WebhookChange,
  type WebhookConfirmation,
  type WebhookDelivery,
  type WebhookDeliveryKey,
  type WebhookEndpoint,
  type WebhookLogQuery,
  type WebhookQuery,
  type WebhookReplay,
  type WebhookRequest,
  webhookChangeFields,
  webhookListFields,
} from '../../domain/webhook.ts'
import { isPrivateUrl, showWebhookUrl } from '../../domain/webhook-settings.ts'
import { TillError } from '../../errors.ts'
import { type EndpointMove, listAll } from '../../storage/port.ts'
import { Turns } from '../../turns.ts'
import { assertAccount, verified } from '../access.ts'
import { auditedWrite, type CallOptions } from '../audit.ts'
import type { Context } from '../context.ts'
import { sameSecret, signerOf } from './endpoints.ts'
import { bodyOf, headersOf, parseWebhookId } from './events.ts'

export interface Webhooks {
  /** One page of the account's endpoints, in order of their ids. */
  list(account: Account, query?: WebhookQuery): Promise<WebhookPage>
  /** Iterates over all endpoints, and reads them page by page. */
  all(account: Account, query?: Pick<WebhookQuery, 'project_id'>): AsyncIterable<WebhookEndpoint>
  /** Finds an endpoint. Throws `webhook_not_found`, also for one of another account. */
  get(account: Account, endpoint_id: string): Promise<WebhookEndpoint>
  /** One page of an endpoint's log, newest first. It keeps 30 days and at most 10,000 messages. */
  log(account: Account, query: WebhookLogQuery): Promise<WebhookLogPage>
  /**
   * The request of a message in the log, as an attempt would send it now. Its records are current:
   * an erased user does not appear. Throws `webhook_not_found` if the log has no such message.
   */
  getRequest(account: Account, delivery: WebhookDeliveryKey): Promise<WebhookRequest>
  /** Sends the event `webhook.test` to an endpoint. */
  test(account: Account, endpoint_id: string, options?: CallOptions): Promise<WebhookEndpoint>
  /**
   * Sends all events again from `from` or `since` on, except archived ones. May also repeat some
   * events from before that.
   */
  replay(account: Account, request: WebhookReplay, options?: CallOptions): Promise<WebhookEndpoint>
  /**
   * Sends one message of the log again, with all its retries, also a delivered one. An attempt that
   * is under way counts as its first. Throws `webhook_not_found` if the log has no such message, and
   * `invalid_request` if the data of its event is gone: its audit entry was archived, for example.
   */
  resend(
    account: Account,
    delivery: WebhookDeliveryKey,
    options?: CallOptions,
  ): Promise<WebhookEndpoint>
  /** Stops the deliveries of an endpoint. `resume` continues them. */
  pause(account: Account, endpoint_id: string, options?: CallOptions): Promise<WebhookEndpoint>
  /**
   * Continues the deliveries of a paused or disabled endpoint. All its waiting messages are due at
   * once. Each is retried for as long as a new message.
   */
  resume(account: Account, endpoint_id: string, options?: CallOptions): Promise<WebhookEndpoint>
  /** Changes which events an endpoint receives. `events: null` selects all. A test is always sent. */
  update(account: Account, change: WebhookChange, options?: CallOptions): Promise<WebhookEndpoint>
  /**
   * Activates the URL and the secret that a session set. Throws `invalid_request` if `url` is given
   * and differs from the unconfirmed URL. Does the same if `unconfirmed_at` is given and a session
   * has changed the URL or the secret since.
   */
  confirm(
    account: Account,
    seen: WebhookConfirmation,
    options?: CallOptions,
  ): Promise<WebhookEndpoint>
}

export interface WebhookPage extends ListPage {
  readonly endpoints: readonly WebhookEndpoint[]
}

export interface WebhookLogPage extends ListPage {
  readonly deliveries: readonly WebhookDelivery[]
}

export function createWebhooks(context: Context): Webhooks {
  const { storage, now } = context
  /** A lag takes up to 20 ms, and SQLite counts it synchronously. */
  const lagTurns = new Turns({ most: 1 })

  const getEndpoint = async (account: Account, endpoint_id: string): Promise<StoredEndpoint> => {
    assertAccount(account, 'admin')
    const isText = typeof endpoint_id === 'string' && endpoint_id.length <= 255
    const endpoint = isText ? await storage.findEndpoint(endpoint_id) : undefined
    if (endpoint?.account_id === account.account_id && isShown(endpoint)) return endpoint
    throw notFound()
  }

  const getMessage = async ({ endpoint_id, webhook_id }: WebhookDeliveryKey) => {
    const place = parseWebhookId(webhook_id)
    const message = place && (await storage.findMessage({ endpoint_id, ...place }))
    if (message?.webhook_id === webhook_id) return message
    throw messageNotFound()
  }

  /** The body of a message; undefined if there is nothing to report any more. */
  const findBody = async (message: StoredMessage): Promise<string | undefined> => {
    const [entry] = await storage.findEntries([message.sequence])
    return entry && bodyOf(storage, entry, message)
  }

  const show = async (endpoint: StoredEndpoint): Promise<WebhookEndpoint> => {
    const { endpoint_id, project_id, store_id, url, state, reason } = endpoint
    const { unconfirmed, failing_since, last_failure, events } = endpoint
    const { count, cursor, at } = await lagTurns.run(endpoint.account_id, () =>
      storage.measureLag(endpoint_id, actionsOf(events)),
    )
    const age = at === undefined ? 0 : Math.floor((now() - Date.parse(at)) / 1000)
    return {
      endpoint_id,
      project_id,
      store_id,
      url: showWebhookUrl(url),
      state,
      ...(reason && { reason }),
      ...(unconfirmed && {
        unconfirmed_url: showWebhookUrl(unconfirmed.url),
        unconfirmed_is_signed: unconfirmed.secret !== undefined,
        ...(unconfirmed.set_at && { unconfirmed_at: formatInstant(unconfirmed.set_at) }),
      }),
      is_signed: (await signerOf(storage, endpoint)).secrets.length > 0,
      ...(isPrivateUrl(url) && { is_private: true as const }),
      ...(events && { events }),
      cursor,
      lag: count,
      lag_seconds: Math.max(0, age),
      ...(failing_since !== undefined && { failing_since: formatInstant(failing_since) }),
      ...(last_failure && { last_failure }),
    }
  }

  const update = async (
    account: Account,
    endpoint_id: string,
    action: AuditAction,
    change: (current: StoredEndpoint) => StoredEndpoint,
    move: EndpointMove,
    options: CallOptions | undefined,
  ): Promise<WebhookEndpoint> => {
    const { project_id, store_id } = await getEndpoint(account, endpoint_id)
    const about = { subject: endpoint_id, project_id, store_id }
    const write = auditedWrite(context, account, action, about, options)
    const changed = await storage.updateEndpoint(endpoint_id, change, move, write)
    if (!changed) throw notFound()
    return show(changed)
  }

  const webhooks: Webhooks = {
    async list(account, query = {}) {
      assertAccount(account, 'admin')
      const { account_id } = account
      const { project_id, limit, cursor } = parseObject(query, webhookListFields)
      const page = pageFor({ limit, cursor })
      const { records, ...next } = await storage.listEndpoints({ account_id, project_id }, page)
      return { endpoints: await Promise.all(records.map(show)), ...next }
    },

    all: (account, query) =>
      listAll(
        verified(context, account, 'admin', (page) =>
          webhooks.list(account, { ...query, ...page }),
        ),
        'endpoints',
      ),

    async get(account, endpoint_id) {
      return show(await getEndpoint(account, endpoint_id))
    },

    async log(account, query) {
      assertAccount(account, 'admin')
      const { endpoint_id, state, limit, cursor } = parseObject(query, deliveryListFields)
      const { due_at } = await getEndpoint(account, endpoint_id)
      const page = pageFor({ limit, cursor })
      const { records, ...next } = await storage.listMessages(endpoint_id, state, page)
      return { deliveries: records.map((each) => delivery(each, due_at)), ...next }
    },

    async getRequest(account, key) {
      assertAccount(account, 'admin')
      const { endpoint_id, webhook_id } = parseObject(key, deliveryFields)
      const { url } = await getEndpoint(account, endpoint_id)
      const message = await getMessage({ endpoint_id, webhook_id })
      const body = await findBody(message)
      const headers = headersOf(webhook_id, Math.floor(now() / 1000))
      const request = { endpoint_id, webhook_id, url: showWebhookUrl(url), headers }
      return { ...request, ...(body !== undefined && { body }) }
    },

    async test(account, endpoint_id, options) {
      const endpoint = await getEndpoint(account, endpoint_id)
      const { project_id, store_id } = endpoint
      const about = { subject: endpoint_id, project_id, store_id }
      await storage.insertAudit(auditedWrite(context, account, 'webhooks.test', about, options))
      return show(endpoint)
    },

    async replay(account, request, options) {
      assertAccount(account, 'admin')
      const { endpoint_id, from, since } = parseReplay(request)
      await getEndpoint(account, endpoint_id)
      const found = from ?? (await storage.findSequence(endpoint_id, formatInstant(since ?? 0)))
      const move = found === undefined ? {} : { to: found }
      return update(account, endpoint_id, 'webhooks.replay', (same) => same, move, options)
    },

    async resend(account, key, options) {
      assertAccount(account, 'admin')
      const { endpoint_id, webhook_id } = parseObject(key, deliveryFields)
      await getEndpoint(account, endpoint_id)
      const message = await getMessage({ endpoint_id, webhook_id })
      const isGone = (await findBody(message)) === undefined
      if (isGone) throw invalidField('webhook_id', 'gone', 'is of an event whose data is gone')
      const { sequence, part } = message
      const move = { resend: { sequence, part, created_at: now() } }
      return update(account, endpoint_id, 'webhooks.resend', confirmed, move, options)
    },

    async pause(account, endpoint_id, options) {
      const stop = (current: StoredEndpoint) => stopEndpoint(confirmed(current), now())
      return update(account, endpoint_id, 'webhooks.pause', stop, {}, options)
    },

    async resume(account, endpoint_id, options) {
      const activate = (current: StoredEndpoint) => activated(confirmed(current))
      const move = { retry: true, renewed_at: now() }
      return update(account, endpoint_id, 'webhooks.resume', activate, move, options)
    },

    async update(account, change, options) {
      assertAccount(account, 'admin')
      const { endpoint_id, events } = parseObject(change, webhookChangeFields)
      const select = (current: StoredEndpoint) => {
        if (events === undefined) return current
        const { events: _, ...others } = current
        return events === null ? others : { ...others, events }
      }
      return update(account, endpoint_id, 'webhooks.update', select, {}, options)
    },

    async confirm(account, seen, options) {
      assertAccount(account, 'admin')
      const { endpoint_id, url, unconfirmed_at } = parseObject(seen, confirmationFields)
      const endpoint = await getEndpoint(account, endpoint_id)
      const isSame = sameSecret(context, endpoint)
      const confirm = (current: StoredEndpoint) => {
        const { unconfirmed } = current
        if (!unconfirmed) {
          throw invalidField('endpoint_id', 'confirmed', 'has no unconfirmed URL')
        }
        if (url !== undefined && showWebhookUrl(url) !== showWebhookUrl(unconfirmed.url)) {
          throw invalidField('url', 'mismatch', 'is not the unconfirmed URL any more')
        }
        const { set_at = 0 } = unconfirmed
        if (unconfirmed_at !== undefined && unconfirmed_at !== formatInstant(set_at)) {
          const message = 'is too old: the URL or the secret was set again'
          throw invalidField('unconfirmed_at', 'mismatch', message)
        }
        return activated(withConfig(current, unconfirmed, now(), isSame))
      }
      const move: EndpointMove = endpoint.url === '' ? { to: 'newest' } : { retry: true }
      return update(account, endpoint_id, 'webhooks.confirm', confirm, move, options)
    },
  }
  return webhooks
}

function notFound(): TillError {
  return new TillError('webhook_not_found', 'No webhook endpoint has this id')
}

function confirmed(endpoint: StoredEndpoint): StoredEndpoint {
  if (endpoint.url !== '') return endpoint
  throw invalidField('endpoint_id', 'unconfirmed', 'has no confirmed URL')
}

/**
 * Converts a stored message. It is not due before `due_at`, the due time of its endpoint. A resend
 * and a resume set `created_at`, and make it due at once.
 */
function delivery(message: StoredMessage, due_at: number): WebhookDelivery {
  const { endpoint_id, webhook_id, sequence, type, state, attempts, at } = message
  const { created_at, status, error, answer, duration_ms } = message
  const next_at = Math.max(message.next_at, due_at, created_at)
  return {
    endpoint_id,
    webhook_id,
    sequence,
    type,
    state,
    attempts,
    ...(at !== undefined && { at: formatInstant(at) }),
    ...(state === 'waiting' && { next_at: formatInstant(next_at) }),
    ...(status !== undefined && { status }),
    ...(error !== undefined && { error }),
    ...(answer !== undefined && { answer }),
    ...(duration_ms !== undefined && { duration_ms }),
  }
}
