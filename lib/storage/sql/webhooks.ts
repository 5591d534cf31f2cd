import { numberOf } from '../columns.ts'
import type { Page, RecordPage, Refund, StoreKey, WebhookMethods } from '../port.ts'
import { EXAMINED_REFUNDS, IS_REFUND, refundOf, refundPage } from '../refunds.ts'
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

export function webhookMethods(sql: Sql): WebhookMethods {
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
    return refundPage(rows.map(refundOf), page, last && String(last.purchase))
  }

  function* findPurchaseUser({ account_id, store_id }: StoreKey, transaction_id: string) {
    const row = yield* find(findUser, transaction_id, account_id, store_id)
    return (row?.user_id ?? undefined) as string | undefined
  }

  return {
    findEndpoint: (id) => read(findRecord(ENDPOINTS.read, FIND_ENDPOINT, id)),
    listEndpoints: (owner, page) => read(listEndpoints(owner, page)),
    updateEndpoint: (id, change, move = {}, options = {}) =>
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
    measureLag: (id, actions, most) => read(measureLag(sql, id, actions, most)),
    countUnconfirmed: async () => numberOf((await read(find(COUNT_UNCONFIRMED)))?.n),
    findReady: (request) => read(findReady(request)),
    leaseEndpoints: (request) => writeLazily(() => deliveries.leaseEndpoints(request)),
    listUnread: (id, limit) => read(deliveries.listUnread(id, limit)),
    takeMessages: (request) => writeLazily(() => deliveries.takeMessages(request)),
    settleMessages: (holder, keys, lease, settle) =>
      writeLazily(() => deliveries.settleMessages(holder, keys, lease, settle)),
    releaseEndpoints: (holder, now) => writeLazily(() => deliveries.releaseEndpoints(holder, now)),
    findNextDue: (now) => read(deliveries.findNextDue(now)),
    listMessages: (id, state, page) => read(listMessages(id, state, page)),
    findMessage: (key) => read(findMessage(key)),
    pruneMessages: (id, before, keep) => writeLazily(() => pruneMessages(id, before, keep)),
    clearAnswers: (project_id, options = {}) =>
      write(function* () {
        yield* verifyAuthority(sql, options.authority)
        yield* clearAnswers(project_id)
        yield* recordWrite(sql, options)
      }),
    findEntries: (sequences) => read(findEntries(sql, sequences)),
    findSequence: (project_id, since) => read(findSequence(project_id, since)),
    listRefunds: (import_id, page) => read(listRefunds(import_id, page)),
    findPurchaseUser: (store, transaction_id) => read(findPurchaseUser(store, transaction_id)),
  }
}

const COUNT_UNCONFIRMED =
  'SELECT count(*) AS n FROM webhook_endpoints WHERE unconfirmed IS NOT NULL'
