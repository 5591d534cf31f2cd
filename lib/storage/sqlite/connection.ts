import { type SqliteDriver, type SqliteValue, translateSqliteError } from './drivers.ts'

export type Row = Record<string, SqliteValue>

/** One connection, its statements prepared once, its errors translated. */
export interface Connection {
  exec(sql: string): void
  /** Runs a statement; the number of rows that it changed. */
  run(sql: string, ...values: SqliteValue[]): number
  find(sql: string, ...values: SqliteValue[]): Row | undefined
  all(sql: string, ...values: SqliteValue[]): Row[]
  /** Runs `work`, which must not await, in one transaction that has the write lock from its start. */
  transaction<T>(work: () => T): T
  /**
   * The same without waiting for the disk: for what may be lost, or what a later transaction, which
   * in the same log makes all before it durable too, will confirm.
   */
  lazyTransaction<T>(work: () => T): T
  close(): void
}

export function connect(driver: SqliteDriver): Connection {
  const prepared = new Map<string, ReturnType<SqliteDriver['prepare']>>()

  const statement = (sql: string) => {
    const known = prepared.get(sql)
    if (known) return known
    const made = driver.prepare(sql)
    prepared.set(sql, made)
    return made
  }

  const connection: Connection = {
    exec: (sql) => translated(() => void driver.exec(sql)),
    run: (sql, ...values) => translated(() => Number(statement(sql).run(...values).changes)),
    find: (sql, ...values) => translated(() => statement(sql).get(...values) as Row | undefined),
    all: (sql, ...values) => translated(() => statement(sql).all(...values) as Row[]),
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
