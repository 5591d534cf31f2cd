import type { Authority } from '../../../domain/authority.ts'
import type { ParsedOf } from '../../../domain/fields.ts'
import { formatInstant } from '../../../domain/instant.ts'
import type { recentAuditFields } from '../../../domain/query.ts'
import { verifyAuthority, WITHOUT_LOCKS } from '../authority.ts'
import type { Sql } from '../dialect.ts'
import { pagesOf } from '../lists.ts'
import { EXAMINED, findRecord, listBySeq, pageOf } from '../pages.ts'
import { all, find, type Program, run } from '../program.ts'
import { isAbout, namesOf, pseudonymOf } from '../pseudonym.ts'
import type { ArchiveRequest, AuditPage, Page, UserKey, WriteOptions } from '../records.ts'
import { IS_ITEM_CHANGE } from '../schema.ts'
import { AUDIT, IDEMPOTENCY_RECORDS, numberedEntry } from '../tables.ts'
import { findNeeded } from '../webhooks/log.ts'
import { recordWrite } from '../write.ts'
import { createArchiveFile } from './archive-file.ts'

export function auditMethods(sql: Sql) {
  const { read, write } = sql
  const pseudonymize = `
    UPDATE audit SET actor = CASE actor WHEN ? THEN ? ELSE actor END,
      subject = CASE subject WHEN ? THEN ? ELSE subject END
    WHERE seq IN ${sql.each.bigint}`
  const deleteEntries = `DELETE FROM audit WHERE seq IN ${sql.each.bigint}`

  return {
    /**
     * For a call that writes nothing: throws if a condition of the `Authority` is not met. Only
     * reads, and waits for no lock.
     */
    verifyAuthority: (authority: Authority) => read(verifyAuthority(WITHOUT_LOCKS, authority)),
    findIdempotencyRecord: (account_id: string, key: string) =>
      read(findRecord(IDEMPOTENCY_RECORDS.read, FIND_IDEMPOTENCY_RECORD, account_id, key)),
    /** Lists the audit log of one account or of all, oldest entries first. */
    listAudit: (account_id: string | undefined, page: Page) =>
      account_id === undefined
        ? read(listEntries(PAGE_OF_AUDIT, page))
        : read(listEntries(PAGE_OF_AUDIT_OF_ACCOUNT, page, account_id)),
    /**
     * Lists the entries of one account that match the filter, newest first. With a filter, a page
     * examines 10,000 entries at most, and then has a `next` also if it has few entries.
     */
    listRecentAudit: (account_id: string, filter: AuditFilter, page: Page) =>
      read(listRecent(account_id, filter, { after: AFTER_ALL, ...page })),
    /** Lists the audit entries about an item, except that of its creation; newest first. */
    listItemAudit: (item_id: string, page: Page) =>
      read(listEntries(AUDIT_OF_ITEM, { after: AFTER_ALL, ...page }, item_id)),
    /**
     * Lists the entries of all accounts in an order that never changes: every entry that is committed
     * later comes after the listed ones. `after` is an earlier `position`. With `limit` 0, resolves
     * to the newest position.
     */
    listSettled: (page: Page) => read(sql.audit.listSettled(page)),
    /**
     * Writes audit entries, idempotency records and key checks, in the order of `writes`. Changes
     * nothing else.
     */
    insertAudit: (...writes: readonly WriteOptions[]) =>
      write(function* () {
        for (const { authority } of writes) yield* verifyAuthority(sql, authority)
        yield* recordWrite(sql, ...writes)
      }),
    /**
     * Removes the fingerprints (request hashes) that do not begin with `prefix`. Resolves to their
     * number.
     */
    clearFingerprints: (prefix: string) =>
      write(() => run(CLEAR_FINGERPRINTS, `${prefix}%`), { isLong: true }),
    /**
     * Moves old audit entries to a new file as JSON lines, in batches. Stops at the first entry that
     * is not older than `before`. Deletes a batch from the log only after an fsync of the file. After
     * a crash in between, the next file has the batch again. Resolves to the number of moved entries.
     */
    async archiveAudit(request: ArchiveRequest) {
      const { before, file, stopped_before = 0, onProgress, signal } = request
      const archive = createArchiveFile(file)
      let archived = 0

      function* archivePage({ limit, after = '0' }: Page) {
        yield* sql.audit.beginArchive(before)
        const entries = (yield* all(PAGE_OF_AUDIT, after, limit)).map(numberedEntry)
        const needed = (yield* findNeeded(sql, stopped_before)) ?? Number.POSITIVE_INFINITY
        // If a clock was changed, later entries may be older than `before`. They stay in the log,
        // because the sequence numbers in a file must ascend.
        const end = entries.findIndex(({ at, seq }) => at >= before || seq >= needed)
        const old = end < 0 ? entries : entries.slice(0, end)
        const seqs = old.map(({ seq }) => seq)
        const last = seqs.at(-1)
        if (last === undefined) return { count: 0 }
        archive.write(old)
        // Only the first batch writes the audit entry of the whole run. It does so before it deletes
        // entries: a trigger looks for it, and SQLite gives each new entry the number after the newest.
        if (archived === 0) yield* recordWrite(sql, request.write)
        yield* run(deleteEntries, seqs)
        return { count: old.length, ...(old.length === limit && { next: String(last) }) }
      }

      try {
        const pages = pagesOf((page) => {
          signal?.throwIfAborted()
          return write(() => archivePage(page), { isAlone: true })
        }, ARCHIVED_A_BATCH)
        for await (const { count } of pages) {
          archived += count
          onProgress?.(archived)
        }
        return archived
      } finally {
        archive.close()
      }
    },
    /** Replaces a user's id by the pseudonym in one page of an account's audit entries. */
    async pseudonymizeAudit(
      account_id: string,
      user: UserKey,
      page: Page,
      { authority }: Pick<WriteOptions, 'authority'> = {},
    ) {
      const { actor, subject } = namesOf(user)
      const erased = namesOf({ ...user, user_id: pseudonymOf(user) })
      const numbered = { read: numberedEntry }
      const { records, ...further } = await read(
        listBySeq(numbered, PAGE_OF_AUDIT_OF_ACCOUNT, page, account_id),
      )
      const own = records.filter((entry) => isAbout(entry, { actor, subject }))
      const seqs = own.map(({ seq }) => seq)
      if (seqs.length > 0) {
        await write(function* () {
          yield* verifyAuthority(sql, authority)
          yield* run(pseudonymize, actor, erased.actor, subject, erased.subject, seqs)
        })
      }
      return { changed: seqs.length, ...further }
    },
  }
}

const FIND_IDEMPOTENCY_RECORD = `
  SELECT ${IDEMPOTENCY_RECORDS.list} FROM idempotency_records WHERE account_id = ? AND key = ?`
const CLEAR_FINGERPRINTS = `
  UPDATE idempotency_records SET fingerprint = ''
  WHERE fingerprint <> '' AND fingerprint NOT LIKE ?`

/** Moving a batch to an archive holds the write lock for some 30 ms. */
const ARCHIVED_A_BATCH = 2_000

export const PAGE_OF_AUDIT = pageOf(AUDIT)
const PAGE_OF_AUDIT_OF_ACCOUNT = pageOf(AUDIT, 'account_id')
const RECENT_AUDIT = recentAudit('account_id = ?')
const AUDIT_OF_ITEM = recentAudit(
  // Without the condition of the partial index, the databases would not use that index.
  `subject = ? AND ${IS_ITEM_CHANGE}`,
)

/** Selects audit entries. Times are Unix milliseconds. */
type AuditFilter = Omit<ParsedOf<typeof recentAuditFields>, 'limit' | 'cursor'>

function* listRecent(account_id: string, filter: AuditFilter, page: Page & { after: string }) {
  const { subject = '', from, to } = filter
  if (subject === '' && from === undefined && to === undefined) {
    return yield* listEntries(RECENT_AUDIT, page, account_id)
  }
  const last = (yield* find(LAST_EXAMINED, account_id, page.after))?.seq as string | undefined
  const times = [
    from === undefined ? '' : formatInstant(from),
    to === undefined ? '~' : formatInstant(to),
  ]
  const values = [account_id, subject, subject, ...times, last ?? '0']
  const found = yield* listEntries(FILTERED_AUDIT, page, ...values)
  return last === undefined ? found : { next: last, ...found }
}

const LAST_EXAMINED = `
  SELECT CAST(seq AS text) AS seq FROM audit WHERE account_id = ? AND seq < CAST(? AS bigint)
  ORDER BY seq DESC LIMIT 1 OFFSET ${EXAMINED - 1}`
const FILTERED_AUDIT = recentAudit(
  `account_id = ? AND (CAST(? AS text) = '' OR subject = ?) AND at >= ? AND at < ?
    AND seq >= CAST(? AS bigint)`,
)

function recentAudit(condition: string): string {
  return `SELECT seq, ${AUDIT.list} FROM audit
    WHERE ${condition} AND seq < CAST(? AS bigint) ORDER BY seq DESC LIMIT ?`
}

/** The greatest 64-bit integer: the cursor before the newest audit entry. */
const AFTER_ALL = '9223372036854775807'

function* listEntries(sql: string, page: Page, ...owner: readonly string[]): Program<AuditPage> {
  const { records: entries, ...further } = yield* listBySeq(AUDIT, sql, page, ...owner)
  return { entries, ...further }
}
