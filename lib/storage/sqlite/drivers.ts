import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { TillError } from '../../errors.ts'
import { requireOptional } from '../sql/optional-package.ts'
import { userKey } from './user-key.ts'

/** The members of node:sqlite and better-sqlite3 that the adapter uses. */
export interface SqliteDriver {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
  /** Adds a function to the SQL of this connection. */
  function(name: string, compute: (...values: unknown[]) => SqliteValue): unknown
  close(): unknown
}

interface SqliteStatement {
  run(...values: SqliteValue[]): { changes: number | bigint }
  get(...values: SqliteValue[]): unknown
  all(...values: SqliteValue[]): unknown[]
  iterate(...values: SqliteValue[]): Iterable<unknown>
}

export type SqliteValue = string | number | null | Uint8Array

export const SQLITE_DRIVERS = ['node:sqlite', 'better-sqlite3'] as const
export type SqliteDriverName = (typeof SQLITE_DRIVERS)[number]

const openers: Record<SqliteDriverName, (path: string) => SqliteDriver> = {
  'node:sqlite'(path) {
    const { DatabaseSync } = requireOptional<typeof import('node:sqlite')>('node:sqlite')
    return new DatabaseSync(path)
  },
  'better-sqlite3'(path) {
    const Database = requireOptional<typeof import('better-sqlite3')>('better-sqlite3')
    return new Database(path)
  },
}

/**
 * Opens a file with the given driver, or with the first one that this Node can load. Adds to its
 * SQL the functions `user_key`, and `is_wanted` for queries that may be ended.
 */
export function openSqliteDriver(path: string, name?: SqliteDriverName): SqliteDriver {
  for (const each of name ? [name] : SQLITE_DRIVERS) {
    try {
      const driver = openers[each](path)
      driver.function('user_key', (store, user_id) => userKey(Number(store), String(user_id)))
      driver.function('is_wanted', () => 1)
      return driver
    } catch (error) {
      if (!isNotInstalled(error)) throw error
    }
  }
  throw new TillError(
    'storage_unavailable',
    'No SQLite driver: use Node 22.13 or later, or install better-sqlite3 (npm install better-sqlite3, or in a clone of tillkit: npm run driver)',
  )
}

export function nameOf(driver: SqliteDriver): SqliteDriverName {
  return 'inTransaction' in driver ? 'better-sqlite3' : 'node:sqlite'
}

// The error codes of a missing package, a built-in module that this Node lacks, and an addon built
// for another Node. If an addon was not built, the package `bindings` throws an error that lists
// paths.
const NOT_INSTALLED = ['ERR_UNKNOWN_BUILTIN_MODULE', 'ERR_DLOPEN_FAILED']

function isNotInstalled(error: unknown): boolean {
  const { code = '', tries, message } = error as Error & { code?: string; tries?: unknown }
  // A driver that is installed may lack a package of its own.
  if (code === 'MODULE_NOT_FOUND')
    return SQLITE_DRIVERS.some((name) => message.includes(`'${name}'`))
  return NOT_INSTALLED.includes(code) || Array.isArray(tries)
}

/** The primary result codes (sqlite.org/rescode.html) that blame the file or disk, not the SQL. */
const UNAVAILABLE: Record<number, string> = {
  5: 'BUSY',
  6: 'LOCKED',
  8: 'READONLY',
  10: 'IOERR',
  11: 'CORRUPT',
  13: 'FULL',
  14: 'CANTOPEN',
  26: 'NOTADB',
}

/** The name of an error's result code. better-sqlite3 gives the name, node:sqlite the number. */
function resultOf(error: unknown): string | undefined {
  const { code = '', errcode = 0 } = (error ?? {}) as { code?: string; errcode?: number }
  return /^SQLITE_([A-Z]+)/.exec(code)?.[1] ?? UNAVAILABLE[errcode & 0xff]
}

/** Whether the error means that another process holds the lock. */
export function isBusy(error: unknown): boolean {
  return resultOf(error) === 'BUSY'
}

/** Turns an error about the file or the disk into `storage_unavailable`. */
export function translateSqliteError(error: unknown): unknown {
  const result = resultOf(error)
  if (!result || !Object.values(UNAVAILABLE).includes(result)) return error
  if (result === 'FULL') return diskFullError(error)
  // The driver's message may name files, so only the log gets it.
  const fault = new TillError('storage_unavailable', 'The database cannot be used right now')
  return Object.assign(fault, { cause: error })
}

/** The error for the client. Only the log gets the `cause`. */
export function diskFullError(cause: unknown): TillError {
  const fault = new TillError('storage_unavailable', 'The disk of the database is full')
  return Object.assign(fault, { cause })
}

/** Below this many free bytes, SQLite has no room for the files of the WAL, which reads need too. */
const WAL_BYTES = 128 * 1024

/** Whether a file could not be opened because its disk may be full. SQLite reports an I/O error. */
export function isFullDisk(error: unknown, path: string): boolean {
  const result = resultOf(error) ?? resultOf((error as Error).cause)
  if (result !== 'IOERR' && result !== 'CANTOPEN') return false
  try {
    const { blocks, bavail, bsize } = statfsSync(dirname(path))
    return blocks > 0 && bavail * bsize < WAL_BYTES // some disks report no size
  } catch {
    return false // there is no such folder
  }
}

/** The message of the driver, even if the error is translated. */
export function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause === undefined ? message : reasonOf(cause)
}
