import type { Page, RecordPage, Refund, StoreKey, WebhookMethods } from '../port.ts'
import { EXAMINED_REFUNDS, IS_REFUND, refundOf, refundPage } from '../refunds.ts'
import { type WebhookDialect, webhookPrograms } from '../webhooks.ts'
import { verifyAuthority } from './authority.ts'
import type { Sql } from './dialect.ts'
import { all, find, type Program } from './program.ts'
import { recordWrite } from './write.ts'

export function webhookMethods(sql: Sql, dialect: WebhookDialect): WebhookMethods {
  const programs = webhookPrograms(dialect)
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
    findEndpoint: (id) => read(programs.findEndpoint(id)),
    listEndpoints: (owner, page) => read(programs.listEndpoints(owner, page)),
    updateEndpoint: (id, change, move, options = {}) =>
      write(function* () {
        yield* verifyAuthority(sql, options.authority)
        const changed = yield* programs.updateEndpoint(id, change, move)
        if (changed) yield* recordWrite(sql, options)
        return changed
      }),
    measureLag: (id, actions, most) => read(programs.measureLag(id, actions, most)),
    countUnconfirmed: () => read(programs.countUnconfirmed()),
    findReady: (request) => read(programs.findReady(request)),
    leaseEndpoints: (request) => writeLazily(() => programs.leaseEndpoints(request)),
    listUnread: (id, limit) => read(programs.listUnread(id, limit)),
    takeMessages: (request) => writeLazily(() => programs.takeMessages(request)),
    settleMessages: (holder, keys, lease, settle) =>
      writeLazily(() => programs.settleMessages(holder, keys, lease, settle)),
    releaseEndpoints: (holder, now) => writeLazily(() => programs.releaseEndpoints(holder, now)),
    findNextDue: (now) => read(programs.findNextDue(now)),
    listMessages: (id, state, page) => read(programs.listMessages(id, state, page)),
    findMessage: (key) => read(programs.findMessage(key)),
    pruneMessages: (id, before, keep) =>
      writeLazily(() => programs.pruneMessages(id, before, keep)),
    clearAnswers: (project_id, options = {}) =>
      write(function* () {
        yield* verifyAuthority(sql, options.authority)
        yield* programs.clearAnswers(project_id)
        yield* recordWrite(sql, options)
      }),
    findEntries: (sequences) => read(programs.findEntries(sequences)),
    findSequence: (project_id, since) => read(programs.findSequence(project_id, since)),
    listRefunds: (import_id, page) => read(listRefunds(import_id, page)),
    findPurchaseUser: (store, transaction_id) => read(findPurchaseUser(store, transaction_id)),
  }
}
