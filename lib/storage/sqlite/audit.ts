import { PAGE_OF_AUDIT } from '../sql/audit/audit.ts'
import type { AuditDialect } from '../sql/audit/dialect.ts'
import { all, find } from '../sql/program.ts'
import { numberedEntry } from '../sql/tables.ts'

export const AUDIT_LOG: AuditDialect = {
  *listSettled({ limit, after = '0' }) {
    if (limit === 0) {
      const last = yield* find('SELECT coalesce(max(seq), 0) AS seq FROM audit')
      return { entries: [], position: String(last?.seq) }
    }
    const entries = (yield* all(PAGE_OF_AUDIT, after, limit)).map(numberedEntry)
    return { entries, position: String(entries.at(-1)?.seq ?? after) }
  },
  *beginArchive() {},
}
