import { text } from '../../columns.ts'
import type { ReadyPage, ReadyRequest } from '../../records.ts'
import type { Dialect } from '../dialect.ts'
import { all, type Program } from '../program.ts'
import { COUNT_WAITING, IS_WAITING } from './dialect.ts'

const ACCOUNTS = 100
const ENDPOINTS_OF_ACCOUNT = 100
/**
 * If an endpoint is for a single store and only other stores have unread entries, the endpoint is
 * ready from this many entries on. Its position then moves past them.
 */
const ENTRIES = 20

/**
 * Returns a program that finds active endpoints with due messages or unread entries, except those
 * that another holder has leased. Examines up to 100 endpoints of each of up to 100 accounts, in the
 * order of their ids.
 */
export function readyProgram(sql: Dialect) {
  const { isUnread, isSettled, order, clock } = sql.webhooks
  const unread = `FROM audit a WHERE ${isUnread} AND ${isSettled}`
  // Uses `(SELECT …) IS NOT NULL`: in EXISTS, PostgreSQL ignores ORDER BY, and may scan the whole
  // log.
  const hasUnread = `CASE WHEN e.store_id = ''
    THEN (SELECT 1 ${unread} ORDER BY ${order} LIMIT 1) IS NOT NULL
    ELSE EXISTS (
        SELECT 1 FROM (SELECT a.store_id ${unread} ORDER BY ${order} LIMIT ${ENTRIES}) u
        WHERE u.store_id = e.store_id)
      OR (SELECT 1 ${unread} ORDER BY ${order} LIMIT 1 OFFSET ${ENTRIES - 1}) IS NOT NULL END`

  /**
   * Finds the next accounts that have active endpoints, with one index lookup for each account.
   * `first` and `last` limit the endpoints to examine.
   */
  const ACTIVE = "webhook_endpoints e WHERE e.state = 'active'"
  const findAccounts = `
    WITH RECURSIVE accounts (account_id, number) AS (
      SELECT (SELECT min(e.account_id) FROM ${ACTIVE} AND e.account_id > ?), 1
      UNION ALL
      SELECT (SELECT min(e.account_id) FROM ${ACTIVE} AND e.account_id > c.account_id), number + 1
      FROM accounts c WHERE c.account_id IS NOT NULL AND number < ${ACCOUNTS})
    SELECT c.account_id, coalesce(x.endpoint_id, '') AS first, (
      SELECT e.endpoint_id FROM ${ACTIVE} AND e.account_id = c.account_id
        AND e.endpoint_id > coalesce(x.endpoint_id, '')
      ORDER BY e.endpoint_id LIMIT 1 OFFSET ${ENDPOINTS_OF_ACCOUNT - 1}) AS last
    FROM accounts c
    LEFT JOIN ${sql.rows({ account_id: text(), endpoint_id: text() })} x
      ON x.account_id = c.account_id
    WHERE c.account_id IS NOT NULL ORDER BY c.account_id`

  const findEndpoints = `
    SELECT e.account_id, e.endpoint_id
    FROM ${sql.rows({ account_id: text(), first: text(), last: text() })} x
    JOIN webhook_endpoints e ON e.account_id = x.account_id AND e.state = 'active'
      AND e.endpoint_id > x.first AND (x.last IS NULL OR e.endpoint_id <= x.last)
    WHERE e.due_at <= ? AND (e.holder = ? OR e.lease_until <= ${clock})
      AND e.endpoint_id NOT IN ${sql.each.text}
      AND (EXISTS (SELECT 1 FROM webhook_messages m WHERE m.endpoint_id = e.endpoint_id
            AND ${IS_WAITING} AND m.next_at <= ?)
        OR (${hasUnread} AND ${COUNT_WAITING} < ?))
    ORDER BY e.endpoint_id`

  return function* findReady(request: ReadyRequest): Program<ReadyPage> {
    const { holder, now, most, except, exceptAccounts, after, examined } = request
    const cursors = Array.from(examined, ([account_id, endpoint_id]) => {
      return { account_id, endpoint_id }
    })
    const found = yield* all(findAccounts, after, cursors)
    const wanted = found.filter(({ account_id }) => !exceptAccounts.includes(String(account_id)))
    const ready =
      wanted.length === 0
        ? []
        : yield* all(...[findEndpoints, wanted, now, holder, except], ...[now, most, most])
    const accounts = wanted.map(({ account_id, last }) => ({
      account_id: account_id as string,
      endpoint_ids: ready.flatMap((each) =>
        each.account_id === account_id ? (each.endpoint_id as string) : [],
      ),
      ...(last !== null && { examined: last as string }),
    }))
    const isLast = found.length < ACCOUNTS
    return { accounts, ...(!isLast && { next: found.at(-1)?.account_id as string }) }
  }
}
