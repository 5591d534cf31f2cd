import type { AuditAction } from '../../domain/audit.ts'
import type { StoredEndpoint } from '../../domain/endpoint.ts'
import type { MessageKey } from '../../domain/message.ts'
import type { WebhookDeliveryState } from '../../domain/webhook.ts'
import { numberOf } from '../columns.ts'
import { recordPage } from '../pages.ts'
import type {
  EndpointMove,
  EndpointsOf,
  LeaseRequest,
  Page,
  ReadyRequest,
  RecordPage,
  Refund,
  SettleMessages,
  StoreKey,
  TakeRequest,
  WriteOptions,
} from '../records.ts'
import { EXAMINED_REFUNDS, IS_REFUND, refundOf } from '../refunds.ts'
import { ENDPOINTS } from '../tables.ts'
import { verifyAuthority } from './authority.ts'
import type { Sql } from './dialect.ts'
import { findRecord } from './pages.ts'
import { all, find, type Program } from './program.ts'
import { deliveryPrograms } from './webhooks/delivery.ts'
import { FIND_ENDPOINT } from './webhooks/dialect.ts'
import { listEndpoints, measureLag, moveEndpoint, writeEndpoint } from './webhooks/endpoints.ts'
import {
  clearAnswers,
  findEntries,
  findMessage,
  findSequence,
  listMessages,
  pruneMessages,
} from './webhooks/log.ts'
import { readyProgram } from './webhooks/ready.ts'
import { recordWrite } from './write.ts'

/**
 * Webhook endpoints and their messages. Each endpoint has a position in the audit log. The entries
 * after the position are unread. Reading an entry inserts its messages and moves the position, in
 * one transaction. A crash of the machine may lose the results of the latest deliveries. The
 * messages are then sent again.
 */
export function webhookMethods(sql: Sql) {
  const findReady = readyProgram(sql)
  const deliveries = deliveryPrograms(sql)
  const { read, write } = sql
  // Does not fsync: a later commit makes the state durable. If it is lost, messages are sent again.
  const writeLazily = <T>(program: () => Program<T>) => write(program, { isLazy: true })

  const findUser = `
    SELECT p.user_id FROM stores s ${sql.joinTransaction} WHERE s.account_id = ? AND s.store_id = ?`

  function* listRefunds(import_id: string, page: Page): Program<RecordPage<Refund>> {
    const { after = '0', limit } = page
    const changes = sql.changesOfImport(import_id, after)
    const rows = yield* all(
      `SELECT c.purchase, p.transaction_id, p.user_id, t.name AS sku, c.after AS status
      FROM (${changes.sql}) c CROSS JOIN purchases p CROSS JOIN items t
      WHERE ${sql.isPurchaseOfChange} AND t.seq = p.item AND c.${IS_REFUND}
      ORDER BY c.purchase LIMIT ?`,
      ...[...changes.values, limit + 1],
    )
    const last = yield* find(
      `SELECT purchase FROM (${changes.sql}) c ORDER BY purchase
      LIMIT 1 OFFSET ${EXAMINED_REFUNDS - 1}`,
      ...changes.values,
    )
    const found = recordPage(rows, page, refundOf, ({ purchase }) => purchase)
    return { ...(last && { next: String(last.purchase) }), ...found }
  }

  function* findPurchaseUser({ account_id, store_id }: StoreKey, transaction_id: string) {
    const row = yield* find(findUser, transaction_id, account_id, store_id)
    return (row?.user_id ?? undefined) as string | undefined
  }

  return {
    findEndpoint: (id: string) => read(findRecord(ENDPOINTS.read, FIND_ENDPOINT, id)),
    /** Lists endpoints of all accounts, of one, or of one project, sorted by id. */
    listEndpoints: (owner: EndpointsOf, page: Page) => read(listEndpoints(owner, page)),
    /** Replaces an endpoint by the result of `change`. Resolves to undefined if it does not exist. */
    updateEndpoint: (
      id: string,
      change: (current: StoredEndpoint) => StoredEndpoint,
      move: EndpointMove = {},
      options: WriteOptions = {},
    ) =>
      write(function* () {
        yield* verifyAuthority(sql, options.authority)
        const current = yield* findRecord(ENDPOINTS.read, FIND_ENDPOINT + sql.forUpdate, id)
        if (!current) return undefined
        const changed = change(current)
        yield* writeEndpoint(changed)
        yield* moveEndpoint(sql, id, move)
        yield* recordWrite(sql, options)
        return changed
      }),
    /**
     * Counts the unread audit entries with one of the `actions`, and the waiting messages. Examines
     * at most `most` of each; default 10,000.
     */
    measureLag: (id: string, actions: readonly AuditAction[], most?: number) =>
      read(measureLag(sql, id, actions, most)),
    /** Counts the endpoints with a URL that the account has not confirmed yet. */
    countUnconfirmed: async () => numberOf((await read(find(COUNT_UNCONFIRMED)))?.n),
    /**
     * Finds active endpoints with due messages or unread entries, except those that another holder
     * has leased. Examines up to 100 endpoints of each of up to 100 accounts, in the order of their
     * ids.
     */
    findReady: (request: ReadyRequest) => read(findReady(request)),
    /**
     * Leases the given endpoints to the holder, except inactive ones and those that another holder
     * has leased. The storage's own clock decides when a lease ends.
     */
    leaseEndpoints: (request: LeaseRequest) =>
      writeLazily(() => deliveries.leaseEndpoints(request)),
    /**
     * Lists the first unread entries of the endpoint's project. Leaves out an entry if an open
     * transaction could still insert another one before it.
     */
    listUnread: (id: string, limit: number) => read(deliveries.listUnread(id, limit)),
    /**
     * Inserts the new messages. Assigns due messages to the holder, and hides them from other holders
     * until `hidden_until`.
     */
    takeMessages: (request: TakeRequest) => writeLazily(() => deliveries.takeMessages(request)),
    /**
     * For each endpoint of `keys`, calls `settle` with the endpoint and with those of its messages
     * that are in `keys` and assigned to the holder. Stores the results. Ignores messages of other
     * holders. Renews the leases of the endpoints for `lease` milliseconds.
     */
    settleMessages: (
      holder: string,
      keys: readonly MessageKey[],
      lease: number,
      settle: SettleMessages,
    ) => writeLazily(() => deliveries.settleMessages(holder, keys, lease, settle)),
    /** Ends the leases of a holder. The messages that are assigned to it become due at `now`. */
    releaseEndpoints: (holder: string, now: number) =>
      writeLazily(() => deliveries.releaseEndpoints(holder, now)),
    /** The earliest time after `now` at which a message is due. */
    findNextDue: (now: number) => read(deliveries.findNextDue(now)),
    /** Lists the messages of an endpoint, newest first. */
    listMessages: (id: string, state: WebhookDeliveryState | undefined, page: Page) =>
      read(listMessages(id, state, page)),
    findMessage: (key: MessageKey) => read(findMessage(key)),
    /**
     * Deletes the delivered and failed messages of an endpoint that are older than `before`, or not
     * among its newest `keep` ones.
     */
    pruneMessages: (id: string, before: number, keep: number) =>
      writeLazily(() => pruneMessages(id, before, keep)),
    /** Deletes the bodies of HTTP responses from the delivery logs of a project. */
    clearAnswers: (project_id: string, options: WriteOptions = {}) =>
      write(function* () {
        yield* verifyAuthority(sql, options.authority)
        yield* clearAnswers(project_id)
        yield* recordWrite(sql, options)
      }),
    findEntries: (sequences: readonly number[]) => read(findEntries(sql, sequences)),
    /** Finds the `seq` of the project's first audit entry at or after `since`; ISO 8601, UTC. */
    findSequence: (project_id: string, since: string) => read(findSequence(project_id, since)),
    /**
     * Lists the purchases whose status an import changed to refunded or cancelled, in a fixed order.
     * A page examines at most 5,000 status changes, and may be empty although `next` is set. After an
     * undo of the import, the list is empty.
     */
    listRefunds: (import_id: string, page: Page) => read(listRefunds(import_id, page)),
    /**
     * Finds the user of a stored purchase. Undefined for an unknown purchase, and for one without a
     * user.
     */
    findPurchaseUser: (store: StoreKey, transaction_id: string) =>
      read(findPurchaseUser(store, transaction_id)),
  }
}

const COUNT_UNCONFIRMED =
  'SELECT count(*) AS n FROM webhook_endpoints WHERE unconfirmed IS NOT NULL'
