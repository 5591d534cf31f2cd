import type { EndpointWrite, StoredEndpoint } from '../../../domain/endpoint.ts'
import { invalidField } from '../../../domain/fields.ts'
import { messageNotFound } from '../../../domain/message.ts'
import { verifyAuthority } from '../authority.ts'
import { numberOf } from '../columns.ts'
import type { Dialect } from '../dialect.ts'
import { findRecord, recordPage } from '../pages.ts'
import { all, find, insert, type Program, run } from '../program.ts'
import type { Page } from '../records.ts'
import { ENDPOINTS } from '../tables.ts'
import {
  COUNT_WAITING,
  ENDPOINT_COLUMNS,
  FIND_ENDPOINT,
  IS_OWN,
  IS_WAITING,
  isUnread,
} from './dialect.ts'
import type { EndpointLag, EndpointMove, EndpointsOf } from './records.ts'

const LAG = 10_000

/** Inserts, changes or deletes webhook endpoints, in the transaction of another change. */
export function* writeEndpoints(sql: Dialect, writes: readonly EndpointWrite[]): Program<void> {
  for (const { endpoint_id, authority, change } of writes) {
    const current = yield* findRecord(ENDPOINTS.read, FIND_ENDPOINT + sql.forUpdate, endpoint_id)
    const changed = change(current)
    if (changed === current) continue
    yield* verifyAuthority(sql, authority)
    if (changed && current && (changed.url === '') === (current.url === '')) {
      yield* writeEndpoint(changed)
      continue
    }
    // An endpoint begins anew with its first URL, and keeps no messages without a URL.
    yield* run('DELETE FROM webhook_messages WHERE endpoint_id = ?', endpoint_id)
    yield* run('DELETE FROM webhook_endpoints WHERE endpoint_id = ?', endpoint_id)
    if (changed) {
      yield* insert(ENDPOINTS, changed)
      yield* moveEndpoint(sql, endpoint_id, { to: 'newest' })
    }
  }
}

/** Writes all fields of a stored endpoint. Its position stays. */
export function* writeEndpoint(endpoint: StoredEndpoint): Program<void> {
  yield* run(UPDATE_ENDPOINT, ...ENDPOINTS.values(endpoint), endpoint.endpoint_id)
}

/** Moves the position of an endpoint, and renews or repeats its messages: see `EndpointMove`. */
export function* moveEndpoint(
  { webhooks }: Dialect,
  endpoint_id: string,
  { to, retry, renewed_at, resend }: EndpointMove,
): Program<void> {
  if (to === 'newest') {
    yield* run(
      `UPDATE webhook_endpoints SET ${webhooks.setNewest}, read_rest = '' WHERE endpoint_id = ?`,
      endpoint_id,
    )
  } else if (to !== undefined) {
    // Finds the request of a replay that the endpoint has not read yet.
    const replay = yield* find(
      `SELECT a.seq FROM webhook_endpoints e JOIN audit a ON a.subject = e.endpoint_id
        AND a.action = 'webhooks.replay' AND ${isUnread(webhooks)} WHERE e.endpoint_id = ?`,
      endpoint_id,
    )
    if (replay) {
      const reason = `has a replay under way: wait until its cursor is above ${replay.seq}`
      throw invalidField('endpoint_id', 'replaying', reason)
    }
    const { isExamined, setXid, setBack, order, isBack } = webhooks
    const back = `
      UPDATE webhook_endpoints AS e SET ${setXid} ${setBack} read_seq = a.seq - 1, read_rest = ''
      FROM (SELECT a.* FROM webhook_endpoints e JOIN audit a ON ${isExamined}
        WHERE e.endpoint_id = ? AND a.seq >= ? ORDER BY ${order} LIMIT 1) a
      WHERE e.endpoint_id = ? AND ${isBack}`
    yield* run(back, endpoint_id, to, endpoint_id)
  }
  if (renewed_at !== undefined) {
    const renew = `
      UPDATE webhook_messages SET created_at = ? WHERE endpoint_id = ? AND state = 'waiting'`
    yield* run(renew, renewed_at, endpoint_id)
  }
  if (resend) {
    const { created_at, sequence, part } = resend
    const renewed = yield* run(RESEND, created_at, endpoint_id, sequence, part)
    if (renewed === 0) throw messageNotFound() // it was pruned meanwhile
  }
  if (!retry) return
  const due = `
    UPDATE webhook_messages SET next_at = 0
    WHERE endpoint_id = ? AND state = 'waiting'`
  yield* run(due, endpoint_id)
}

/** See `measureLag` of the storage. */
export function* measureLag(
  sql: Dialect,
  endpoint_id: string,
  actions: readonly string[],
  most = LAG,
): Program<EndpointLag> {
  const messages = yield* find(LAG_OF_MESSAGES, most, endpoint_id)
  const entries = yield* find(lagOfEntries(sql), actions, endpoint_id, most)
  const count = numberOf(messages?.waiting ?? 0) + numberOf(entries?.unread ?? 0)
  const unread = numberOf(entries?.examined ?? 0)
  const examined = unread + numberOf(messages?.waiting ?? 0)
  const isPartial = unread === most
  const first_unread = entries?.first_unread ?? (isPartial ? entries?.first : undefined)
  const firsts = [messages?.first_waiting, first_unread]
  const known = firsts.filter((each) => each !== null && each !== undefined).map(numberOf)
  if (known.length === 0) {
    const last = yield* find('SELECT max(seq) AS seq FROM audit')
    return { count: 0, examined, cursor: numberOf(last?.seq ?? 0) + 1 }
  }
  const cursor = Math.min(...known)
  const at = (yield* find('SELECT at FROM audit WHERE seq = ?', cursor))?.at as string
  return { count: Math.min(count, most), examined, cursor, ...(at && { at }) }
}

export function* listEndpoints({ account_id, project_id, all: isAll }: EndpointsOf, page: Page) {
  const owners = { 'e.account_id': account_id, 'e.project_id': project_id }
  const given = Object.entries(owners).filter(([, value]) => value !== undefined)
  const isListed = isAll ? '' : " (e.url <> '' OR e.unconfirmed IS NOT NULL) AND"
  const condition = given.map(([name]) => `${name} = ? AND`).join(' ') + isListed
  const values = given.map(([, value]) => value as string)
  const list = `
    SELECT ${ENDPOINT_COLUMNS} FROM webhook_endpoints e WHERE ${condition} e.endpoint_id > ?
    ORDER BY e.endpoint_id LIMIT ?`
  const rows = yield* all(list, ...values, page.after ?? '', page.limit + 1)
  return recordPage(rows, page, ENDPOINTS.read, ({ endpoint_id }) => endpoint_id)
}

function lagOfEntries({ each, webhooks }: Dialect): string {
  const isReceived = `${IS_OWN}
    AND a.action IN ${each.text}
    AND (a.action <> 'webhooks.test' OR a.subject = e.endpoint_id)`
  return `
    SELECT count(*) AS examined, min(u.seq) AS first,
      count(*) FILTER (WHERE is_received) AS unread,
      min(u.seq) FILTER (WHERE is_received) AS first_unread
    FROM (SELECT a.seq, (${isReceived}) AS is_received FROM ${webhooks.unread(isUnread(webhooks))}) u`
}

const RESEND = `
  UPDATE webhook_messages SET state = 'waiting', attempts = 0, next_at = 0, created_at = ?
  WHERE endpoint_id = ? AND sequence = ? AND part = ?`
const UPDATE_ENDPOINT = ENDPOINTS.updateWhere('endpoint_id = ?')
const LAG_OF_MESSAGES = `
  SELECT ${COUNT_WAITING} AS waiting,
    (SELECT min(m.sequence) FROM webhook_messages m
      WHERE m.endpoint_id = e.endpoint_id AND ${IS_WAITING}) AS first_waiting
  FROM webhook_endpoints e WHERE e.endpoint_id = ?`
