import type { Authority } from '../../domain/authority.ts'
import { type ArchivePage, archiveInto, splitPage } from '../archive.ts'
import { type Row, text } from '../columns.ts'
import { recordPage } from '../pages.ts'
import { pseudonymizedPage, pseudonymOf } from '../pseudonym.ts'
import type { ArchiveRequest, AuditPage, Page, UserKey, WriteOptions } from '../records.ts'
import { IS_ITEM_CHANGE } from '../schema.ts'
import { AUDIT, IDEMPOTENCY_RECORDS, numberedEntry } from '../tables.ts'
import { verifyAuthority } from './authority.ts'
import type { Sql } from './dialect.ts'
import { findRecord, listBySeq, pageOf } from './pages.ts'
import { all, type Program, run } from './program.ts'
import { findNeeded } from './webhooks/log.ts'
import { recordWrite } from './write.ts'

export function auditMethods(sql: Sql) {
  const { read, write } = sql
  const updateFingerprints = `
    UPDATE idempotency_records AS r SET fingerprint = n.fingerprint
    FROM ${sql.rows({ account_id: text(), key: text(), fingerprint: text() })} n
    WHERE r.account_id = n.account_id AND r.key = n.key`
  const deleteEntries = `DELETE FROM audit WHERE seq IN ${sql.each.bigint}`

  function* archivePage(step: Parameters<ArchivePage>[0]) {
    const { before, page, keep, stopped_before } = step
    yield* sql.beginArchive(before)
    const rows = yield* all(PAGE_OF_AUDIT, page.after ?? '0', page.limit)
    const needed = yield* findNeeded(sql, stopped_before)
    const { old, ...further } = splitPage(rows.map(numberedEntry), before, page, needed)
    if (old.length === 0) return { archived: 0, ...further }
    keep(old)
    const seqs = old.map(({ seq }) => seq)
    yield* run('INSERT INTO audit_archive (last_seq) VALUES (?)', Math.max(...seqs))
    yield* run(deleteEntries, seqs)
    yield* run('DELETE FROM audit_archive')
    yield* recordWrite(sql, step.write)
    return { archived: old.length, ...further }
  }

  return {
    /**
     * For a call that writes nothing: throws if a condition of the `Authority` is not met. Without
     * row locks, this is only a read, and does not wait for the lock of the SQLite file.
     */
    verifyAuthority: (authority: Authority) =>
      sql.forShare === ''
        ? read(verifyAuthority(sql, authority))
        : write(() => verifyAuthority(sql, authority)),
    findIdempotencyRecord: (account_id: string, key: string) =>
      read(findRecord(IDEMPOTENCY_RECORDS.read, FIND_IDEMPOTENCY_RECORD, account_id, key)),
    /** Lists the audit log of one account or of all, oldest entries first. */
    listAudit: (account_id: string | undefined, page: Page) => read(listAudit(account_id, page)),
    /** Lists the audit log of one account, newest entries first. */
    listRecentAudit: (account_id: string, page: Page) =>
      read(listNewest(RECENT_AUDIT, account_id, page)),
    /** Lists the audit entries about an item, except that of its creation; newest first. */
    listItemAudit: (item_id: string, page: Page) => read(listNewest(AUDIT_OF_ITEM, item_id, page)),
    /**
     * Lists the entries of all accounts in an order that never changes: every entry that is committed
     * later comes after the listed ones. `after` is an earlier `position`. With `limit` 0, resolves
     * to the newest position.
     */
    listSettled: (page: Page) => read(sql.listSettled(page)),
    /**
     * Writes audit entries, idempotency records and key checks, in the order of `writes`. Changes
     * nothing else.
     */
    insertAudit: (...writes: readonly WriteOptions[]) =>
      write(function* () {
        for (const { authority } of writes) yield* verifyAuthority(sql, authority)
        yield* recordWrite(sql, ...writes)
      }),
    /** Applies `change` to the fingerprints (request hashes) of one page of idempotency records. */
    updateFingerprints: (
      change: (fingerprint: string) => string,
      { limit, after = FIRST_IDEMPOTENCY_RECORD }: Page,
    ) =>
      write(function* () {
        const [account_id, key] = JSON.parse(after) as [string, string]
        const rows = yield* all(PAGE_OF_FINGERPRINTS + sql.forUpdate, account_id, key, limit)
        const changed = changedFingerprints(rows, change)
        if (changed.length > 0) yield* run(updateFingerprints, changed)
        return { updated: changed.length, ...afterIdempotencyRecords(rows, limit) }
      }),
    /** Moves old audit entries into a file. Resolves to their number. See `archive.ts`. */
    archiveAudit: (request: ArchiveRequest) =>
      archiveInto(request, (step) => write(() => archivePage(step), { isAlone: true })),
    /** Replaces a user's id by the pseudonym in one page of an account's audit entries. */
    async pseudonymizeAudit(
      account_id: string,
      user: UserKey,
      page: Page,
      options: WriteOptions = {},
    ) {
      const { limit, after = '0' } = page
      const rows = await read(all(PAGE_OF_AUDIT_OF_ACCOUNT, account_id, after, limit + 1))
      const { records, ...further } = pseudonymizedPage(rows, page, user)
      if (records.length > 0) {
        await write(function* () {
          yield* verifyAuthority(sql, options.authority)
          yield* run('INSERT INTO audit_pseudonym (pseudonym) VALUES (?)', pseudonymOf(user))
          for (const { actor, subject, seq } of records) {
            yield* run('UPDATE audit SET actor = ?, subject = ? WHERE seq = ?', actor, subject, seq)
          }
          yield* run('DELETE FROM audit_pseudonym')
          yield* recordWrite(sql, options)
        })
      }
      return { changed: records.length, ...further }
    },
  }
}

const FIND_IDEMPOTENCY_RECORD = `
  SELECT ${IDEMPOTENCY_RECORDS.list} FROM idempotency_records WHERE account_id = ? AND key = ?`
const PAGE_OF_FINGERPRINTS = `
  SELECT account_id, key, fingerprint FROM idempotency_records
  WHERE (account_id, key) > (?, ?) ORDER BY account_id, key LIMIT ?`

export const PAGE_OF_AUDIT = pageOf(AUDIT)
const PAGE_OF_AUDIT_OF_ACCOUNT = pageOf(AUDIT, 'account_id')
const RECENT_AUDIT = recentAudit('account_id = ?')
const AUDIT_OF_ITEM = recentAudit(
  // Without the condition of the partial index, the databases would not use that index.
  `subject = ? AND ${IS_ITEM_CHANGE}`,
)

function recentAudit(condition: string): string {
  return `SELECT seq, ${AUDIT.list} FROM audit
    WHERE ${condition} AND seq < CAST(? AS bigint) ORDER BY seq DESC LIMIT ?`
}

function* listAudit(account_id: string | undefined, page: Page): Program<AuditPage> {
  const { records: entries, ...further } =
    account_id === undefined
      ? yield* listBySeq(AUDIT, PAGE_OF_AUDIT, page)
      : yield* listBySeq(AUDIT, PAGE_OF_AUDIT_OF_ACCOUNT, page, account_id)
  return { entries, ...further }
}

/** The greatest 64-bit integer: the cursor before the newest audit entry. */
const AFTER_ALL = '9223372036854775807'

function* listNewest(sql: string, owner: string, page: Page): Program<AuditPage> {
  const rows = yield* all(sql, owner, page.after ?? AFTER_ALL, page.limit + 1)
  const { records: entries, ...further } = recordPage(rows, page, AUDIT.read, ({ seq }) => seq)
  return { entries, ...further }
}

/** The cursor before the first idempotency record: an account id and a key, as JSON. */
const FIRST_IDEMPOTENCY_RECORD = '["",""]'

/**
 * Calls `change` with the fingerprint (the hash of the request) of each idempotency record. Returns
 * the records whose fingerprint changes, with the new fingerprint.
 */
function changedFingerprints(rows: readonly Row[], change: (fingerprint: string) => string) {
  return rows.flatMap((row) => {
    const fingerprint = change(row.fingerprint as string)
    if (fingerprint === row.fingerprint) return []
    return { account_id: row.account_id as string, key: row.key as string, fingerprint }
  })
}

/** Returns the cursor of the next page, if there is one. */
function afterIdempotencyRecords(rows: readonly Row[], limit: number): { readonly next?: string } {
  const last = rows.at(-1)
  if (!last || rows.length < limit) return {}
  return { next: JSON.stringify([last.account_id, last.key]) }
}
