import type { MessageKey, StoredMessage } from '../../../domain/message.ts'
import { int32, integer, numberOf, omit, pick, type Row, text } from '../columns.ts'
import type { Sql } from '../dialect.ts'
import { findRecord } from '../pages.ts'
import { all, type Program, run } from '../program.ts'
import { ENDPOINTS, MESSAGES, numberedEntry } from '../tables.ts'
import {
  COUNT_WAITING,
  ENDPOINT_COLUMNS,
  ENTRY_COLUMNS,
  FIND_ENDPOINT,
  IS_OWN,
  IS_WAITING,
  isUnread,
  MESSAGE_COLUMNS,
} from './dialect.ts'
import { moveEndpoint, writeEndpoint } from './endpoints.ts'
import type {
  EndpointReading,
  ReadyEndpoint,
  ReadyRequest,
  SenderLease,
  SettleMessages,
} from './records.ts'

/**
 * The position of an endpoint moves past its unread entries if there are at least so many, and all
 * are about other stores and projects.
 */
const ENTRIES = 20
/** The most foreign entries that a position moves past at once. */
const FOREIGN = 200

const KEY = pick(MESSAGES, 'endpoint_id', 'sequence', 'part')
const NEW = omit(MESSAGES, 'at', 'status', 'error', 'answer', 'duration_ms')
/** The columns of a message that is sent once more. */
const RENEWED = omit(NEW, 'endpoint_id', 'sequence', 'part', 'type', 'webhook_id')
/** The columns that an attempt changes. */
const SETTLED = omit(
  MESSAGES,
  'endpoint_id',
  'sequence',
  'part',
  'type',
  'webhook_id',
  'part_range',
  'created_at',
)
const IS_KEY = 'm.endpoint_id = r.endpoint_id AND m.sequence = r.sequence AND m.part = r.part'

/** The methods of the process that sends messages. */
export function deliveryMethods(sql: Sql) {
  const { rows, each, forUpdate } = sql
  const { clock, unread, isSettled, order, position, setXid } = sql.webhooks
  const isReadable = `${isUnread(sql.webhooks)} AND ${isSettled}`
  const first = (columns: string) =>
    `SELECT ${columns} FROM audit a WHERE ${isReadable} ORDER BY ${order} LIMIT`
  // Uses `(SELECT …) IS NOT NULL`: in EXISTS, PostgreSQL ignores ORDER BY, and may scan the whole
  // log.
  const next = (most: number) => `(${first(`${order}, a.project_id, a.store_id`)} ${most}) a`
  const hasOwn = `EXISTS (SELECT 1 FROM ${next(ENTRIES)} WHERE ${IS_OWN})`
  const hasUnread = `(${hasOwn} OR (${first('1')} 1 OFFSET ${ENTRIES - 1}) IS NOT NULL)`
  const lastForeign = `(
    SELECT seq FROM (SELECT a.seq, count(*) FILTER (WHERE ${IS_OWN}) OVER () AS own
      FROM ${next(FOREIGN)} ORDER BY (${order}) DESC LIMIT 1) l WHERE own = 0)`
  const due = `FROM webhook_messages m
    WHERE m.endpoint_id = e.endpoint_id AND ${IS_WAITING} AND m.next_at <= ?`
  // Compares numbers, because the claimed messages of an endpoint are among its due ones.
  const hasUnclaimed = `EXISTS (SELECT 1 ${due}) AND (e.endpoint_id, (SELECT count(*) ${due})) NOT IN (
    SELECT endpoint_id, claimed FROM ${rows({ endpoint_id: text(), claimed: int32 })} c)`
  const isLeased = `EXISTS (
    SELECT 1 FROM webhook_sender s WHERE s.holder <> ? AND s.lease_until > ${clock})`

  const texts = {
    ready: `
      SELECT ${ENDPOINT_COLUMNS}, e.read_seq, e.read_rest, ${position} AS position,
        ${COUNT_WAITING} AS waiting,
        CASE WHEN NOT ${hasOwn} THEN ${lastForeign} END AS last_foreign
      FROM (
        SELECT e.*, row_number() OVER (PARTITION BY e.account_id ORDER BY random()) AS turn
        FROM webhook_endpoints e
        WHERE e.state = 'active' AND e.due_at <= ? AND e.account_id NOT IN ${each.text}
          AND e.endpoint_id NOT IN ${each.text}
          AND (e.failing_since IS NULL OR e.endpoint_id NOT IN ${each.text})
          AND NOT ${isLeased}
          AND ((${hasUnclaimed}) OR (${hasUnread} AND ${COUNT_WAITING} < ?))) e
      ORDER BY e.turn, random() LIMIT ?`,
    undecrypted: `
      SELECT ${ENDPOINT_COLUMNS} FROM webhook_endpoints e
      WHERE e.reason = 'secret' AND NOT ${isLeased} ORDER BY random() LIMIT ?`,
    hold: `
      INSERT INTO webhook_sender (id, holder, lease_until) VALUES (1, ?, ${clock} + ?)
      ON CONFLICT (id) DO UPDATE SET holder = excluded.holder, lease_until = excluded.lease_until
      WHERE webhook_sender.holder = excluded.holder OR webhook_sender.lease_until <= ${clock}`,
    renew: `UPDATE webhook_sender SET lease_until = ${clock} + ? WHERE holder = ?`,
    skipForeign: `
      UPDATE webhook_endpoints AS e SET ${setXid} read_seq = a.seq, read_rest = ''
      FROM ${rows({ endpoint_id: text(), position: text(), last_foreign: integer })} r
      JOIN audit a ON a.seq = r.last_foreign
      WHERE e.endpoint_id = r.endpoint_id AND ${position} = r.position`,
    unread: `
      SELECT ${ENTRY_COLUMNS} FROM ${unread(isReadable)}`,
    insertMessages: `
      INSERT INTO webhook_messages (${NEW.list})
      SELECT ${NEW.list} FROM ${rows(NEW.columns)} r WHERE true
      ON CONFLICT (${KEY.list}) DO UPDATE
      SET ${RENEWED.assignments((name) => `excluded.${name}`)}`,
    due: `
      SELECT ${MESSAGE_COLUMNS} FROM webhook_messages m
      WHERE m.endpoint_id = ? AND ${IS_WAITING} AND m.next_at <= ?
      ORDER BY m.next_at, m.seq LIMIT ?`,
    waiting: `
      SELECT ${MESSAGE_COLUMNS} FROM ${rows(KEY.columns)} r
      JOIN webhook_messages m ON ${IS_KEY} WHERE ${IS_WAITING}`,
    settle: `
      UPDATE webhook_messages AS m SET ${SETTLED.assignments((name) => `r.${name}`)}
      FROM ${rows({ ...KEY.columns, ...SETTLED.columns })} r WHERE ${IS_KEY}`,
    setPosition: `
      UPDATE webhook_endpoints AS e SET ${setXid} read_seq = ?, read_rest = ? FROM audit a
      WHERE a.seq = ? AND e.endpoint_id = ? AND ${position} = ?`,
  }

  /**
   * Moves an endpoint past the entries that were read. Returns false if there are none, or if the
   * endpoint has moved since: another process has then inserted their messages.
   */
  function* movePosition({ endpoint, position, read }: EndpointReading): Program<boolean> {
    if (!read) return false
    const { seq, rest } = read
    const lastRead = rest === '' ? seq : seq - 1
    const { endpoint_id } = endpoint
    return (yield* run(texts.setPosition, lastRead, rest, seq, endpoint_id, position.key)) === 1
  }

  // Does not fsync: a later commit makes the state durable. If it is lost, messages are sent again.
  const writeLazily = <T>(program: () => Program<T>) => sql.write(program, { isLazy: true })

  return {
    /**
     * Finds active endpoints with due messages that are not claimed, or with unread entries: first
     * one of each account, then a second of each, and so on, in random order. Finds none while
     * another process has the lease.
     */
    async findReady(request: ReadyRequest) {
      const { holder, now, limit, most_waiting: most, claimed } = request
      const { full_accounts, full_endpoints, full_if_failing } = request
      const found = await sql.read(
        all(
          texts.ready,
          most,
          now,
          full_accounts,
          full_endpoints,
          full_if_failing,
          holder,
          now,
          now,
          claimed,
          most,
          most,
          limit,
        ),
      )
      return found.map(readyEndpoint)
    },
    /**
     * Finds endpoints that are disabled because no master key decrypted their secret, in random order.
     * Finds none while another process has the lease.
     */
    findUndecrypted: async (holder: string, limit: number) =>
      (await sql.read(all(texts.undecrypted, holder, limit))).map(ENDPOINTS.read),
    /** Moves endpoints to their `last_foreign`, all with one statement. Leaves out those that have moved. */
    async skipForeign(endpoints: readonly ReadyEndpoint[]) {
      const moves = endpoints.map(({ endpoint: { endpoint_id }, position, last_foreign }) => {
        return { endpoint_id, position: position.key, last_foreign }
      })
      await writeLazily(() => run(texts.skipForeign, moves))
    },
    /**
     * Lists the first unread entries of the endpoint's project, and perhaps of other projects of its
     * account. Leaves out an entry if an open transaction could still insert another one before it.
     */
    listUnread: async (id: string, limit: number) =>
      (await sql.read(all(texts.unread, id, limit))).map(numberedEntry),
    /**
     * Takes the lease or renews it. Inserts the messages of entries that endpoints have read, and
     * returns due messages of these endpoints. Resolves to undefined, and changes nothing, while
     * another process has the lease.
     */
    takeMessages: (
      { holder, lease }: SenderLease,
      now: number,
      readings: readonly EndpointReading[],
    ) =>
      writeLazily(function* () {
        if ((yield* run(texts.hold, holder, lease)) === 0) return undefined
        const found: StoredMessage[] = []
        for (const reading of readings) {
          const { endpoint, messages, limit } = reading
          const hasMoved = yield* movePosition(reading)
          const waiting = { state: 'waiting', attempts: 0, created_at: now, next_at: now }
          const added = messages.map((message) => ({ ...message, ...waiting }))
          if (hasMoved && added.length > 0) yield* run(texts.insertMessages, added)
          const due = yield* all(texts.due, endpoint.endpoint_id, now, limit)
          found.push(...due.map(MESSAGES.read))
        }
        return found
      }),
    /**
     * Renews the lease. For each endpoint of `keys`, calls `settle` with the endpoint and with those
     * of its waiting messages that are in `keys`. Stores the results. Does nothing if the holder has
     * lost the lease.
     */
    settleMessages: (
      { holder, lease }: SenderLease,
      keys: readonly MessageKey[],
      settle: SettleMessages,
    ) =>
      writeLazily(function* () {
        if ((yield* run(texts.renew, lease, holder)) === 0) return
        const ids = [...new Set(keys.map(({ endpoint_id }) => endpoint_id))].sort()
        const settled: StoredMessage[] = []
        for (const id of ids) {
          const endpoint = yield* findRecord(ENDPOINTS.read, FIND_ENDPOINT + forUpdate, id)
          if (!endpoint) continue
          const own = keys.filter(({ endpoint_id }) => endpoint_id === id).map(keyOf)
          const waiting = (yield* all(texts.waiting, own)).map(MESSAGES.read)
          const { endpoint: changed, messages, retry } = settle(endpoint, waiting)
          if (changed !== endpoint) yield* writeEndpoint(changed)
          if (retry) yield* moveEndpoint(sql, id, { retry })
          settled.push(...messages)
        }
        if (settled.length > 0) yield* run(texts.settle, settled)
      }),
    /** Ends the lease of a holder that stops. */
    endLease: (holder: string) =>
      writeLazily(() => run('DELETE FROM webhook_sender WHERE holder = ?', holder)),
  }
}

function readyEndpoint(row: Row): ReadyEndpoint {
  return {
    endpoint: ENDPOINTS.read(row),
    position: {
      seq: numberOf(row.read_seq),
      rest: row.read_rest as string,
      key: row.position as string,
    },
    waiting: numberOf(row.waiting),
    ...(row.last_foreign !== null && { last_foreign: numberOf(row.last_foreign) }),
  }
}

function keyOf({ endpoint_id, sequence, part }: MessageKey): MessageKey {
  return { endpoint_id, sequence, part }
}
