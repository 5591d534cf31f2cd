import { closeSync, constants, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import type { NumberedEntry } from '../../../domain/audit.ts'
import { TillError } from '../../../errors.ts'
import { syncFolder } from '../folder.ts'

/**
 * Creates a file for archived audit entries: JSON lines, in ascending order of their sequence
 * numbers. Throws if there is a file, so that no archive run can damage an earlier archive.
 */
export function createArchiveFile(path: string) {
  const { O_WRONLY, O_CREAT, O_EXCL, O_APPEND } = constants
  // With O_EXCL, a symbolic link counts as a file.
  const fd = explained(path, () => openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0o600))
  let lastSeq = 0

  return {
    /** Appends entries, and calls fsync. Leaves out those that it has written already. */
    write: (entries: readonly NumberedEntry[]) =>
      explained(path, () => {
        if (lastSeq === 0) syncFolder(dirname(path))
        // A transaction that failed after it wrote its page is repeated.
        const added = entries.filter(({ seq }) => seq > lastSeq)
        const bytes = Buffer.from(added.map((entry) => `${JSON.stringify(entry)}\n`).join(''))
        for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at)
        fsyncSync(fd)
        lastSeq = added.at(-1)?.seq ?? lastSeq
      }),
    /** Deletes the file if it is empty. */
    close(): void {
      closeSync(fd)
      if (lastSeq === 0) rmSync(path)
    },
  }
}

function explained<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const reason = code === 'EEXIST' ? 'it exists: archive into a new file' : message
    throw new TillError('invalid_request', `Cannot archive into ${path}: ${reason}`)
  }
}
