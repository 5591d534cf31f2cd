import {
  isBusy,
  nameOf,
  type SqliteDriver,
  type SqliteDriverName,
  type SqliteValue,
  translateSqliteError,
} from './drivers.ts'
import { createWriteQueue } from './queue.ts'

export type Row = Record<string, SqliteValue>

/** One connection, its statements prepared once, its errors translated. */
export interface Connection {
  readonly driver: SqliteDriverName
  exec(sql: string): void
  /** Runs a statement; the number of rows that it changed. */
  run(sql: string, ...values: SqliteValue[]): number
  find(sql: string, ...values: SqliteValue[]): Row | undefined
  all(sql: string, ...values: SqliteValue[]): Row[]
  /**
   * Runs `work`, which must not await, and resolves once what it wrote is on the disk. Those that wait
   * at the same time share a transaction and its one wait for the disk; if one throws, it alone is
   * undone and rejected.
   */
  write<T>(work: () => T): Promise<T>
  /** Runs `work`, which must not await, in one transaction that has the write lock from its start. */
  transaction<T>(work: () => T): T
  /**
   * The same without waiting for the disk: for what may be lost, or what a later transaction, which
   * in the same log makes all before it durable too, will confirm.
   */
  lazyTransaction<T>(work: () => T): T
  close(): void
}

/** How long a statement waits for another process's lock. */
export const BUSY_TIMEOUT_MS = 5_000

export function connect(driver: SqliteDriver): Connection {
  const prepared = new Map<string, ReturnType<SqliteDriver['prepare']>>()

  const statement = (sql: string) => {
    const known = prepared.get(sql)
    if (known) return known
    const made = driver.prepare(sql)
    prepared.set(sql, made)
    return made
  }

  const undoneIfThrown = <T>(work: () => T): T => {
    try {
      return work()
    } catch (error) {
      connection.run('ROLLBACK TO one')
      connection.run('RELEASE one')
      throw error
    }
  }

  const connection: Connection = {
    driver: nameOf(driver),
    exec: (sql) => translated(() => void driver.exec(sql)),
    run: (sql, ...values) => translated(() => Number(statement(sql).run(...values).changes)),
    find: (sql, ...values) => translated(() => statement(sql).get(...values) as Row | undefined),
    all: (sql, ...values) => translated(() => statement(sql).all(...values) as Row[]),
    write: createWriteQueue({
      begin() {
        // Not waited for here: the event loop has other things to do until the lock is free.
        connection.exec('PRAGMA busy_timeout = 0')
        try {
          statement('BEGIN IMMEDIATE').run()
          return true
        } catch (error) {
          if (isBusy(error)) return false
          throw translateSqliteError(error)
        } finally {
          connection.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
        }
      },
      attempt(work) {
        connection.run('SAVEPOINT one')
        const result = undoneIfThrown(work)
        connection.run('RELEASE one')
        return result
      },
      commit: () => void connection.run('COMMIT'),
      rollback: () => rollback(driver),
    }),
    transaction(work) {
      connection.exec('BEGIN IMMEDIATE')
      try {
        const result = work()
        connection.exec('COMMIT')
        return result
      } catch (error) {
        rollback(driver)
        throw error
      }
    },
    lazyTransaction(work) {
      connection.exec('PRAGMA synchronous = NORMAL')
      try {
        return connection.transaction(work)
      } finally {
        connection.exec('PRAGMA synchronous = FULL')
      }
    },
    close: () => void driver.close(),
  }
  return connection
}

function translated<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw translateSqliteError(error)
  }
}

// A full disk makes SQLite roll back by itself; a second rollback then fails, and says nothing new.
function rollback(driver: SqliteDriver): void {
  try {
    driver.exec('ROLLBACK')
  } catch {}
}
