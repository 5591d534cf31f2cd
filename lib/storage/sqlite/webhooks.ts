import { maybe } from '../columns.ts'
import type { WebhookMethods } from '../port.ts'
import type { Program } from '../webhooks.ts'
import { recordWrite } from './audit.ts'
import { verifyAuthority } from './authority.ts'
import type { Connection } from './connection.ts'
import { programs } from './endpoints.ts'
import { listRefunds } from './refunds.ts'
import { execute } from './sql.ts'

export function webhookMethods(db: Connection): WebhookMethods {
  const read = async <T>(program: Program<T>) => execute(db, program)
  // Does not fsync: a later commit makes the state durable. If it is lost, messages are sent again.
  const write = <T>(program: Program<T>) => db.lazyTransaction(() => execute(db, program))
  return {
    findEndpoint: (id) => read(programs.findEndpoint(id)),
    listEndpoints: (owner, page) => read(programs.listEndpoints(owner, page)),
    updateEndpoint(id, change, move, options = {}) {
      return db.write(() => {
        verifyAuthority(db, options.authority)
        const changed = execute(db, programs.updateEndpoint(id, change, move))
        if (changed) recordWrite(db, options)
        return changed
      })
    },
    measureLag: (id, actions, most) => read(programs.measureLag(id, actions, most)),
    countUnconfirmed: () => read(programs.countUnconfirmed()),
    findReady: (request) => read(programs.findReady(request)),
    leaseEndpoints: (request) => write(programs.leaseEndpoints(request)),
    listUnread: (id, limit) => read(programs.listUnread(id, limit)),
    takeMessages: (request) => write(programs.takeMessages(request)),
    settleMessages: (holder, keys, lease, settle) =>
      write(programs.settleMessages(holder, keys, lease, settle)),
    releaseEndpoints: (holder, now) => write(programs.releaseEndpoints(holder, now)),
    findNextDue: (now) => read(programs.findNextDue(now)),
    listMessages: (id, state, page) => read(programs.listMessages(id, state, page)),
    findMessage: (key) => read(programs.findMessage(key)),
    pruneMessages: (id, before, keep) => write(programs.pruneMessages(id, before, keep)),
    clearAnswers(project_id, options = {}) {
      return db.write(() => {
        verifyAuthority(db, options.authority)
        execute(db, programs.clearAnswers(project_id))
        recordWrite(db, options)
      })
    },
    findEntries: (sequences) => read(programs.findEntries(sequences)),
    findSequence: (project_id, since) => read(programs.findSequence(project_id, since)),
    async listRefunds(import_id, page) {
      return listRefunds(db, import_id, page)
    },
    async findPurchaseUser({ account_id, store_id }, transaction_id) {
      const row = db.find(FIND_USER, account_id, store_id, transaction_id)
      return maybe(({ user_id }) => (user_id ?? undefined) as string | undefined, row)
    },
  }
}

const FIND_USER = `
  SELECT p.user_id FROM transactions t JOIN stores s ON s.seq = t.store
  JOIN purchases p ON p.seq = t.purchase
  WHERE s.account_id = ? AND s.store_id = ? AND t.transaction_id = ?`
