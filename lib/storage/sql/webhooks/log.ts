import type { MessageKey } from '../../../domain/message.ts'
import { numberOf } from '../../columns.ts'
import { recordPage } from '../../pages.ts'
import type { Page } from '../../records.ts'
import { MESSAGES, numberedEntry } from '../../tables.ts'
import type { Dialect } from '../dialect.ts'
import { findRecord } from '../pages.ts'
import { all, find, type Program, run } from '../program.ts'
import { ENTRY_COLUMNS, IS_WAITING, MESSAGE_COLUMNS } from './dialect.ts'

export function* listMessages(endpoint_id: string, state: string | undefined, page: Page) {
  const condition = state === undefined ? '' : 'AND m.state = ?'
  const list = `
    SELECT m.seq, ${MESSAGE_COLUMNS} FROM webhook_messages m
    WHERE m.endpoint_id = ? ${condition} AND m.seq < CAST(? AS bigint)
    ORDER BY m.seq DESC LIMIT ?`
  const values = state === undefined ? [endpoint_id] : [endpoint_id, state]
  const after = page.after ?? String(Number.MAX_SAFE_INTEGER)
  const rows = yield* all(list, ...values, after, page.limit + 1)
  return recordPage(rows, page, MESSAGES.read, ({ seq }) => seq)
}

export function findMessage({ endpoint_id, sequence, part }: MessageKey) {
  return findRecord(MESSAGES.read, FIND_MESSAGE, endpoint_id, sequence, part)
}

export function* pruneMessages(endpoint_id: string, before: number, keep: number): Program<void> {
  // The messages are nearly in order of time. Deletes only the messages before the first recent
  // one, although a few old ones may follow it.
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
}

export function* clearAnswers(project_id: string): Program<void> {
  const clear = `UPDATE webhook_messages SET answer = NULL WHERE answer IS NOT NULL
    AND endpoint_id IN (SELECT endpoint_id FROM webhook_endpoints WHERE project_id = ?)`
  yield* run(clear, project_id)
}

export function* findEntries({ each }: Dialect, sequences: readonly number[]) {
  const found = `SELECT ${ENTRY_COLUMNS} FROM audit a WHERE a.seq IN ${each.bigint}`
  return (yield* all(found, sequences)).map(numberedEntry)
}

export function* findSequence(project_id: string, since: string): Program<number | undefined> {
  const first = 'SELECT min(seq) AS seq FROM audit WHERE project_id = ? AND at >= ?'
  const row = yield* find(first, project_id, since)
  return row?.seq === null || !row ? undefined : numberOf(row.seq)
}

/**
 * Finds the first audit entry that an endpoint has not read, or of which it has a waiting
 * message. Ignores endpoints that were stopped or began to fail before `stopped_before`.
 */
export function* findNeeded(
  { webhooks: { isUnread, order } }: Dialect,
  stopped_before: number,
): Program<number | undefined> {
  const needs = 'coalesce(e.stopped_at, e.failing_since, ?) >= ?'
  // The last condition keeps PostgreSQL from scanning the whole log when nothing is unread.
  const unread = `SELECT min((SELECT min(a.seq) FROM audit a WHERE ${isUnread}
      AND (e.store_id = '' OR a.store_id = e.store_id))) AS seq
    FROM webhook_endpoints e WHERE ${needs}
      AND (SELECT 1 FROM audit a WHERE ${isUnread} ORDER BY ${order} LIMIT 1) IS NOT NULL`
  const waiting = `SELECT min(m.sequence) AS seq FROM webhook_endpoints e
    JOIN webhook_messages m ON m.endpoint_id = e.endpoint_id WHERE ${IS_WAITING} AND ${needs}`
  const times = [stopped_before, stopped_before]
  const found = [yield* find(unread, ...times), yield* find(waiting, ...times)]
  const known = found.flatMap((row) => (row && row.seq !== null ? numberOf(row.seq) : []))
  return known.length === 0 ? undefined : Math.min(...known)
}

const FIND_MESSAGE = `
  SELECT ${MESSAGE_COLUMNS} FROM webhook_messages m
  WHERE m.endpoint_id = ? AND m.sequence = ? AND m.part = ?`
