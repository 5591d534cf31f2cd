import { TillError } from '../errors.ts'
import { type Uncached, withReadCache } from './cache/cache.ts'
import type { Storage } from './port.ts'
import { findProblems } from './postgres/check.ts'
import { type Database, databaseOn } from './postgres/connection.ts'
import { copyDialect } from './postgres/copy.ts'
import { loadPostgresDriver, reasonOf } from './postgres/drivers.ts'
import { watchSilentSessions } from './postgres/frozen.ts'
import { createTransactionWatch } from './postgres/horizon.ts'
import { createItemQueue } from './postgres/item-queue.ts'
import { listingOfItems } from './postgres/items.ts'
import type { PostgresOptions } from './postgres/options.ts'
import { createPool } from './postgres/pool.ts'
import { importDialect } from './postgres/purchases/leases.ts'
import { purchaseDialect } from './postgres/purchases/purchases.ts'
import { recordDialect } from './postgres/purchases/record.ts'
import { showHiddenPurchases } from './postgres/purchases/repair.ts'
import { renumberRestored } from './postgres/renumber.ts'
import { createSockets } from './postgres/socket.ts'
import { execute, sqlOn } from './postgres/sql.ts'
import { upgrade } from './postgres/upgrade.ts'
import { createVersionCheck } from './postgres/version-check.ts'
import { startCleanup } from './sql/cleanup.ts'
import { assertWhole } from './sql/copy.ts'
import { sqlMethods } from './sql/methods.ts'

export type { PostgresOptions } from './postgres/options.ts'

/**
 * Opens a storage in a PostgreSQL database (14 or later). Creates and upgrades the tables as
 * needed, in the first schema of the search path; `?search_path=shop` in the URL chooses one. Any
 * number of servers may have the same database open. `?sslmode=` chooses TLS, as in postgres.js.
 * Behind pgbouncer in transaction mode, add `?prepare=false` to the URL, and use the settings of
 * `deploy/pgbouncer.ini`.
 *
 * Throws `storage_unavailable` when the database cannot be reached or used, and for an unfinished
 * copy. The same goes for the schema of a newer tillkit or of one before 0.3.0. With `create: false`,
 * also for a database without tables; with `upgrade: false`, also for that of an earlier tillkit.
 * Methods throw it too while the server is away. The storage reconnects by itself.
 */
export async function openPostgresStorage(
  url: string,
  options: PostgresOptions = {},
): Promise<Storage> {
  const db = connect(url, options)
  try {
    await upgrade(db, options)
    await renumberRestored(db)
    await execute(db, assertWhole())
    const repairs = options.upgrade === false ? [] : await showHiddenPurchases(db)
    const storage = { ...storageOn(db), repairs }
    return withReadCache(storage, db, createVersionCheck(db.checks), cacheBytesOf(url, options))
  } catch (error) {
    await db.close()
    if ((error as { code?: string }).code === undefined) throw error
    throw new TillError('storage_unavailable', `Cannot open the database: ${reasonOf(error)}`)
  }
}

function connect(url: string, options: PostgresOptions): Database {
  const postgres = options.postgres ?? loadPostgresDriver()
  const inUrl = new URLSearchParams(url.split('?')[1])
  const inUrlOr = (name: string, normal: number) => Number(inUrl.get(name) ?? normal)
  const {
    max: size = inUrlOr('max', 10),
    poolTimeout = 5_000,
    // `connect_timeout` and `idle_timeout` in the URL are in seconds, as in postgres.js.
    connectTimeout = 1000 * inUrlOr('connect_timeout', 5),
    statementTimeout = inUrlOr('statement_timeout', 10_000),
    idleTimeout = 1000 * inUrlOr('idle_timeout', 60),
  } = options
  if (!Number.isInteger(size) || size < 1) throw new TypeError('max must be a whole number from 1')
  const settings = {
    max: 1,
    connect_timeout: connectTimeout / 1000,
    // Disables these timeouts, with which postgres.js may close a connection within a transaction.
    // The pool of tillkit closes idle connections itself.
    idle_timeout: 0,
    max_lifetime: 0,
    fetch_types: false,
    connection: {
      application_name: 'tillkit',
      ...timeoutsOf(statementTimeout, isPooled(inUrl)),
    },
    socket: createSockets(),
    onnotice: () => {},
  }
  const open = (onclose: () => void) => postgres(url, { ...settings, onclose })
  const poolOptions = {
    size,
    pipeline: isPooled(inUrl) ? 1 : 100,
    wait: poolTimeout,
    patience: statementTimeout + 5_000,
    idle: idleTimeout,
  }
  return databaseOn(createPool(open, poolOptions), createPool(open, { ...poolOptions, size: 1 }))
}

/**
 * The timeouts of a connection. A lock that a frozen server holds is free after `IDLE_MS`, before
 * those that wait for it give up. A wait for a lock ends before the statement does, so that the
 * error names the reason. A pgbouncer that was set up for an earlier tillkit refuses `lock_timeout`.
 */
function timeoutsOf(statementTimeout: number, isPooled: boolean): Record<string, number> {
  return {
    statement_timeout: Math.ceil(statementTimeout * 1.1),
    ...(!isPooled && { lock_timeout: statementTimeout }),
    idle_in_transaction_session_timeout: IDLE_MS,
  }
}

/** A transaction of a server that is frozen or lost ends after this time. */
const IDLE_MS = 8_000

/**
 * Returns the size of the cache. For a URL with several hosts there is none, unless it selects the
 * primary: the other hosts may be replicas.
 */
function cacheBytesOf(url: string, { cacheBytes }: PostgresOptions): number | undefined {
  const [address = '', query] = url.split('?')
  const wanted = new URLSearchParams(query).get('target_session_attrs') ?? ''
  const isOneServer = !address.includes(',') || /^(read-write|primary)$/.test(wanted)
  return isOneServer ? cacheBytes : 0
}

/**
 * Whether the URL disables prepared statements, in any spelling of postgres.js. tillkit then
 * assumes that it connects to a connection pooler.
 */
function isPooled(inUrl: URLSearchParams): boolean {
  return /^(false|disable)$/.test(inUrl.get('prepare') ?? '')
}

const READ_CLOCK = 'SELECT extract(epoch FROM clock_timestamp()) * 1000 AS clock'

function storageOn(db: Database): Uncached {
  const sql = sqlOn(db)
  const { methods, clearAbandoned } = sqlMethods(sql, {
    items: { ...listingOfItems(db), insertAlone: createItemQueue(db) },
    purchases: purchaseDialect(db),
    imports: importDialect(db, sql),
    records: recordDialect(),
    copy: copyDialect(db),
  })
  const cleanup = startCleanup(clearAbandoned)
  const stopWatch = watchSilentSessions(db)
  return {
    ...methods,
    async ping() {
      const [row] = await Promise.all([
        db.checks.find(READ_CLOCK),
        execute(db.checks, assertWhole()),
      ])
      return Number(row?.clock)
    },
    check: () => findProblems(db),
    async size() {
      const row = await db.find('SELECT pg_database_size(current_database()) AS bytes')
      return { database: Number(row?.bytes) }
    },
    onWrite: (listener) => db.onWrite((isAudited) => isAudited && setImmediate(listener)),
    findOpenTransaction: createTransactionWatch(db),
    poolState: () => db.poolState(),
    async close() {
      stopWatch()
      // Closes the database at once, because the cleanup may wait for a connection.
      await Promise.all([cleanup.stop(), db.close()])
    },
  }
}
