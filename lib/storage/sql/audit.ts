import { type ArchivePage, archiveInto, splitPage } from '../archive.ts'
import { text } from '../columns.ts'
import {
  afterIdempotencyRecords,
  changedFingerprints,
  FIRST_IDEMPOTENCY_RECORD,
} from '../fingerprints.ts'
import { recordPage } from '../pages.ts'
import type { AuditMethods, AuditPage, Page } from '../port.ts'
import { pseudonymizedPage, pseudonymOf } from '../pseudonym.ts'
import { AUDIT, IDEMPOTENCY_RECORDS, numberedEntry } from '../tables.ts'
import { verifyAuthority } from './authority.ts'
import type { Sql } from './dialect.ts'
import { findRecord, listBySeq, pageOf } from './pages.ts'
import { all, type Program, run } from './program.ts'
import { findNeeded } from './webhooks/log.ts'
import { recordWrite } from './write.ts'

export function auditMethods(sql: Sql): AuditMethods {
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
    verifyAuthority: (authority) => write(() => verifyAuthority(sql, authority)),
    findIdempotencyRecord: (account_id, key) =>
      read(findRecord(IDEMPOTENCY_RECORDS.read, FIND_IDEMPOTENCY_RECORD, account_id, key)),
    listIdempotencyRecords: (account_id, page) => read(listIdempotencyRecords(account_id, page)),
    listAudit: (account_id, page) => read(listAudit(account_id, page)),
    listRecentAudit: (account_id, page) => read(listNewest(RECENT_AUDIT, account_id, page)),
    listItemAudit: (item_id, page) => read(listNewest(AUDIT_OF_ITEM, item_id, page)),
    listSettled: (page) => read(sql.listSettled(page)),
    insertAudit: (...writes) =>
      write(function* () {
        for (const { authority } of writes) yield* verifyAuthority(sql, authority)
        yield* recordWrite(sql, ...writes)
      }),
    updateFingerprints: (change, { limit, after = FIRST_IDEMPOTENCY_RECORD }) =>
      write(function* () {
        const [account_id, key] = JSON.parse(after) as [string, string]
        const rows = yield* all(PAGE_OF_FINGERPRINTS + sql.forUpdate, account_id, key, limit)
        const changed = changedFingerprints(rows, change)
        if (changed.length > 0) yield* run(updateFingerprints, changed)
        return { updated: changed.length, ...afterIdempotencyRecords(rows, limit) }
      }),
    archiveAudit: (request) =>
      archiveInto(request, (step) => write(() => archivePage(step), { isAlone: true })),
    async pseudonymizeAudit(account_id, user, page, options = {}) {
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
const PAGE_OF_IDEMPOTENCY_RECORDS = `
  SELECT ${IDEMPOTENCY_RECORDS.list} FROM idempotency_records WHERE account_id = ? AND key > ?
  ORDER BY key LIMIT ?`
const PAGE_OF_FINGERPRINTS = `
  SELECT account_id, key, fingerprint FROM idempotency_records
  WHERE (account_id, key) > (?, ?) ORDER BY account_id, key LIMIT ?`

export const PAGE_OF_AUDIT = pageOf(AUDIT)
const PAGE_OF_AUDIT_OF_ACCOUNT = pageOf(AUDIT, 'account_id')
const RECENT_AUDIT = recentAudit('account_id = ?')
const AUDIT_OF_ITEM = recentAudit(
  // Repeats the condition of the partial index: without it, the databases would not use that index.
  "subject = ? AND action IN ('item.update', 'item.archive', 'item.restore')",
)

function recentAudit(condition: string): string {
  return `SELECT seq, ${AUDIT.list} FROM audit
    WHERE ${condition} AND seq < CAST(? AS bigint) ORDER BY seq DESC LIMIT ?`
}

function* listIdempotencyRecords(account_id: string, page: Page) {
  const { after = '', limit } = page
  const rows = yield* all(PAGE_OF_IDEMPOTENCY_RECORDS, account_id, after, limit + 1)
  return recordPage(rows, page, IDEMPOTENCY_RECORDS.read, ({ key }) => key)
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
