import type { Program } from '../program.ts'
import type { Page, SettledPage } from '../records.ts'

/** The programs of the audit log that differ. */
export interface AuditDialect {
  listSettled(page: Page): Program<SettledPage>
  /** Excludes other archive runs. Throws if entries from before this time are still needed. */
  beginArchive(before: string): Program<void>
}
