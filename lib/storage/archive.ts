import type { NumberedEntry } from '../domain/audit.ts'
import { openArchiveFile } from './archive-file.ts'
import { pagesOf } from './pages.ts'
import type { ArchiveRequest, Page, WriteOptions } from './records.ts'

/**
 * Archives the old entries of one page of the audit log, in one transaction that excludes other
 * archive runs. Passes these entries to `keep`, deletes them from the log, and inserts the audit
 * entry that `write` contains.
 */
export type ArchivePage = (step: {
  readonly before: string
  readonly page: Page
  readonly keep: (entries: readonly NumberedEntry[]) => void
  /**
   * Unix milliseconds. Entries that may still have to be sent to a webhook endpoint stay in the
   * log. Endpoints that were stopped or began to fail before this time do not count.
   */
  readonly stopped_before: number
  readonly write: WriteOptions
}) => Promise<{ readonly archived: number; readonly next?: string }>

/** The number of audit entries in a batch. Moving a batch holds the write lock for some 30 ms. */
const BATCH = 2_000

/**
 * Moves old audit entries to a file as JSON lines, in batches. Stops at the first entry that is not
 * older than `before`. Deletes a batch from the log only after an fsync of the file. If the process
 * crashes after the fsync, the next run finds the batch in the file and deletes it from the log.
 */
export async function archiveInto(
  { before, file, write = {}, stopped_before = 0, onProgress, signal }: ArchiveRequest,
  archivePage: ArchivePage,
): Promise<number> {
  const target = openArchiveFile(file)
  let archived = 0
  const archiveNext = async (page: Page) => {
    signal?.throwIfAborted()
    // Only the first batch writes the audit entry of the whole run.
    const first = archived === 0 ? write : {}
    return archivePage({ before, page, keep: target.keep, stopped_before, write: first })
  }
  try {
    for await (const done of pagesOf(archiveNext, BATCH)) {
      archived += done.archived
      onProgress?.(archived)
    }
    return archived
  } finally {
    target.close()
  }
}

/**
 * Returns the entries of a page to archive, and the cursor of the next page. Stops at the first
 * entry that is not older than `before`, or whose `seq` is `needed` or higher. If a clock was
 * changed, later entries may be older than `before`. They stay in the log, because the sequence
 * numbers in a file must ascend.
 */
export function splitPage(
  entries: readonly NumberedEntry[],
  before: string,
  { limit }: Page,
  needed = Number.POSITIVE_INFINITY,
) {
  const end = entries.findIndex(({ at, seq }) => at >= before || seq >= needed)
  if (end >= 0) return { old: entries.slice(0, end) }
  const isLast = entries.length < limit
  return { old: entries, ...(isLast ? {} : { next: String(entries.at(-1)?.seq) }) }
}
