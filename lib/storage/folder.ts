import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Makes a new or renamed file durable, which needs an fsync of its directory too. */
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
 * Windows syncs no directory (EPERM, EISDIR), some file systems do not either (EINVAL), and one that
 * may be written but not read can not be opened (EACCES).
 */
const UNSUPPORTED = new Set(['EACCES', 'EINVAL', 'EISDIR', 'EPERM'])
