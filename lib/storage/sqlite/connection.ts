import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { BoundedMap } from '../../bounded-map.ts'
import { TillError } from '../../errors.ts'
import {
  isBusy,
  nameOf,
  type SqliteDriver,
  type SqliteValue,
  translateSqliteError,
} from './drivers.ts'
import { createWriteQueue } from './queue.ts'

export type Row = Record<string, SqliteValue>

export type Connection = ReturnType<typeof connect>

/**
 * How long SQLite itself waits for another process's lock. Transactions set this to 0 and retry
 * instead.
 */
const BUSY_TIMEOUT_MS = 5_000

/**
 * The maximum number of prepared statements. An import uses up to 160, all other methods some 200,
 * and summaries thousands: one for each set of conditions and groups. A statement takes 10 to 50 KiB.
 */
const MOST_PREPARED = 1_000

const IS_SELECT = /^\s*SELECT/

/** How long a write waits for another process's lock before it fails. */
const GIVE_UP_MS = 10_000

/**
 * The pages in the WAL after which a commit without fsync begins a checkpoint, which has two fsyncs.
 * One of 500 pages blocks for 6 ms, one of SQLite's default of 1,000 pages for 9 ms.
 */
const LAZY_CHECKPOINT_PAGES = 500

/** Runs an attempt to lock in a turn of its own. */
type InTurn = <T>(attempt: () => T) => Promise<T>

/**
 * Waits before the next attempt to lock. Briefly, because a process that writes without pause leaves
 * the file unlocked for only 2% of the time. SQLite's busy handler, which tries every 100 ms, got no
 * lock for 5 s. At random, to keep two processes from colliding again and again.
 */
const pauseForLock = (): Promise<void> => setTimeout(1 + Math.random() * 3)

/**
 * Makes a connection that caches prepared statements and translates errors. The driver has opened
 * `path`, or a database in memory.
 */
export function connect(driver: SqliteDriver, path?: string) {
  const place = path === undefined ? undefined : resolve(path)
  const file = fileAt(place)
  /** The WAL and its shared memory, from the time that the file uses them. */
  let log: string | undefined
  const prepared = new BoundedMap<ReturnType<SqliteDriver['prepare']>>(MOST_PREPARED)
  let closing: Promise<void> | undefined
  let isClosed = false
  let commits = 0
  /** The rows that statements have changed. One that returns rows, except a SELECT, counts as one. */
  let changes = 0
  const notices = new Set<boolean>()
  const listeners = new Set<(isAudited: boolean) => void>()

  const statement = (sql: string) => {
    if (isClosed) throw closed()
    const known = prepared.get(sql)
    if (known) return known
    const made = driver.prepare(sql)
    prepared.set(sql, made)
    return made
  }

  const exec = (sql: string) => {
    if (isClosed) throw closed()
    translated(() => void driver.exec(sql))
  }
  /** Runs a statement. Returns the number of changed rows. */
  const run = (sql: string, ...values: SqliteValue[]) =>
    translated(() => {
      const changed = Number(statement(sql).run(...values).changes)
      changes += changed
      return changed
    })
  // Reading `total_changes()` before each write would take a tenth of the CPU time of a create.
  const returning = (sql: string) => {
    if (!IS_SELECT.test(sql)) changes++
    return statement(sql)
  }
  const find = (sql: string, ...values: SqliteValue[]) =>
    translated(() => returning(sql).get(...values) as Row | undefined)

  // Writes to a moved or deleted file would succeed but be lost. The same is true for its WAL. SQLite
  // keeps the WAL until the last connection closes.
  const assertInPlace = () => {
    if (isClosed) throw closed()
    if (fileAt(place) !== file) {
      const message = 'The database file was replaced or moved: restart to use what is there now'
      throw new TillError('storage_unavailable', message)
    }
    if (log === undefined || logAt(place) === log) return
    const message =
      'The write-ahead log of the database was deleted or replaced: restart. Use SIGTERM, not kill'
    throw new TillError('storage_unavailable', message)
  }

  /**
   * Runs `work` with a busy timeout of 0: SQLite blocks the event loop while it waits for a lock.
   */
  const withoutWaiting = <T>(work: () => T): T => {
    exec('PRAGMA busy_timeout = 0')
    try {
      return work()
    } finally {
      exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
    }
  }

  /** Runs a transaction. Returns undefined if another process has the lock. */
  const runAlone = <T>(work: () => T): { readonly result: T } | undefined => {
    assertInPlace()
    const hasBegun = withoutWaiting(() => unlessBusy(() => statement('BEGIN IMMEDIATE').run()))
    if (!hasBegun) return undefined
    try {
      const result = work()
      run('COMMIT')
      commits++
      for (const isAudited of notices) for (const listener of listeners) listener(isAudited)
      return { result }
    } catch (error) {
      // After some errors, such as a full disk, SQLite has already rolled back.
      try {
        driver.exec('ROLLBACK')
      } catch {}
      throw error
    } finally {
      notices.clear()
    }
  }

  /**
   * Repeats `attempt` while another connection has the lock, for at most `GIVE_UP_MS` after the first
   * attempt. Takes no turn while it waits for the lock.
   */
  const whenFree = async <T>(
    attempt: () => { readonly result: T } | undefined,
    inTurn?: InTurn,
  ): Promise<T> => {
    let latest: number | undefined
    for (;;) {
      const done = inTurn ? await inTurn(attempt) : attempt()
      if (done) return done.result
      latest ??= performance.now() + GIVE_UP_MS
      if (performance.now() > latest) {
        throw new TillError('storage_unavailable', 'The database is locked by another process')
      }
      await pauseForLock()
    }
  }

  const transaction = <T>(work: () => T): Promise<T> => whenFree(() => runAlone(work))
  const queue = createWriteQueue(transaction, () => changes)

  exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  return {
    driver: nameOf(driver),
    /** The database file, without symbolic links in its path; undefined for one in memory. */
    path: fileOf(driver),
    exec,
    run,
    find,
    all: (sql: string, ...values: SqliteValue[]) =>
      translated(() => returning(sql).all(...values) as Row[]),
    /** Runs a query. Reads only the rows that `take` iterates over. `take` must be synchronous. */
    some: <T>(take: (rows: Iterable<Row>) => T, sql: string, ...values: SqliteValue[]): T =>
      translated(() => take(returning(sql).iterate(...values) as Iterable<Row>)),
    /**
     * Runs `work`, which must be synchronous. Resolves when its writes are fsynced. Simultaneous
     * writes share a transaction and its fsync, and the accounts take turns. If `work` throws, only
     * its own writes are rolled back. Another write of its transaction is then repeated.
     */
    write: <T>(work: () => T, account_id?: string): Promise<T> =>
      closing ? Promise.reject(closed()) : queue.write(work, account_id),
    /**
     * Runs `work`, which must be synchronous, in its own transaction. Does not wait, unless another
     * process holds the lock.
     */
    transaction,
    /** Like `transaction`, but without fsync. The fsync of a later commit includes these writes. */
    lazyTransaction: <T>(work: () => T, inTurn?: InTurn): Promise<T> =>
      whenFree(() => {
        exec(`PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = ${LAZY_CHECKPOINT_PAGES}`)
        try {
          return runAlone(work)
        } finally {
          exec('PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 1000')
        }
      }, inTurn),
    /** The number of this connection's commits. */
    get commits() {
      return commits
    },
    /** Makes the commit of the current transaction call the listeners. */
    notice: (isAudited: boolean) => void notices.add(isAudited),
    /** Calls `listener` after commits of writes. Returns a function that removes it. */
    onWrite(listener: (isAudited: boolean) => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    /** Makes the file use a WAL. Retries itself: SQLite does not wait for this lock. */
    async enterWal(): Promise<void> {
      await whenFree(() =>
        unlessBusy(() => driver.exec('PRAGMA journal_mode = WAL')) ? DONE : undefined,
      )
      find('SELECT 1 FROM sqlite_schema') // creates the WAL
      log = logAt(place)
    },
    /** Moves the WAL into the database file and empties it, once no reader uses it. */
    emptyLog: (): Promise<void> =>
      whenFree(() => {
        const done = withoutWaiting(() => find('PRAGMA wal_checkpoint(TRUNCATE)'))
        return done?.busy === 0 ? DONE : undefined
      }),
    /** Throws if the connection is closed, or the file or its WAL was moved, deleted or replaced. */
    assertInPlace,
    /** Commits the waiting writes, then closes the connection. Later calls are rejected. */
    close() {
      closing ??= queue.end().then(() => {
        isClosed = true
        driver.close()
      })
      return closing
    },
  }
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

function logAt(place: string | undefined): string {
  return `${fileAt(`${place}-wal`)} ${fileAt(`${place}-shm`)}`
}

function closed(): TillError {
  return new TillError('storage_unavailable', 'The storage is closed')
}

const DONE = { result: undefined }

/** Returns false if another process has the lock. */
function unlessBusy(work: () => unknown): boolean {
  try {
    work()
    return true
  } catch (error) {
    if (isBusy(error)) return false
    throw translateSqliteError(error)
  }
}

function translated<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw translateSqliteError(error)
  }
}
