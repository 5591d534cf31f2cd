import type { MessageKey } from '../../../domain/message.ts'
import type { WebhookDeliveryState } from '../../../domain/webhook.ts'
import { verifyAuthority } from '../authority.ts'
import { numberOf } from '../columns.ts'
import type { Dialect, Sql } from '../dialect.ts'
import { findRecord, listBySeq } from '../pages.ts'
import { all, find, type Program, run } from '../program.ts'
import type { Page, WriteOptions } from '../records.ts'
import { MESSAGES, numberedEntry } from '../tables.ts'
import { recordWrite, shareOf } from '../write.ts'
import { ENTRY_COLUMNS, IS_OWN, IS_WAITING, isUnread, MESSAGE_COLUMNS } from './dialect.ts'

/** The methods for the messages of an endpoint, and for the entries of the audit log. */
export function logMethods(sql: Sql) {
  const { read, write } = sql
  const findSequence = `
    SELECT a.seq FROM webhook_endpoints e JOIN audit a ON ${sql.webhooks.isExamined}
    WHERE e.endpoint_id = ? AND a.project_id = e.project_id AND a.at >= ? ORDER BY a.seq LIMIT 1`
  const findEntries = `SELECT ${ENTRY_COLUMNS} FROM audit a WHERE a.seq IN ${sql.each.bigint}`

  return {
    /** Lists the messages of an endpoint, newest first. */
    listMessages(id: string, state: WebhookDeliveryState | undefined, page: Page) {
      const condition = state === undefined ? '' : 'AND m.state = ?'
      const list = `
        SELECT m.seq, ${MESSAGE_COLUMNS} FROM webhook_messages m
        WHERE m.endpoint_id = ? ${condition} AND m.seq < CAST(? AS bigint)
        ORDER BY m.seq DESC LIMIT ?`
      const values = state === undefined ? [id] : [id, state]
      const newestFirst = { after: String(Number.MAX_SAFE_INTEGER), ...page }
      return read(listBySeq(MESSAGES, list, newestFirst, ...values))
    },
    findMessage: ({ endpoint_id, sequence, part }: MessageKey) =>
      read(findRecord(MESSAGES.read, FIND_MESSAGE, endpoint_id, sequence, part)),
    /**
     * Deletes the delivered and failed messages of an endpoint that are older than `before`, or not
     * among its newest `keep` ones. Does not fsync: a later commit makes the deletion durable.
     */
    pruneMessages: (id: string, before: number, keep: number) =>
      write(
        function* () {
          const excess = yield* find(FIRST_EXCESS, id, keep)
          yield* run(DELETE_MESSAGES, id, before, excess ? numberOf(excess.seq) : 0)
        },
        { isLazy: true },
      ),
    /** Deletes the bodies of HTTP responses from the delivery logs of a project. */
    clearAnswers: (project_id: string, options: WriteOptions = {}) =>
      write(function* () {
        yield* verifyAuthority(sql, options.authority)
        yield* run(CLEAR_ANSWERS, project_id)
        yield* recordWrite(sql, options)
      }, shareOf(options)),
    findEntries: async (sequences: readonly number[]) =>
      (await read(all(findEntries, sequences))).map(numberedEntry),
    /**
     * Finds the `seq` of the first audit entry of the endpoint's project at or after `since`; ISO
     * 8601, UTC.
     */
    async findSequence(endpoint_id: string, since: string) {
      const row = await read(find(findSequence, endpoint_id, since))
      return row && numberOf(row.seq)
    },
  }
}

const FIND_MESSAGE = `
  SELECT ${MESSAGE_COLUMNS} FROM webhook_messages m
  WHERE m.endpoint_id = ? AND m.sequence = ? AND m.part = ?`
const FIRST_EXCESS = `
  SELECT seq + 1 AS seq FROM webhook_messages WHERE endpoint_id = ?
  ORDER BY seq DESC LIMIT 1 OFFSET ?`
const DELETE_MESSAGES = `
  DELETE FROM webhook_messages
  WHERE endpoint_id = ? AND state <> 'waiting' AND (created_at < ? OR seq < ?)`
const CLEAR_ANSWERS = `
  UPDATE webhook_messages SET answer = NULL WHERE answer IS NOT NULL
    AND endpoint_id IN (SELECT endpoint_id FROM webhook_endpoints WHERE project_id = ?)`

/**
 * Finds the first audit entry that an endpoint has not read, or of which it has a waiting
 * message. Ignores endpoints that were stopped or began to fail before `stopped_before`.
 */
export function* findNeeded(
  { webhooks }: Dialect,
  stopped_before: number,
): Program<number | undefined> {
  const unreadEntry = isUnread(webhooks)
  const needs = 'coalesce(e.stopped_at, e.failing_since, ?) >= ?'
  // The last condition keeps PostgreSQL from scanning the whole log when nothing is unread.
  const unread = `SELECT min((SELECT min(a.seq) FROM audit a WHERE ${unreadEntry}
      AND ${IS_OWN})) AS seq
    FROM webhook_endpoints e WHERE ${needs}
      AND (SELECT 1 FROM audit a WHERE ${unreadEntry} ORDER BY ${webhooks.order} LIMIT 1) IS NOT NULL`
  const waiting = `SELECT min(m.sequence) AS seq FROM webhook_endpoints e
    JOIN webhook_messages m ON m.endpoint_id = e.endpoint_id WHERE ${IS_WAITING} AND ${needs}`
  const times = [stopped_before, stopped_before]
  const found = [yield* find(unread, ...times), yield* find(waiting, ...times)]
  const known = found.flatMap((row) => (row && row.seq !== null ? numberOf(row.seq) : []))
  return known.length === 0 ? undefined : Math.min(...known)
}
