import { accessSync, constants, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { TillError } from '../lib/index.ts'

/** The mode of a file if other users may read or write it, else undefined. */
export function sharedMode(path: string): string | undefined {
  if (process.platform === 'win32') return undefined // modes on Windows do not describe other users
  const { mode = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {}
  return mode & 0o066 ? formatMode(mode) : undefined
}

/**
 * If this user may not use the database file, adds the file's owner and a remedy to the error. If
 * the file is missing, does so only when `create` is true.
 */
export function explainPermissions(error: unknown, path: string, create = false): unknown {
  if (!(error instanceof TillError) || error.code !== 'storage_unavailable') return error
  if (!create && accessCode(path) === 'ENOENT') return error
  // The directory must be writable too, because SQLite creates two more files there.
  const reason = deniedReason(path) ?? deniedReason(dirname(path))
  return reason ? new TillError(error.code, `${error.message}; ${reason}`) : error
}

function deniedReason(path: string): string | undefined {
  const code = accessCode(path)
  if (code === 'EROFS') return `${path} is on a read-only disk`
  return code === 'EACCES' ? describeOwner(path) : undefined
}

function accessCode(path: string): string | undefined {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code
  }
}

function describeOwner(path: string): string | undefined {
  try {
    const { uid, mode } = statSync(path)
    const user = process.getuid?.()
    const found = `${path} has mode ${formatMode(mode)}`
    if (uid === user) return `${found}: chmod u+rwX ${path}`
    return `${found} and belongs to user ${uid}, this is user ${user}: run it as that user`
  } catch {
    // A directory above `path` denies access; the caller checks that directory next.
    return undefined
  }
}

function formatMode(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, '0')
}
