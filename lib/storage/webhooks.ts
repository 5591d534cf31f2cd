import type { EndpointWrite, StoredEndpoint } from '../domain/endpoint.ts'
import type { MessageKey, StoredMessage } from '../domain/message.ts'
import { PURCHASE_STATUSES, type PurchaseStatus } from '../domain/purchase.ts'
import { maybe, numberOf, type PlainValue, type Row } from './columns.ts'
import { recordPage } from './pages.ts'
import type {
  EndpointLag,
  EndpointMove,
  EndpointsOf,
  LeasedEndpoint,
  LeaseRequest,
  Page,
  RecordPage,
  Refund,
  SettleMessages,
  TakeRequest,
} from './port.ts'
import { ENDPOINTS, MESSAGES, numberedEntry } from './tables.ts'

// The webhook methods of both SQL adapters. Each is a generator that yields statements and receives
// their results, because SQLite runs a transaction synchronously and PostgreSQL does not.

type Value = PlainValue | boolean | object

export interface Statement {
  readonly sql: string
  readonly values: readonly Value[]
  /** Whether the result is rows. Otherwise it is the number of changed rows. */
  readonly reads: boolean
}

export type Program<T> = Generator<Statement, T, unknown>

function* all(sql: string, ...values: Value[]): Program<Row[]> {
  return (yield { sql, values, reads: true }) as Row[]
}

function* find(sql: string, ...values: Value[]): Program<Row | undefined> {
  return (yield* all(sql, ...values))[0]
}

function* run(sql: string, ...values: Value[]): Program<number> {
  return (yield { sql, values, reads: false }) as number
}

/** The SQL that differs between the databases. `a` is an audit entry, `e` an endpoint. */
export interface WebhookDialect {
  /** The database's clock in Unix milliseconds. */
  readonly clock: string
  /** Whether an entry comes after the endpoint's position. */
  readonly isAfter: string
  /** Whether no transaction that is still open can precede an entry. */
  readonly isSettled: string
  /** The order in which entries are read. */
  readonly order: string
  /** Sets the position of an endpoint after an entry `a`. */
  readonly setPosition: string
  /** Sets the position to just before an entry `a`, if that is further back. */
  readonly setBack: { readonly set: string; readonly isBack: string }
  /** Sets the position after the newest entry. */
  readonly setNewest: string
  /** Locks the selected rows of `e`. */
  readonly lock: string
  readonly lockFree: string
  values<R>(table: { values(r: R): Value[]; sqliteValues(r: R): PlainValue[] }, record: R): Value[]
  /** The rows of a JSON array as a table. */
  rows(columns: { readonly [name: string]: 'text' | 'bigint' }): string
  list(values: readonly unknown[]): Value
  /** The rows of a JSON array of texts or numbers, with a column `value`. */
  readonly each: { readonly text: string; readonly bigint: string }
}

const LAG = 10_000
const TEXT = 'text'
const BIGINT = 'bigint'
const KEY_COLUMNS = { endpoint_id: TEXT, sequence: BIGINT, part: BIGINT } as const
const IS_KEY = 'm.endpoint_id = r.endpoint_id AND m.sequence = r.sequence AND m.part = r.part'

export type WebhookPrograms = ReturnType<typeof webhookPrograms>

export function webhookPrograms(dialect: WebhookDialect) {
  const { clock, isAfter, isSettled, order, lock, lockFree } = dialect
  const endpointColumns = ENDPOINTS.names.map((name) => `e.${name}`).join(', ')
  const messageColumns = MESSAGES.names.map((name) => `m.${name}`).join(', ')
  const entryColumns =
    'a.seq, a.at, a.actor, a.action, a.subject, a.account_id, a.project_id, \
    a.store_id, a.request_id, a.data'
  const isWaiting = "m.state = 'waiting'"
  const findEndpoint = `SELECT ${endpointColumns} FROM webhook_endpoints e WHERE e.endpoint_id = ?`
  const isUnread = `a.project_id = e.project_id AND ${isAfter}`
  const countWaiting = `(SELECT count(*) FROM (SELECT 1 FROM webhook_messages m
    WHERE m.endpoint_id = e.endpoint_id AND ${isWaiting} LIMIT ?) w)`
  const isReceived = `${isUnread} AND (e.store_id = '' OR a.store_id = e.store_id)
    AND a.action IN ${dialect.each.text}
    AND (a.action <> 'webhooks.test' OR a.subject = e.endpoint_id)`
  const updateEndpointRow = ENDPOINTS.updateWhere('endpoint_id = ?')

  const sql = {
    listEndpoints: (condition: string) => `
      SELECT ${endpointColumns} FROM webhook_endpoints e WHERE ${condition} e.endpoint_id > ?
      ORDER BY e.endpoint_id LIMIT ?`,
    lag: `
      SELECT ${countWaiting} AS waiting,
        (SELECT min(m.sequence) FROM webhook_messages m
          WHERE m.endpoint_id = e.endpoint_id AND ${isWaiting}) AS first_waiting
      FROM webhook_endpoints e WHERE e.endpoint_id = ?`,
    unreadLag: `
      SELECT count(*) AS unread, min(seq) AS first_unread FROM (
        SELECT a.seq FROM webhook_endpoints e JOIN audit a ON ${isReceived}
        WHERE e.endpoint_id = ? ORDER BY ${order} LIMIT ${LAG}) u`,
    lease: `
      SELECT ${endpointColumns}, e.read_seq, ${countWaiting} AS waiting FROM webhook_endpoints e
      WHERE e.state = 'active' AND e.due_at <= ? AND (e.holder = ? OR e.lease_until <= ${clock})
        AND e.endpoint_id NOT IN ${dialect.each.text}
        AND (EXISTS (SELECT 1 FROM webhook_messages m WHERE m.endpoint_id = e.endpoint_id
              AND ${isWaiting} AND m.next_at <= ?)
          OR (EXISTS (SELECT 1 FROM audit a WHERE ${isUnread} AND ${isSettled})
              AND ${countWaiting} < ?))
      ORDER BY e.lease_until LIMIT ?${lockFree}`,
    unread: `
      SELECT ${entryColumns} FROM webhook_endpoints e JOIN audit a ON ${isUnread}
      WHERE e.endpoint_id = ? AND ${isSettled} ORDER BY ${order} LIMIT ?`,
    insertMessages: `
      INSERT INTO webhook_messages (endpoint_id, sequence, part, parts, type, webhook_id, part_range,
        state, attempts, created_at, next_at, holder)
      SELECT r.endpoint_id, r.sequence, r.part, r.parts, r.type, r.webhook_id, r.part_range,
        'waiting', 0, r.created_at, r.next_at, r.holder
      FROM ${dialect.rows({
        ...KEY_COLUMNS,
        parts: BIGINT,
        type: TEXT,
        webhook_id: TEXT,
        part_range: TEXT,
        created_at: BIGINT,
        next_at: BIGINT,
        holder: TEXT,
      })} r
      WHERE true
      ON CONFLICT (endpoint_id, sequence, part) DO UPDATE SET state = 'waiting', attempts = 0,
        part_range = excluded.part_range, created_at = excluded.created_at,
        next_at = excluded.next_at, holder = excluded.holder`,
    due: `
      SELECT ${messageColumns} FROM webhook_messages m
      WHERE m.endpoint_id = ? AND ${isWaiting} AND m.next_at <= ?
      ORDER BY m.next_at, m.seq LIMIT ?`,
    hold: `
      UPDATE webhook_messages AS m SET holder = ?, next_at = ?
      FROM ${dialect.rows(KEY_COLUMNS)} r WHERE ${IS_KEY}`,
    held: `
      SELECT ${messageColumns} FROM ${dialect.rows(KEY_COLUMNS)} r
      JOIN webhook_messages m ON ${IS_KEY} WHERE m.holder = ? AND ${isWaiting}`,
    settle: `
      UPDATE webhook_messages AS m SET state = r.state, attempts = r.attempts, at = r.at,
        next_at = r.next_at, holder = NULL, status = r.status, error = r.error, answer = r.answer,
        duration_ms = r.duration_ms
      FROM ${dialect.rows({
        ...KEY_COLUMNS,
        state: TEXT,
        attempts: BIGINT,
        at: BIGINT,
        next_at: BIGINT,
        status: BIGINT,
        error: TEXT,
        answer: TEXT,
        duration_ms: BIGINT,
      })} r WHERE ${IS_KEY}`,
    renew: `
      UPDATE webhook_endpoints SET lease_until = ${clock} + ?
      WHERE holder = ? AND endpoint_id IN ${dialect.each.text}`,
    setPosition: dialect.setPosition,
    listMessages: (condition: string) => `
      SELECT m.seq, ${messageColumns} FROM webhook_messages m
      WHERE m.endpoint_id = ? ${condition} AND m.seq < CAST(? AS bigint)
      ORDER BY m.seq DESC LIMIT ?`,
  }

  function* write(endpoint: StoredEndpoint): Program<void> {
    const values = dialect.values(ENDPOINTS, endpoint)
    yield* run(updateEndpointRow, ...values, endpoint.endpoint_id)
  }

  function* move(endpoint_id: string, { to, retry, renewed_at }: EndpointMove): Program<void> {
    if (to === 'newest') {
      yield* run(
        `UPDATE webhook_endpoints SET ${dialect.setNewest} WHERE endpoint_id = ?`,
        endpoint_id,
      )
    } else if (to !== undefined) {
      const { set, isBack } = dialect.setBack
      const back = `
        UPDATE webhook_endpoints AS e SET ${set}
        FROM (SELECT a.* FROM audit a JOIN webhook_endpoints o ON o.project_id = a.project_id
          WHERE o.endpoint_id = ? AND a.seq >= ? ORDER BY ${order} LIMIT 1) a
        WHERE e.endpoint_id = ? AND ${isBack}`
      yield* run(back, endpoint_id, to, endpoint_id)
    }
    if (renewed_at !== undefined) {
      const renew = `
        UPDATE webhook_messages SET created_at = ? WHERE endpoint_id = ? AND state = 'waiting'`
      yield* run(renew, renewed_at, endpoint_id)
    }
    if (!retry) return
    const due = `
      UPDATE webhook_messages SET next_at = 0
      WHERE endpoint_id = ? AND state = 'waiting' AND holder IS NULL`
    yield* run(due, endpoint_id)
  }

  function* updateEndpoint(
    endpoint_id: string,
    change: (current: StoredEndpoint) => StoredEndpoint,
    moved: EndpointMove = {},
  ): Program<StoredEndpoint | undefined> {
    const current = maybe(ENDPOINTS.read, yield* find(findEndpoint + lock, endpoint_id))
    if (!current) return undefined
    const changed = change(current)
    yield* write(changed)
    yield* move(endpoint_id, moved)
    return changed
  }

  return {
    *findEndpoint(endpoint_id: string): Program<StoredEndpoint | undefined> {
      return maybe(ENDPOINTS.read, yield* find(findEndpoint, endpoint_id))
    },

    *listEndpoints({ account_id, project_id }: EndpointsOf, page: Page) {
      const owners = { 'e.account_id': account_id, 'e.project_id': project_id }
      const given = Object.entries(owners).filter(([, value]) => value !== undefined)
      const condition = given.map(([name]) => `${name} = ? AND`).join(' ')
      const values = given.map(([, value]) => value as string)
      const list = sql.listEndpoints(condition)
      const rows = yield* all(list, ...values, page.after ?? '', page.limit + 1)
      return recordPage(rows, page, ENDPOINTS.read, ({ endpoint_id }) => endpoint_id)
    },

    updateEndpoint,

    /** Writes the endpoints of a change, in its transaction. */
    *writeEndpoints(writes: readonly EndpointWrite[]): Program<void> {
      for (const { endpoint_id, change } of writes) {
        const current = maybe(ENDPOINTS.read, yield* find(findEndpoint + lock, endpoint_id))
        const changed = change(current)
        if (changed === current) continue
        if (!changed) {
          yield* run('DELETE FROM webhook_messages WHERE endpoint_id = ?', endpoint_id)
          yield* run('DELETE FROM webhook_endpoints WHERE endpoint_id = ?', endpoint_id)
        } else if (current) yield* write(changed)
        else {
          yield* run(ENDPOINTS.insertion, ...dialect.values(ENDPOINTS, changed))
          yield* move(endpoint_id, { to: 'newest' })
        }
      }
    },

    *measureLag(endpoint_id: string, actions: readonly string[]): Program<EndpointLag> {
      const messages = yield* find(sql.lag, LAG, endpoint_id)
      const entries = yield* find(sql.unreadLag, dialect.list(actions), endpoint_id)
      const count = numberOf(messages?.waiting ?? 0) + numberOf(entries?.unread ?? 0)
      const firsts = [messages?.first_waiting, entries?.first_unread]
      const known = firsts.filter((each) => each !== null && each !== undefined).map(numberOf)
      if (known.length === 0) {
        const last = yield* find('SELECT max(seq) AS seq FROM audit')
        return { count: 0, cursor: numberOf(last?.seq ?? 0) + 1 }
      }
      const cursor = Math.min(...known)
      const at = (yield* find('SELECT at FROM audit WHERE seq = ?', cursor))?.at as string
      return { count: Math.min(count, LAG), cursor, ...(at && { at }) }
    },

    *leaseEndpoints(request: LeaseRequest): Program<LeasedEndpoint[]> {
      const { holder, lease, now, limit, most, except } = request
      const found = [most, now, holder, dialect.list(except), now, most, most, limit]
      const rows = yield* all(sql.lease, ...found)
      const ids = rows.map(({ endpoint_id }) => endpoint_id)
      if (ids.length > 0) {
        const take = `UPDATE webhook_endpoints SET holder = ?, lease_until = ${clock} + ?
          WHERE endpoint_id IN ${dialect.each.text}`
        yield* run(take, holder, lease, dialect.list(ids))
      }
      return rows.map((row) => ({
        endpoint: ENDPOINTS.read(row),
        position: numberOf(row.read_seq),
        waiting: numberOf(row.waiting),
      }))
    },

    *listUnread(endpoint_id: string, limit: number) {
      return (yield* all(sql.unread, endpoint_id, limit)).map(numberedEntry)
    },

    *takeMessages({ holder, now, hidden_until, endpoints }: TakeRequest): Program<StoredMessage[]> {
      const taken: StoredMessage[] = []
      for (const { endpoint_id, position, read, messages, limit } of endpoints) {
        const find_own = `SELECT 1 FROM webhook_endpoints e
          WHERE e.endpoint_id = ? AND e.holder = ? AND e.state = 'active'${lock}`
        if (!(yield* find(find_own, endpoint_id, holder))) continue
        const due = (yield* all(sql.due, endpoint_id, now, limit)).map(MESSAGES.read)
        if (due.length > 0) yield* run(sql.hold, holder, hidden_until, dialect.list(due.map(keyOf)))
        taken.push(...due)
        const isRead =
          read !== undefined && (yield* run(sql.setPosition, read, endpoint_id, position)) === 1
        if (!isRead || messages.length === 0) continue
        // Gives the first ones to the holder at once: a further update would cost as much again.
        const times = { state: 'waiting', attempts: 0, created_at: now } as const
        const added: StoredMessage[] = messages.map((message, i) =>
          due.length + i < limit
            ? { ...message, ...times, holder, next_at: hidden_until }
            : { ...message, ...times, next_at: now },
        )
        yield* run(sql.insertMessages, dialect.list(added))
        taken.push(...added.filter((each) => each.holder !== undefined))
      }
      return taken
    },

    *settleMessages(
      holder: string,
      keys: readonly MessageKey[],
      lease: number,
      settle: SettleMessages,
    ): Program<void> {
      const ids = [...new Set(keys.map(({ endpoint_id }) => endpoint_id))].sort()
      const settled: StoredMessage[] = []
      for (const id of ids) {
        const endpoint = maybe(ENDPOINTS.read, yield* find(findEndpoint + lock, id))
        if (!endpoint) continue
        const own = keys.filter(({ endpoint_id }) => endpoint_id === id).map(keyOf)
        const held = (yield* all(sql.held, dialect.list(own), holder)).map(MESSAGES.read)
        const { endpoint: changed, messages, retry } = settle(endpoint, held)
        if (changed !== endpoint) yield* write(changed)
        if (retry) yield* move(id, { retry })
        settled.push(...messages)
      }
      if (settled.length > 0) yield* run(sql.settle, dialect.list(settled))
      yield* run(sql.renew, lease, holder, dialect.list(ids))
    },

    *releaseEndpoints(holder: string, now: number): Program<void> {
      const free = `UPDATE webhook_messages SET holder = NULL, next_at = ?
        WHERE holder = ? AND state = 'waiting' AND endpoint_id IN
          (SELECT endpoint_id FROM webhook_endpoints WHERE holder = ?)`
      yield* run(free, now, holder, holder)
      const end = 'UPDATE webhook_endpoints SET holder = NULL, lease_until = 0 WHERE holder = ?'
      yield* run(end, holder)
    },

    *findNextDue(now: number): Program<number | undefined> {
      const next = `SELECT min(next_at) AS next FROM webhook_messages
        WHERE state = 'waiting' AND next_at > ?`
      const row = yield* find(next, now)
      return row?.next === null || !row ? undefined : numberOf(row.next)
    },

    *listMessages(endpoint_id: string, state: string | undefined, page: Page) {
      const list = sql.listMessages(state === undefined ? '' : 'AND m.state = ?')
      const values = state === undefined ? [endpoint_id] : [endpoint_id, state]
      const after = page.after ?? String(Number.MAX_SAFE_INTEGER)
      const rows = yield* all(list, ...values, after, page.limit + 1)
      return recordPage(rows, page, MESSAGES.read, ({ seq }) => seq)
    },

    *pruneMessages(endpoint_id: string, before: number, keep: number): Program<void> {
      // The log is about in the order of time. Reads no further than to the first recent message.
      const first = `SELECT seq FROM webhook_messages WHERE endpoint_id = ? AND created_at >= ?
        ORDER BY seq LIMIT 1`
      const newest = `SELECT seq + 1 AS seq FROM webhook_messages WHERE endpoint_id = ?
        ORDER BY seq DESC LIMIT 1 OFFSET ?`
      const recent = yield* find(first, endpoint_id, before)
      const excess = yield* find(newest, endpoint_id, keep)
      const end = Math.max(
        recent ? numberOf(recent.seq) : Number.MAX_SAFE_INTEGER,
        excess ? numberOf(excess.seq) : 0,
      )
      const old = `DELETE FROM webhook_messages
        WHERE endpoint_id = ? AND seq < ? AND state <> 'waiting'`
      yield* run(old, endpoint_id, end)
    },

    *clearAnswers(project_id: string): Program<void> {
      const clear = `UPDATE webhook_messages SET answer = NULL WHERE answer IS NOT NULL
        AND endpoint_id IN (SELECT endpoint_id FROM webhook_endpoints WHERE project_id = ?)`
      yield* run(clear, project_id)
    },

    *findEntries(sequences: readonly number[]) {
      const found = `SELECT ${entryColumns} FROM audit a WHERE a.seq IN ${dialect.each.bigint}`
      return (yield* all(found, dialect.list(sequences))).map(numberedEntry)
    },

    *findSequence(project_id: string, since: string): Program<number | undefined> {
      const first = 'SELECT min(seq) AS seq FROM audit WHERE project_id = ? AND at >= ?'
      const row = yield* find(first, project_id, since)
      return row?.seq === null || !row ? undefined : numberOf(row.seq)
    },

    /**
     * Finds the first entry that an endpoint needs. Those that were stopped, or began to fail,
     * before `stopped_before` need none.
     */
    *findNeeded(stopped_before: number): Program<number | undefined> {
      const needs = 'coalesce(e.stopped_at, e.failing_since, ?) >= ?'
      const unread = `SELECT min((SELECT min(a.seq) FROM audit a WHERE ${isUnread})) AS seq
        FROM webhook_endpoints e WHERE ${needs}`
      const waiting = `SELECT min(m.sequence) AS seq FROM webhook_endpoints e
        JOIN webhook_messages m ON m.endpoint_id = e.endpoint_id WHERE ${isWaiting} AND ${needs}`
      const times = [stopped_before, stopped_before]
      const found = [yield* find(unread, ...times), yield* find(waiting, ...times)]
      const known = found.flatMap((row) => (row && row.seq !== null ? numberOf(row.seq) : []))
      return known.length === 0 ? undefined : Math.min(...known)
    },
  }
}

const REFUND_STATUSES: readonly PurchaseStatus[] = ['refunded', 'cancelled']
const REFUND_CODES = REFUND_STATUSES.map((each) => PURCHASE_STATUSES.indexOf(each))

/** Whether a status takes a purchase back. */
export function isRefundStatus(status: PurchaseStatus): boolean {
  return REFUND_STATUSES.includes(status)
}

/** Whether the column `after` has the code of a status that takes a purchase back. */
export const IS_REFUND = `after IN (${REFUND_CODES.join(', ')})`

/** A page of rows with `purchase`, `transaction_id`, `user_id`, `sku` and a code as `status`. */
export function refundPage(rows: readonly Row[], page: Page): RecordPage<Refund> {
  const refundOf = ({ purchase, transaction_id, user_id, sku, status }: Row): Refund => ({
    cursor: String(purchase),
    transaction_id: transaction_id as string,
    ...(user_id !== null && { user_id: user_id as string }),
    sku: sku as string,
    status: PURCHASE_STATUSES[numberOf(status)] as PurchaseStatus,
  })
  return recordPage(rows, page, refundOf, ({ purchase }) => purchase)
}

function keyOf({ endpoint_id, sequence, part }: MessageKey): MessageKey {
  return { endpoint_id, sequence, part }
}
