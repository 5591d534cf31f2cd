import type { AuditEntry } from '../domain/audit.ts'
import { openArchiveFile } from './archivefile.ts'
import { pagesOf } from './pages.ts'
import type { ArchiveRequest, Page, WriteOptions } from './port.ts'

/** An entry with its number, which is never given to another one. */
export interface NumberedEntry extends AuditEntry {
  readonly seq: number
}

/**
 * Moves the old entries of one page out of the log, in one transaction that no other archive shares:
 * calls `keep` with them, which does not await, then deletes exactly those and writes `audit entry`.
 */
export type ArchivePage = (step: {
  readonly before: string
  readonly page: Page
  readonly keep: (entries: readonly NumberedEntry[]) => void
  readonly write: WriteOptions
}) => Promise<{ readonly archived: number; readonly next?: string }>

/** A batch holds the write lock for some 30 ms. */
const BATCH = 2_000

/**
 * Moves the entries up to the first that is not older than `before` from the log to the end of a
 * file, a JSON line each, batch by batch. A batch is deleted once it is on the disk. A run that was killed has at worst written a
 * batch that it did not delete: the next run finds it in the file and only deletes it.
 */
export async function archiveInto(
  { before, file, write = {}, onProgress, signal }: ArchiveRequest,
  archivePage: ArchivePage,
): Promise<number> {
  const target = openArchiveFile(file)
  let archived = 0
  const archiveNext = async (page: Page) => {
    signal?.throwIfAborted()
    // One audit entry reports the whole run. The first batch writes it.
    const first = archived === 0 ? write : {}
    return archivePage({ before, page, keep: target.keep, write: first })
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
 * The first entries of a page that are older, and where the next page begins. The first entry that is
 * not older ends the archive, as a clock may have jumped: the numbers in a file must ascend, and an
 * earlier one that stays could never be added to it.
 */
export function splitPage(entries: readonly NumberedEntry[], before: string, { limit }: Page) {
  const end = entries.findIndex(({ at }) => at >= before)
  if (end >= 0) return { old: entries.slice(0, end) }
  const isLast = entries.length < limit
  return { old: entries, ...(isLast ? {} : { next: String(entries.at(-1)?.seq) }) }
}
