import { TillError } from '../../errors.ts'

/**
 * The members of a synchronous SQLite driver that the adapter uses: node:sqlite and better-sqlite3.
 */
export interface SqliteDriver {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
  close(): unknown
}

export interface SqliteStatement {
  run(...values: SqliteValue[]): { changes: number | bigint }
  get(...values: SqliteValue[]): unknown
  all(...values: SqliteValue[]): unknown[]
  iterate(...values: SqliteValue[]): Iterable<unknown>
}

export type SqliteValue = string | number | null | Uint8Array

export const SQLITE_DRIVERS = ['node:sqlite', 'better-sqlite3'] as const
export type SqliteDriverName = (typeof SQLITE_DRIVERS)[number]

const openers: Record<SqliteDriverName, (path: string) => Promise<SqliteDriver>> = {
  'node:sqlite': async (path) => {
    const { DatabaseSync } = await import('node:sqlite')
    return new DatabaseSync(path)
  },
  'better-sqlite3': async (path) => {
    const { default: Database } = await import('better-sqlite3')
    return new Database(path)
  },
}

/** Opens a file with the driver named, or with the first of the two that this Node can load. */
export async function openSqliteDriver(
  path: string,
  name?: SqliteDriverName,
): Promise<SqliteDriver> {
  for (const each of name ? [name] : SQLITE_DRIVERS) {
    try {
      return await openers[each](path)
    } catch (error) {
      if (!isNotInstalled(error)) throw error
    }
  }
  throw new TillError(
    'storage_unavailable',
    `No SQLite driver: use Node 22.13 or later, or install better-sqlite3 (npm install better-sqlite3)`,
  )
}

/** Which of the two a driver is. */
export function nameOf(driver: SqliteDriver): SqliteDriverName {
  return 'inTransaction' in driver ? 'better-sqlite3' : 'node:sqlite'
}

// A missing package, a built-in that this Node has not, and an addon that was built for another
// Node or not at all.
function isNotInstalled(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string }
  return (
    ['ERR_MODULE_NOT_FOUND', 'ERR_UNKNOWN_BUILTIN_MODULE', 'ERR_DLOPEN_FAILED'].includes(
      code ?? '',
    ) || Boolean(message?.startsWith('Could not locate the bindings file'))
  )
}

// Primary result codes (sqlite.org/rescode.html) that speak of the file or the disk, not of the
// SQL.
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

/** Whether another process holds the lock that was wanted. */
export function isBusy(error: unknown): boolean {
  const { code = '', errcode = 0 } = error as { code?: string; errcode?: number }
  return /^SQLITE_BUSY/.test(code) || (errcode & 0xff) === 5
}

/**
 * A driver's error as the port names it: one of the file or the disk becomes `storage_unavailable`,
 * any other passes through. better-sqlite3 tells the code as a name, node:sqlite as a number.
 */
export function translateSqliteError(error: unknown): unknown {
  const { code = '', errcode = 0 } = error as { code?: string; errcode?: number }
  const name = /^SQLITE_([A-Z]+)/.exec(code)?.[1] ?? UNAVAILABLE[errcode & 0xff]
  if (!name || !Object.values(UNAVAILABLE).includes(name)) return error
  if (name === 'FULL') return diskFullError(error)
  // What these say is for the operator, not for who sent a request.
  const fault = new TillError('storage_unavailable', 'The database can not be used right now')
  return Object.assign(fault, { cause: error })
}

const DISK_FULL = 'The disk of the database is full'

export function diskFullError(cause?: unknown): TillError {
  const fault = new TillError('storage_unavailable', DISK_FULL)
  return cause === undefined ? fault : Object.assign(fault, { cause })
}

export function isDiskFull(error: unknown): boolean {
  return (error as Error).message === DISK_FULL
}

/** What the driver said of an error that may be translated. */
export function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause === undefined ? message : reasonOf(cause)
}
