import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Calls fsync on a directory: a new or renamed file in it is not durable before. */
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
 * Ignored errors: Windows (EPERM, EISDIR) and some file systems (EINVAL) do not sync directories, and
 * a directory without read permission cannot be opened (EACCES).
 */
const UNSUPPORTED = new Set(['EACCES', 'EINVAL', 'EISDIR', 'EPERM'])
