import type { NumberedEntry } from '../../domain/audit.ts'
import type { StoredMessage } from '../../domain/message.ts'
import type { Page, ReadyRequest, RecordPage, Refund, WebhookMethods } from '../port.ts'
import { EXAMINED_REFUNDS, isRefundStatus, refundPage } from '../refunds.ts'
import { type KeptEndpoint, keyOf, moveEndpoint } from './endpoints.ts'
import { sortedPageOf } from './pages.ts'
import { type State, storeKey } from './state.ts'

const LAG = 10_000

export function webhookMethods(state: State): WebhookMethods {
  const { endpoints } = state
  const messagesOf = (id: string) =>
    [...state.messages.values()].filter((each) => each.endpoint_id === id)
  const waitingOf = (id: string) => messagesOf(id).filter((each) => each.state === 'waiting')
  const isDue = (now: number) => (message: StoredMessage) => message.next_at <= now
  const unreadOf = ({ endpoint, position }: KeptEndpoint) =>
    state.audit.filter(
      ({ seq, project_id }) => seq > position && project_id === endpoint.project_id,
    )
  const isFree = (
    { endpoint, ...kept }: KeptEndpoint,
    { holder, now }: Pick<ReadyRequest, 'holder' | 'now'>,
  ) =>
    endpoint.state === 'active' &&
    endpoint.due_at <= now &&
    (kept.holder === holder || kept.leaseUntil <= Date.now())
  const hasWork = (kept: KeptEndpoint, { now, most }: Pick<ReadyRequest, 'now' | 'most'>) => {
    const { endpoint_id, store_id } = kept.endpoint
    const waiting = waitingOf(endpoint_id)
    const isOwn = (entry: NumberedEntry) => store_id === '' || entry.store_id === store_id
    return waiting.some(isDue(now)) || (waiting.length < most && unreadOf(kept).some(isOwn))
  }
  const keep = (message: StoredMessage) => state.messages.set(keyOf(message), message)

  return {
    async findEndpoint(id) {
      return structuredClone(endpoints.get(id)?.endpoint)
    },
    async listEndpoints({ account_id, project_id }, page) {
      const all = Array.from(endpoints.values(), ({ endpoint }) => endpoint)
      const found = all.filter(
        (each) =>
          (account_id ?? each.account_id) === each.account_id &&
          (project_id ?? each.project_id) === each.project_id,
      )
      return sortedPageOf(found, page, ({ endpoint_id }) => endpoint_id)
    },
    async updateEndpoint(id, change, move = {}, write = {}) {
      state.verify(write.authority)
      const kept = endpoints.get(id)
      if (!kept) return undefined
      kept.endpoint = structuredClone(change(structuredClone(kept.endpoint)))
      moveEndpoint(state, kept, move)
      state.recordWrite(write)
      return structuredClone(kept.endpoint)
    },
    async countUnconfirmed() {
      const all = [...endpoints.values()]
      return all.filter(({ endpoint }) => endpoint.unconfirmed !== undefined).length
    },
    async measureLag(id, actions, most = LAG) {
      const kept = endpoints.get(id)
      const { store_id = '' } = kept?.endpoint ?? {}
      const isReceived = ({ action, subject, ...entry }: NumberedEntry) =>
        (store_id === '' || entry.store_id === store_id) &&
        actions.includes(action) &&
        (action !== 'webhooks.test' || subject === id)
      const unread = kept ? unreadOf(kept).filter(isReceived) : []
      const numbers = [
        ...waitingOf(id).map(({ sequence }) => sequence),
        ...unread.map(({ seq }) => seq),
      ]
      if (numbers.length === 0) return { count: 0, examined: 0, cursor: state.lastSeq + 1 }
      const cursor = Math.min(...numbers)
      const at = state.audit.find(({ seq }) => seq === cursor)?.at
      const count = Math.min(numbers.length, most)
      return { count, examined: count, cursor, ...(at !== undefined && { at }) }
    },
    async findReady({ after, examined, exceptAccounts, except, ...request }) {
      const active = [...endpoints.values()]
        .filter(({ endpoint: { account_id, endpoint_id, state } }) => {
          if (state !== 'active' || account_id <= after) return false
          return endpoint_id > (examined.get(account_id) ?? '')
        })
        .sort((a, b) => (a.endpoint.endpoint_id < b.endpoint.endpoint_id ? -1 : 1))
      const ids = [...new Set(active.map(({ endpoint }) => endpoint.account_id))].sort()
      const wanted = ids.filter((account_id) => !exceptAccounts.includes(account_id))
      const accounts = wanted.map((account_id) => {
        const own = active.filter(({ endpoint }) => endpoint.account_id === account_id)
        const ready = own.filter((kept) => isFree(kept, request) && hasWork(kept, request))
        const endpoint_ids = ready.map(({ endpoint }) => endpoint.endpoint_id)
        return { account_id, endpoint_ids: endpoint_ids.filter((id) => !except.includes(id)) }
      })
      return { accounts }
    },
    async leaseEndpoints({ holder, lease, now, most, endpoint_ids }) {
      return endpoint_ids.flatMap((id) => {
        const kept = endpoints.get(id)
        if (!kept || !isFree(kept, { holder, now })) return []
        kept.holder = holder
        kept.leaseUntil = Date.now() + lease
        const { endpoint, position: seq, rest } = kept
        const waiting = Math.min(most, waitingOf(id).length)
        return [{ endpoint: structuredClone(endpoint), position: { seq, rest }, waiting }]
      })
    },
    async listUnread(id, limit) {
      const kept = endpoints.get(id)
      return structuredClone(kept ? unreadOf(kept).slice(0, limit) : [])
    },
    async takeMessages({ holder, now, hidden_until, endpoints: requests }) {
      return requests.flatMap(({ endpoint_id, position, read, messages, limit }) => {
        const kept = endpoints.get(endpoint_id)
        if (kept?.holder !== holder || kept.endpoint.state !== 'active') return []
        if (kept.position === position.seq && kept.rest === position.rest && read) {
          kept.position = read.seq
          kept.rest = read.rest
          for (const each of messages) {
            const times = { created_at: now, next_at: now }
            keep({ ...each, state: 'waiting', attempts: 0, ...times })
          }
        }
        const due = waitingOf(endpoint_id).filter(isDue(now))
        const taken = due.toSorted((a, b) => a.next_at - b.next_at).slice(0, limit)
        for (const each of taken) keep({ ...each, holder, next_at: hidden_until })
        return structuredClone(taken)
      })
    },
    async settleMessages(holder, keys, lease, settle) {
      for (const [id, kept] of endpoints) {
        const own = keys.filter(({ endpoint_id }) => endpoint_id === id)
        if (own.length === 0) continue
        const found = own.flatMap((key) => state.messages.get(keyOf(key)) ?? [])
        const held = found.filter((each) => each.holder === holder && each.state === 'waiting')
        const settled = settle(structuredClone(kept.endpoint), structuredClone(held))
        kept.endpoint = structuredClone(settled.endpoint)
        moveEndpoint(state, kept, { retry: settled.retry })
        for (const { holder: _, ...message } of settled.messages) keep(structuredClone(message))
        if (kept.holder === holder) kept.leaseUntil = Date.now() + lease
      }
    },
    async releaseEndpoints(holder, now) {
      for (const kept of endpoints.values()) {
        if (kept.holder !== holder) continue
        kept.holder = undefined
        kept.leaseUntil = 0
        for (const { holder: sender, ...message } of waitingOf(kept.endpoint.endpoint_id)) {
          if (sender === holder) keep({ ...message, next_at: now })
        }
      }
    },
    async findNextDue(now) {
      const waiting = [...state.messages.values()].filter((each) => each.state === 'waiting')
      const times = waiting.map(({ next_at }) => next_at).filter((time) => time > now)
      return times.length === 0 ? undefined : Math.min(...times)
    },
    async listMessages(id, wanted, { limit, after }) {
      const all = messagesOf(id).filter((each) => (wanted ?? each.state) === each.state)
      // The list begins with the newest message. Its cursor is the number of older messages.
      const end = after === undefined ? all.length : Number(after)
      const start = Math.max(0, end - limit)
      const records = structuredClone(all.slice(start, end).reverse())
      return start > 0 ? { records, next: String(start) } : { records }
    },
    async findMessage(key) {
      return structuredClone(state.messages.get(keyOf(key)))
    },
    async pruneMessages(id, before, most) {
      const all = messagesOf(id)
      for (const [i, message] of all.entries()) {
        const isOld = message.created_at < before || all.length - i > most
        if (isOld && message.state !== 'waiting') state.messages.delete(keyOf(message))
      }
    },
    async clearAnswers(project_id, write = {}) {
      state.verify(write.authority)
      for (const { answer, ...message } of state.messages.values()) {
        const owner = endpoints.get(message.endpoint_id)?.endpoint
        if (answer !== undefined && owner?.project_id === project_id) keep(message)
      }
      state.recordWrite(write)
    },
    async findEntries(sequences) {
      return structuredClone(state.audit.filter(({ seq }) => sequences.includes(seq)))
    },
    async findSequence(project_id, since) {
      return state.audit.find((each) => each.project_id === project_id && each.at >= since)?.seq
    },
    async listRefunds(import_id, page) {
      return listRefunds(state, import_id, page)
    },
    async findPurchaseUser(store, transaction_id) {
      return state.stores.get(storeKey(store))?.purchases.get(transaction_id)?.user_id
    },
  }
}

function listRefunds(state: State, import_id: string, page: Page): RecordPage<Refund> {
  for (const { imports, purchases } of state.stores.values()) {
    const found = imports.get(import_id)
    if (!found) continue
    const after = Number(page.after ?? 0)
    const changed = [...found.changes.keys()].slice(after, after + EXAMINED_REFUNDS)
    const refunds = changed.flatMap((transaction_id, i) => {
      const purchase = purchases.get(transaction_id)
      if (!purchase || !isRefundStatus(purchase.status)) return []
      const { user_id, sku, status } = purchase
      const user = user_id === undefined ? {} : { user_id }
      return [{ cursor: String(after + i + 1), transaction_id, ...user, sku, status }]
    })
    const last = changed.length === EXAMINED_REFUNDS ? String(after + changed.length) : undefined
    return refundPage(refunds, page, last)
  }
  return { records: [] }
}
