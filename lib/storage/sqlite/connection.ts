import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { TillError } from '../../errors.ts'
import {
  isBusy,
  nameOf,
  type SqliteDriver,
  type SqliteDriverName,
  type SqliteValue,
  translateSqliteError,
} from './drivers.ts'
import { GIVE_UP_MS, lockedError, pauseForLock } from './lock.ts'
import { createWriteQueue } from './queue.ts'

export type Row = Record<string, SqliteValue>

/** A connection that caches prepared statements and translates errors. */
export interface Connection {
  readonly driver: SqliteDriverName
  /** The database file, without symbolic links in its path; undefined for one in memory. */
  readonly path: string | undefined
  /** Shared with other threads. Is 1 while a write of this connection waits for the lock. */
  readonly lockWanted: Int32Array
  exec(sql: string): void
  /** Runs a statement. Returns the number of changed rows. */
  run(sql: string, ...values: SqliteValue[]): number
  find(sql: string, ...values: SqliteValue[]): Row | undefined
  all(sql: string, ...values: SqliteValue[]): Row[]
  /** Runs a query. Reads only the rows that `take` iterates over. `take` must be synchronous. */
  some<T>(take: (rows: Iterable<Row>) => T, sql: string, ...values: SqliteValue[]): T
  /**
   * Runs `work`, which must be synchronous. Resolves when its writes are fsynced. Simultaneous
   * writes share a transaction and its fsync. If `work` throws, only its own writes are rolled
   * back. Another write of its transaction is then repeated.
   */
  write<T>(work: () => T): Promise<T>
  /**
   * Runs `work`, which must be synchronous, in its own transaction. Does not wait, unless
   * another process holds the lock.
   */
  transaction<T>(work: () => T): Promise<T>
  /** Like `transaction`, but without fsync. The fsync of a later commit includes these writes. */
  lazyTransaction<T>(work: () => T): Promise<T>
  /** The number of this connection's commits. */
  readonly commits: number
  /** Makes the commit of the current transaction call the listeners, if `isAudited`. */
  notice(isAudited: boolean): void
  /**
   * Calls `listener` after commits with audit entries, in a later turn of the event loop. Returns a
   * function that removes it.
   */
  onWrite(listener: () => void): () => void
  /** Moves the WAL into the database file and empties it, once no reader uses it. */
  emptyLog(): Promise<void>
  /** Throws if the connection is closed, or the file was moved, deleted or replaced. */
  assertInPlace(): void
  readonly isClosing: boolean
  /** Commits the waiting writes, then closes the connection. Later calls are rejected. */
  close(): Promise<void>
}

/**
 * How long SQLite itself waits for another process's lock. Transactions set this to 0 and retry
 * instead.
 */
const BUSY_TIMEOUT_MS = 5_000

/**
 * Uses a driver that has opened `path`, or a database in memory. `pause` waits before the next
 * attempt to get the lock that another connection has.
 */
export function connect(
  driver: SqliteDriver,
  path?: string,
  pause = (): Promise<void> => setTimeout(pauseForLock()),
): Connection {
  const place = path === undefined ? undefined : resolve(path)
  const file = fileAt(place)
  const lockWanted = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const prepared = new Map<string, ReturnType<SqliteDriver['prepare']>>()
  let closing: Promise<void> | undefined
  let isClosed = false
  let commits = 0
  let isNoticed = false
  const listeners = new Set<() => void>()

  const statement = (sql: string) => {
    if (isClosed) throw closed()
    const known = prepared.get(sql)
    if (known) return known
    const made = driver.prepare(sql)
    prepared.set(sql, made)
    return made
  }

  const undoneOnError = <T>(work: () => T): T => {
    try {
      return work()
    } catch (error) {
      connection.run('ROLLBACK TO one')
      connection.run('RELEASE one')
      throw error
    }
  }

  // Writes to a moved or deleted file would succeed but be lost.
  const assertInPlace = () => {
    if (isClosed) throw closed()
    if (fileAt(place) === file) return
    const message = 'The database file was replaced or moved: restart to use what is there now'
    throw new TillError('storage_unavailable', message)
  }

  /** Begins a transaction. Returns false if another process has the lock. */
  const begin = (): boolean => {
    assertInPlace()
    return withoutWaiting(() => {
      try {
        statement('BEGIN IMMEDIATE').run()
        return true
      } catch (error) {
        if (isBusy(error)) {
          lockWanted[0] = 1
          return false
        }
        throw translateSqliteError(error)
      }
    })
  }

  /**
   * Runs `work` with a busy timeout of 0: SQLite blocks the event loop while it waits for a lock.
   */
  const withoutWaiting = <T>(work: () => T): T => {
    connection.exec('PRAGMA busy_timeout = 0')
    try {
      return work()
    } finally {
      connection.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
    }
  }

  const runAlone = <T>(work: () => T): { readonly result: T } | undefined => {
    if (!begin()) return undefined
    try {
      const result = work()
      commit()
      return { result }
    } catch (error) {
      rollBack()
      throw error
    }
  }

  const commit = () => {
    connection.run('COMMIT')
    commits++
    if (isNoticed) for (const listener of listeners) setImmediate(listener)
    isNoticed = false
    wakeOtherThread()
  }

  // Ignores a failed ROLLBACK: after some errors, such as a full disk, SQLite has already rolled
  // back.
  const rollBack = () => {
    try {
      driver.exec('ROLLBACK')
    } catch {}
    wakeOtherThread()
  }

  const wakeOtherThread = () => {
    if (lockWanted[0] === 0) return
    lockWanted[0] = 0
    Atomics.notify(lockWanted, 0)
  }

  /** Repeats `attempt` while another connection has the lock, for at most `GIVE_UP_MS`. */
  const whenFree = async <T>(attempt: () => { readonly result: T } | undefined): Promise<T> => {
    const latest = performance.now() + GIVE_UP_MS
    for (;;) {
      const done = attempt()
      if (done) return done.result
      if (performance.now() > latest) throw lockedError()
      await pause()
    }
  }

  const queue = createWriteQueue({
    begin,
    attempt(work) {
      connection.run('SAVEPOINT one')
      const result = undoneOnError(work)
      connection.run('RELEASE one')
      return result
    },
    commit,
    rollback: rollBack,
  })

  const connection: Connection = {
    driver: nameOf(driver),
    path: fileOf(driver),
    lockWanted,
    exec(sql) {
      if (isClosed) throw closed()
      translated(() => void driver.exec(sql))
    },
    run: (sql, ...values) => translated(() => Number(statement(sql).run(...values).changes)),
    find: (sql, ...values) => translated(() => statement(sql).get(...values) as Row | undefined),
    all: (sql, ...values) => translated(() => statement(sql).all(...values) as Row[]),
    some: (take, sql, ...values) =>
      translated(() => take(statement(sql).iterate(...values) as Iterable<Row>)),
    write: (work) => (closing ? Promise.reject(closed()) : queue.write(work)),
    transaction: (work) => whenFree(() => runAlone(work)),
    lazyTransaction: (work) =>
      whenFree(() => {
        connection.exec('PRAGMA synchronous = NORMAL')
        try {
          return runAlone(work)
        } finally {
          connection.exec('PRAGMA synchronous = FULL')
        }
      }),
    get commits() {
      return commits
    },
    notice(isAudited) {
      isNoticed ||= isAudited
    },
    onWrite(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    emptyLog: () =>
      whenFree(() => {
        const done = withoutWaiting(() => connection.find('PRAGMA wal_checkpoint(TRUNCATE)'))
        return done?.busy === 0 ? { result: undefined } : undefined
      }),
    assertInPlace,
    get isClosing() {
      return closing !== undefined
    },
    close() {
      closing ??= queue.end().then(() => {
        isClosed = true
        driver.close()
      })
      return closing
    },
  }
  connection.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  return connection
}

function fileOf(driver: SqliteDriver): string | undefined {
  const { file } = driver.prepare('PRAGMA database_list').get() as { file: string }
  return file || undefined
}

/** Identifies the file at a path by device and inode; undefined if there is none. */
function fileAt(path: string | undefined): string | undefined {
  if (path === undefined) return undefined
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return undefined
  }
}

function closed(): TillError {
  return new TillError('storage_unavailable', 'The storage is closed')
}

function translated<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw translateSqliteError(error)
  }
}
