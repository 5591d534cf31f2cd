import { TillError } from '../errors.ts'
import { startCleanup } from './cleanup.ts'
import type { Storage } from './port.ts'
import { accountMethods } from './postgres/accounts.ts'
import { auditMethods } from './postgres/audit.ts'
import { bucketMethods } from './postgres/buckets.ts'
import { findProblems } from './postgres/check.ts'
import { type Database, databaseOn } from './postgres/connection.ts'
import { loadPostgresDriver, type PostgresDriver, reasonOf } from './postgres/drivers.ts'
import { importMethods } from './postgres/imports.ts'
import { itemMethods } from './postgres/items.ts'
import { clearAbandonedImports } from './postgres/leases.ts'
import { migrate } from './postgres/migrations.ts'
import { createPool } from './postgres/pool.ts'
import { projectMethods } from './postgres/projects.ts'
import { purchaseMethods } from './postgres/purchases.ts'
import { createSockets } from './postgres/socket.ts'
import { storeMethods } from './postgres/stores.ts'
import { tokenMethods } from './postgres/tokens.ts'
import { assertWhole, unfinishedMethods } from './postgres/unfinished.ts'

/** Times are in milliseconds. An option wins over the same setting in the URL. */
export interface PostgresOptions {
  /** The default export of the package `postgres`. Default: the package is loaded. */
  readonly postgres?: PostgresDriver
  /** The most connections. One is reserved for reads. Default: 10. */
  readonly max?: number
  /** How long to wait for a free connection before `storage_unavailable`. Default: 5,000. */
  readonly poolTimeout?: number
  /** How long a connection may take to open. Default: 5,000. */
  readonly connectTimeout?: number
  /** How long a statement may take. A block of an import is one statement. Default: 10,000. */
  readonly statementTimeout?: number
  /** After how long an idle connection is closed. Default: 60,000. */
  readonly idleTimeout?: number
  /** Whether to open an unfinished copy, which `copyStorage` continues. Default: false. */
  readonly forCopy?: boolean
}

/**
 * Opens a storage in a PostgreSQL database (14 or later), made and migrated as needed, in the
 * schema that the search path names first (`?search_path=shop` in the URL chooses one). Any number
 * of servers may have the same database open. TLS is chosen by `?sslmode=`, as postgres.js reads
 * it. Behind pgbouncer in transaction mode add `?prepare=false`, and there
 * `ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout`.
 *
 * Throws `storage_unavailable` when the database can not be reached or used, when a newer tillkit
 * has written it, or when it is a copy that was cut off; later too, while the server is away.
 * Connections come back by themselves.
 */
export async function openPostgresStorage(
  url: string,
  options: PostgresOptions = {},
): Promise<Storage> {
  const db = await connect(url, options)
  try {
    await migrate(db)
    if (!options.forCopy) await assertWhole(db)
    return storageOn(db)
  } catch (error) {
    await db.close()
    if ((error as { code?: string }).code === undefined) throw error
    throw new TillError('storage_unavailable', `Cannot open the database: ${reasonOf(error)}`)
  }
}

async function connect(url: string, options: PostgresOptions): Promise<Database> {
  const postgres = options.postgres ?? (await loadPostgresDriver())
  const inUrl = new URLSearchParams(url.split('?')[1])
  const inUrlOr = (name: string, normal: number) => Number(inUrl.get(name) ?? normal)
  const {
    max: size = inUrlOr('max', 10),
    poolTimeout = 5_000,
    connectTimeout = 1000 * inUrlOr('connect_timeout', 5), // postgres.js has seconds in the URL
    statementTimeout = inUrlOr('statement_timeout', 10_000),
    idleTimeout = 1000 * inUrlOr('idle_timeout', 60),
  } = options
  if (!Number.isInteger(size) || size < 1) throw new TypeError('max must be a whole number from 1')
  const settings = {
    max: 1,
    connect_timeout: connectTimeout / 1000,
    idle_timeout: 0, // the pool closes what is idle, and nothing within a transaction
    max_lifetime: 0,
    fetch_types: false,
    connection: {
      application_name: 'tillkit',
      statement_timeout: statementTimeout,
      idle_in_transaction_session_timeout: 60_000,
    },
    socket: createSockets(),
    onnotice: () => {},
  }
  const pool = createPool((onclose) => postgres(url, { ...settings, onclose }), {
    size,
    pipeline: isPooled(inUrl) ? 1 : 100,
    wait: poolTimeout,
    patience: statementTimeout + 5_000,
    idle: idleTimeout,
  })
  return databaseOn(pool)
}

/** `?prepare=false` says that a pooler is in between; postgres.js reads it the same way. */
function isPooled(inUrl: URLSearchParams): boolean {
  return /^(false|disable)$/.test(inUrl.get('prepare') ?? '')
}

function storageOn(db: Database): Storage {
  const cleanup = startCleanup((pause) => clearAbandonedImports(db, pause))
  return {
    async ping() {
      await assertWhole(db)
    },
    ...accountMethods(db),
    ...projectMethods(db),
    ...storeMethods(db),
    ...itemMethods(db),
    ...importMethods(db),
    ...purchaseMethods(db),
    ...tokenMethods(db),
    ...auditMethods(db),
    ...bucketMethods(db),
    ...unfinishedMethods(db),
    check: () => findProblems(db),
    async size() {
      const row = await db.find('SELECT pg_database_size(current_database()) AS bytes')
      return { database: Number(row?.bytes) }
    },
    poolState: () => db.poolState(),
    async close() {
      await cleanup.stop()
      await db.close()
    },
  }
}
