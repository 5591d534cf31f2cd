import type { MessageKey, StoredMessage } from '../../../domain/message.ts'
import { numberOf, omit, pick } from '../../columns.ts'
import type { LeasedEndpoint, LeaseRequest, SettleMessages, TakeRequest } from '../../records.ts'
import { ENDPOINTS, MESSAGES, numberedEntry } from '../../tables.ts'
import type { Sql } from '../dialect.ts'
import { findRecord } from '../pages.ts'
import { all, find, type Program, run } from '../program.ts'
import {
  COUNT_WAITING,
  ENDPOINT_COLUMNS,
  ENTRY_COLUMNS,
  FIND_ENDPOINT,
  IS_WAITING,
  MESSAGE_COLUMNS,
} from './dialect.ts'
import { moveEndpoint, writeEndpoint } from './endpoints.ts'

const KEY = pick(MESSAGES, 'endpoint_id', 'sequence', 'part')
const NEW = omit(MESSAGES, 'at', 'status', 'error', 'answer', 'duration_ms')
/** The columns of a message that is sent once more. */
const RENEWED = omit(NEW, 'endpoint_id', 'sequence', 'part', 'type', 'webhook_id')
/** The columns that an attempt changes. It also clears `holder`. */
const SETTLED = omit(
  MESSAGES,
  ...(['endpoint_id', 'sequence', 'part', 'type', 'webhook_id'] as const),
  ...(['part_range', 'created_at', 'holder'] as const),
)
const IS_KEY = 'm.endpoint_id = r.endpoint_id AND m.sequence = r.sequence AND m.part = r.part'

/** The methods for leases of endpoints, and for messages to send. */
export function deliveryMethods(sql: Sql) {
  const { rows, each, forUpdate } = sql
  const { clock, unread, isUnread, isSettled, lockFree, setXid } = sql.webhooks
  const isFree = `e.state = 'active' AND e.due_at <= ?
    AND (e.holder = ? OR e.lease_until <= ${clock})`

  const texts = {
    lease: `
      SELECT ${ENDPOINT_COLUMNS}, e.read_seq, e.read_rest, ${COUNT_WAITING} AS waiting
      FROM webhook_endpoints e
      WHERE e.endpoint_id IN ${each.text} AND ${isFree}${lockFree}`,
    unread: `
      SELECT ${ENTRY_COLUMNS} FROM ${unread(`${isUnread} AND ${isSettled}`)}`,
    insertMessages: `
      INSERT INTO webhook_messages (${NEW.list})
      SELECT ${NEW.list} FROM ${rows(NEW.columns)} r WHERE true
      ON CONFLICT (${KEY.list}) DO UPDATE
      SET ${RENEWED.assignments((name) => `excluded.${name}`)}`,
    due: `
      SELECT ${MESSAGE_COLUMNS} FROM webhook_messages m
      WHERE m.endpoint_id = ? AND ${IS_WAITING} AND m.next_at <= ?
      ORDER BY m.next_at, m.seq LIMIT ?`,
    hold: `
      UPDATE webhook_messages AS m SET holder = ?, next_at = ?
      FROM ${rows(KEY.columns)} r WHERE ${IS_KEY}`,
    held: `
      SELECT ${MESSAGE_COLUMNS} FROM ${rows(KEY.columns)} r
      JOIN webhook_messages m ON ${IS_KEY} WHERE m.holder = ? AND ${IS_WAITING}`,
    settle: `
      UPDATE webhook_messages AS m
      SET holder = NULL, ${SETTLED.assignments((name) => `r.${name}`)}
      FROM ${rows({ ...KEY.columns, ...SETTLED.columns })} r WHERE ${IS_KEY}`,
    setPosition: `
      UPDATE webhook_endpoints AS e SET ${setXid} read_seq = ?, read_rest = ? FROM audit a
      WHERE a.seq = ? AND e.endpoint_id = ? AND e.read_seq = ? AND e.read_rest = ?`,
    renew: `
      UPDATE webhook_endpoints SET lease_until = ${clock} + ?
      WHERE holder = ? AND endpoint_id IN ${each.text}`,
  }

  // Does not fsync: a later commit makes the state durable. If it is lost, messages are sent again.
  const writeLazily = <T>(program: () => Program<T>) => sql.write(program, { isLazy: true })

  return {
    /**
     * Leases the given endpoints to the holder, except inactive ones and those that another holder
     * has leased. The storage's own clock decides when a lease ends.
     */
    leaseEndpoints: ({ holder, lease, now, most, endpoint_ids }: LeaseRequest) =>
      writeLazily(function* (): Program<LeasedEndpoint[]> {
        const rows = yield* all(texts.lease, most, endpoint_ids, now, holder)
        const ids = rows.map(({ endpoint_id }) => endpoint_id)
        if (ids.length > 0) {
          const take = `UPDATE webhook_endpoints SET holder = ?, lease_until = ${clock} + ?
            WHERE endpoint_id IN ${each.text}`
          yield* run(take, holder, lease, ids)
        }
        return rows.map((row) => ({
          endpoint: ENDPOINTS.read(row),
          position: { seq: numberOf(row.read_seq), rest: row.read_rest as string },
          waiting: numberOf(row.waiting),
        }))
      }),
    /**
     * Lists the first unread entries of the endpoint's project. Leaves out an entry if an open
     * transaction could still insert another one before it.
     */
    listUnread: async (id: string, limit: number) =>
      (await sql.read(all(texts.unread, id, limit))).map(numberedEntry),
    /**
     * Inserts the new messages. Assigns due messages to the holder, and hides them from other holders
     * until `hidden_until`.
     */
    takeMessages: ({ holder, now, hidden_until, endpoints }: TakeRequest) =>
      writeLazily(function* () {
        const taken: StoredMessage[] = []
        for (const { endpoint_id, position, read, messages, limit } of endpoints) {
          const find_own = `SELECT 1 FROM webhook_endpoints e
            WHERE e.endpoint_id = ? AND e.holder = ? AND e.state = 'active'${forUpdate}`
          if (!(yield* find(find_own, endpoint_id, holder))) continue
          const due = (yield* all(texts.due, endpoint_id, now, limit)).map(MESSAGES.read)
          if (due.length > 0) yield* run(texts.hold, holder, hidden_until, due.map(keyOf))
          taken.push(...due)
          if (!read) continue
          const moved = [read.seq, read.rest, read.entry, endpoint_id, position.seq, position.rest]
          const isRead = (yield* run(texts.setPosition, ...moved)) === 1
          if (!isRead || messages.length === 0) continue
          // Inserts the first messages with their `holder`. Assigning them in a separate update would
          // double the cost.
          const times = { state: 'waiting', attempts: 0, created_at: now } as const
          const added: StoredMessage[] = messages.map((message, i) =>
            due.length + i < limit
              ? { ...message, ...times, holder, next_at: hidden_until }
              : { ...message, ...times, next_at: now },
          )
          yield* run(texts.insertMessages, added)
          taken.push(...added.filter((each) => each.holder !== undefined))
        }
        return taken
      }),
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
    ) =>
      writeLazily(function* () {
        const ids = [...new Set(keys.map(({ endpoint_id }) => endpoint_id))].sort()
        const settled: StoredMessage[] = []
        for (const id of ids) {
          const endpoint = yield* findRecord(ENDPOINTS.read, FIND_ENDPOINT + forUpdate, id)
          if (!endpoint) continue
          const own = keys.filter(({ endpoint_id }) => endpoint_id === id).map(keyOf)
          const held = (yield* all(texts.held, own, holder)).map(MESSAGES.read)
          const { endpoint: changed, messages, retry } = settle(endpoint, held)
          if (changed !== endpoint) yield* writeEndpoint(changed)
          if (retry) yield* moveEndpoint(sql, id, { retry })
          settled.push(...messages)
        }
        if (settled.length > 0) yield* run(texts.settle, settled)
        yield* run(texts.renew, lease, holder, ids)
      }),
    /** Ends the leases of a holder. The messages that are assigned to it become due at `now`. */
    releaseEndpoints: (holder: string, now: number) =>
      writeLazily(function* () {
        const free = `UPDATE webhook_messages SET holder = NULL, next_at = ?
          WHERE holder = ? AND state = 'waiting' AND endpoint_id IN
            (SELECT endpoint_id FROM webhook_endpoints WHERE holder = ?)`
        yield* run(free, now, holder, holder)
        const end = 'UPDATE webhook_endpoints SET holder = NULL, lease_until = 0 WHERE holder = ?'
        yield* run(end, holder)
      }),
    /** The earliest time after `now` at which a message is due. */
    async findNextDue(now: number) {
      const next = `SELECT min(next_at) AS next FROM webhook_messages
        WHERE state = 'waiting' AND next_at > ?`
      const row = await sql.read(find(next, now))
      return row?.next === null || !row ? undefined : numberOf(row.next)
    },
  }
}

function keyOf({ endpoint_id, sequence, part }: MessageKey): MessageKey {
  return { endpoint_id, sequence, part }
}
