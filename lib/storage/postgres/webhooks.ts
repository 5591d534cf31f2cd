import type { WebhookMethods } from '../port.ts'
import { EXAMINED_REFUNDS, IS_REFUND, refundOf, refundPage } from '../refunds.ts'
import type { Program } from '../webhooks.ts'
import { recordWrite } from './audit.ts'
import { verifyAuthority } from './authority.ts'
import type { Database } from './connection.ts'
import { programs } from './endpoints.ts'
import { execute } from './sql.ts'

export function webhookMethods(db: Database): WebhookMethods {
  const read = <T>(program: Program<T>) => execute(db, program)
  const write = <T>(program: () => Program<T>) => db.transaction((tx) => execute(tx, program()))
  return {
    findEndpoint: (id) => read(programs.findEndpoint(id)),
    listEndpoints: (owner, page) => read(programs.listEndpoints(owner, page)),
    updateEndpoint(id, change, move, options = {}) {
      return db.transaction(async (tx) => {
        await verifyAuthority(tx, options.authority)
        const changed = await execute(tx, programs.updateEndpoint(id, change, move))
        if (changed) await recordWrite(tx, options)
        return changed
      })
    },
    measureLag: (id, actions, most) => read(programs.measureLag(id, actions, most)),
    countUnconfirmed: () => read(programs.countUnconfirmed()),
    findReady: (request) => read(programs.findReady(request)),
    leaseEndpoints: (request) => write(() => programs.leaseEndpoints(request)),
    listUnread: (id, limit) => read(programs.listUnread(id, limit)),
    takeMessages: (request) => write(() => programs.takeMessages(request)),
    settleMessages: (holder, keys, lease, settle) =>
      write(() => programs.settleMessages(holder, keys, lease, settle)),
    releaseEndpoints: (holder, now) => write(() => programs.releaseEndpoints(holder, now)),
    findNextDue: (now) => read(programs.findNextDue(now)),
    listMessages: (id, state, page) => read(programs.listMessages(id, state, page)),
    findMessage: (key) => read(programs.findMessage(key)),
    pruneMessages: (id, before, keep) => write(() => programs.pruneMessages(id, before, keep)),
    clearAnswers(project_id, options = {}) {
      return db.transaction(async (tx) => {
        await verifyAuthority(tx, options.authority)
        await execute(tx, programs.clearAnswers(project_id))
        await recordWrite(tx, options)
      })
    },
    findEntries: (sequences) => read(programs.findEntries(sequences)),
    findSequence: (project_id, since) => read(programs.findSequence(project_id, since)),
    async listRefunds(import_id, page) {
      const { after = '0', limit } = page
      const rows = await db.all(LIST_REFUNDS, import_id, after, limit + 1)
      const last = await db.find(LAST_EXAMINED, import_id, after)
      return refundPage(rows.map(refundOf), page, last && String(last.purchase))
    },
    async findPurchaseUser({ account_id, store_id }, transaction_id) {
      const row = await db.find(FIND_USER, account_id, store_id, transaction_id)
      return (row?.user_id ?? undefined) as string | undefined
    },
  }
}

const CHANGES = `
  SELECT store, purchase, after FROM status_changes
  WHERE import = (SELECT seq FROM imports WHERE import_id = ? AND undone_at IS NULL)
    AND purchase > CAST(? AS bigint)
  ORDER BY purchase LIMIT ${EXAMINED_REFUNDS}`

const LIST_REFUNDS = `
  SELECT c.purchase, p.transaction_id, p.user_id, t.name AS sku, c.after AS status
  FROM (${CHANGES}) c JOIN purchases p ON p.store = c.store AND p.seq = c.purchase
  JOIN items t ON t.seq = p.item
  WHERE c.${IS_REFUND} ORDER BY c.purchase LIMIT ?`

const LAST_EXAMINED = `
  SELECT purchase FROM (${CHANGES}) c ORDER BY purchase LIMIT 1 OFFSET ${EXAMINED_REFUNDS - 1}`

const FIND_USER = `
  SELECT p.user_id FROM stores s JOIN purchases p ON p.store = s.seq
  WHERE s.account_id = ? AND s.store_id = ? AND p.transaction_id = ?`
