import { accessSync, constants, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { TillError } from '../lib/index.ts'

/** Whether others of this machine may read or write a file: its mode, else undefined. */
export function openMode(path: string): string | undefined {
  if (process.platform === 'win32') return undefined // its modes say nothing of others
  const { mode = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {}
  return mode & 0o066 ? formatMode(mode) : undefined
}

// The words of SQLite, of either driver, of our own, and of the system.
const FORBIDDEN = /unable to open|may not write|readonly|EACCES|EROFS/

/** The same error; of a database that this user may not use, with whose it is and what to do. */
export function explained(error: unknown, path: string): unknown {
  if (!(error instanceof TillError) || error.code !== 'storage_unavailable') return error
  if (!FORBIDDEN.test(error.message)) return error
  // SQLite keeps two files beside the database while it is in use.
  const reason = whyClosed(path) ?? whyClosed(dirname(path))
  return reason ? new TillError(error.code, `${error.message}; ${reason}`) : error
}

function whyClosed(path: string): string | undefined {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EROFS') return `${path} is on a disk that may only be read`
    if (code === 'EACCES') return whoseIs(path)
  }
  return undefined
}

function whoseIs(path: string): string | undefined {
  try {
    const { uid, mode } = statSync(path)
    const user = process.getuid?.()
    const told = `${path} has mode ${formatMode(mode)}`
    if (uid === user) return `${told}: chmod u+rwX ${path}`
    return `${told} and belongs to user ${uid}, this is user ${user}: run it as that one`
  } catch {
    return undefined // its folder tells
  }
}

function formatMode(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, '0')
}
