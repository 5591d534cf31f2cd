import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Calls fsync on a directory, so that a crash does not lose a new or renamed file in it. */
export function syncFolder(folder: string): void {
  let fd: number | undefined
  try {
    fd = openSync(folder, 'r')
    fsyncSync(fd)
  } catch (error) {
    if (!UNSUPPORTED.has((error as NodeJS.ErrnoException).code ?? '')) throw error
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/**
 * Errors to ignore. Windows (EPERM, EISDIR) and some file systems (EINVAL) cannot fsync
 * directories. A directory without read permission cannot be opened (EACCES).
 */
const UNSUPPORTED = new Set(['EACCES', 'EINVAL', 'EISDIR', 'EPERM'])
