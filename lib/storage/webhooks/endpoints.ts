import type { EndpointWrite, StoredEndpoint } from '../../domain/endpoint.ts'
import { invalidField } from '../../domain/fields.ts'
import { maybe, numberOf } from '../columns.ts'
import { recordPage } from '../pages.ts'
import type { EndpointLag, EndpointMove, EndpointsOf, Page } from '../port.ts'
import { ENDPOINTS } from '../tables.ts'
import { all, find, fragmentsOf, type Program, run, type WebhookDialect } from './dialect.ts'

const LAG = 10_000

/** The methods for endpoints, their positions and their lags. */
export function endpointPrograms(dialect: WebhookDialect) {
  const { order, lock, setXid, setBack, isBack } = dialect
  const { endpointColumns, isWaiting, findEndpoint, isUnread, countWaiting } = fragmentsOf(dialect)
  const isReceived = `(e.store_id = '' OR a.store_id = e.store_id)
    AND a.action IN ${dialect.each.text}
    AND (a.action <> 'webhooks.test' OR a.subject = e.endpoint_id)`
  /** The request of a replay that the endpoint has not read yet: it has not read all events again. */
  const unreadReplay = `
    SELECT a.seq FROM webhook_endpoints e JOIN audit a ON a.subject = e.endpoint_id
      AND a.action = 'webhooks.replay' AND ${isUnread} WHERE e.endpoint_id = ?`
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
      SELECT count(*) AS examined, min(u.seq) AS first,
        count(*) FILTER (WHERE is_received) AS unread,
        min(u.seq) FILTER (WHERE is_received) AS first_unread
      FROM (
        SELECT a.seq, (${isReceived}) AS is_received FROM ${dialect.unread(isUnread)}) u`,
  }

  function* write(endpoint: StoredEndpoint): Program<void> {
    const values = dialect.values(ENDPOINTS, endpoint)
    yield* run(updateEndpointRow, ...values, endpoint.endpoint_id)
  }

  function* move(endpoint_id: string, { to, retry, renewed_at }: EndpointMove): Program<void> {
    if (to === 'newest') {
      yield* run(
        `UPDATE webhook_endpoints SET ${dialect.setNewest}, read_rest = '' WHERE endpoint_id = ?`,
        endpoint_id,
      )
    } else if (to !== undefined) {
      const replay = yield* find(unreadReplay, endpoint_id)
      if (replay) {
        const reason = `has a replay under way: wait until its cursor is above ${replay.seq}`
        throw invalidField('endpoint_id', 'replaying', reason)
      }
      const back = `
        UPDATE webhook_endpoints AS e SET ${setXid} ${setBack} read_seq = a.seq - 1, read_rest = ''
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
    write,
    move,
    updateEndpoint,

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

    /** Inserts, changes or deletes webhook endpoints, in the transaction of another change. */
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

    *countUnconfirmed(): Program<number> {
      const count = 'SELECT count(*) AS n FROM webhook_endpoints WHERE unconfirmed IS NOT NULL'
      return numberOf((yield* find(count))?.n)
    },

    *measureLag(endpoint_id: string, actions: readonly string[], most = LAG): Program<EndpointLag> {
      const messages = yield* find(sql.lag, most, endpoint_id)
      const entries = yield* find(sql.unreadLag, dialect.list(actions), endpoint_id, most)
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
    },
  }
}
