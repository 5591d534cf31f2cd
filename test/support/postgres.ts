import { after, type TestContext } from 'node:test'
import postgres, { type Sql } from 'postgres'
import { openPostgresStorage, type PostgresOptions, type Storage } from '../../lib/index.ts'
import { startCluster } from './cluster.ts'
import { keepClients } from './kept-clients.ts'

export interface PostgresServer {
  /** The reason to skip tests that stop the server: it is not the tests' own. False if it is. */
  readonly isForeign: string | false
  /** The URL of a new database. `how` is the options of CREATE DATABASE. */
  createDatabase(t?: TestContext, how?: string): Promise<string>
  /** The URL of a new schema, which is cheaper than a database. It has no tables yet. */
  createSchema(t: Pick<TestContext, 'after'>): Promise<string>
  /**
   * The URL of a schema of earlier tests, after deleting its rows. Takes 15 ms of CPU time; the
   * migrations of a new schema take 130 ms.
   */
  emptySchema(t: Pick<TestContext, 'after'>): Promise<string>
  /** The same for a database, whose connections no other test uses. */
  emptyDatabase(t: Pick<TestContext, 'after'>): Promise<string>
  /** Opens an empty storage in such a schema, with a connection of earlier tests. */
  openEmpty(t: Pick<TestContext, 'after'>): Promise<Storage>
  stop(): Promise<void>
  start(): Promise<void>
}

let ofThisProcess: Promise<PostgresServer> | undefined

/**
 * A PostgreSQL server for the test files of one process: a new database in the server of the test
 * run (scripts/test.mjs), or a new server if there is none or `isOwn` is set. `TILLKIT_TEST_PG`
 * names another server by the URL of a role that may create databases.
 */
export function startPostgres({ isOwn = false } = {}): Promise<PostgresServer> {
  if (isOwn) return start(isOwn)
  ofThisProcess ??= start(isOwn)
  return ofThisProcess
}

async function start(isOwn: boolean): Promise<PostgresServer> {
  const { TILLKIT_TEST_PG: foreign, TILLKIT_TEST_RUN_PG: shared } = process.env
  const url = foreign ?? (isOwn ? undefined : shared)
  const own = url === undefined ? await startCluster() : undefined
  const server = new URL(url ?? own?.url ?? '')
  const databases: string[] = []
  const newDatabase = async (how: string) => {
    const name = `tillkit_test_${process.pid}_${databases.length}`
    await asAdmin(server, (sql) => sql.unsafe(`CREATE DATABASE ${name} ${how}`))
    databases.push(name)
    const url = new URL(server)
    url.pathname = `/${name}`
    url.searchParams.set('connect_timeout', String(PATIENCE_MS / 1_000))
    return url
  }
  const dropDatabases = () =>
    asAdmin(server, async (sql) => {
      for (const name of databases) await sql.unsafe(`DROP DATABASE ${name} (FORCE)`)
    })
  const base = await newDatabase('')
  let created = 0
  const createSchema = async () => {
    const url = new URL(base)
    const name = `schema_${++created}`
    await asAdmin(base, (sql) => sql.unsafe(`CREATE SCHEMA ${name}`))
    url.searchParams.set('search_path', name)
    return url.href
  }
  const schemas = createSchemas(createSchema)
  const pool = createSchemas(async () => (await newDatabase('')).href)
  after(async () => {
    await Promise.all([schemas.close(), pool.close()])
    if (foreign) await dropDatabases()
    await own?.stop()
  })

  return {
    isForeign: foreign ? 'TILLKIT_TEST_PG is not to be stopped' : false,
    createDatabase: async (_t, how = '') => (await newDatabase(how)).href,
    createSchema,
    emptySchema: schemas.emptySchema,
    emptyDatabase: pool.emptySchema,
    openEmpty: schemas.openEmpty,
    stop: async () => own?.stop(),
    start: async () => own?.start(),
  }
}

/**
 * How long tests wait for a connection. A machine that reads PostgreSQL from a disk for the first
 * time may need more than the default of 5 s.
 */
const PATIENCE_MS = 60_000
/** Options for storages of tests that open them without `openPostgres`. */
export const PATIENT = { poolTimeout: PATIENCE_MS }

interface Schema {
  readonly url: string
  readonly sql: Sql
  /** Deletes all rows. */
  readonly script: string
  readonly clients: ReturnType<typeof keepClients>
}

/** The schemas, or databases, that tests use one after another. */
function createSchemas(createSchema: () => Promise<string>) {
  const all: Schema[] = []
  const unused: Schema[] = []
  const create = async (): Promise<Schema> => {
    const url = await createSchema()
    await (await openPostgresStorage(url, PATIENT)).close()
    const sql = postgres(url, { max: 1, onnotice: () => {} })
    const tables = await sql`SELECT tablename AS name FROM pg_tables
      WHERE schemaname = current_schema() AND tablename <> 'tillkit_migrations'`
    const sequences = await sql`SELECT sequencename AS name FROM pg_sequences
      WHERE schemaname = current_schema()`
    const script = [
      'SET session_replication_role = replica', // no foreign keys, no triggers
      ...tables.map(({ name }) => `DELETE FROM ${name}`),
      ...sequences.map(({ name }) => `SELECT setval('${name}', 1, false)`),
    ].join(';')
    const schema = { url, sql, script, clients: keepClients() }
    all.push(schema)
    return schema
  }
  const empty = async (): Promise<Schema> => {
    const schema = unused.pop() ?? (await create())
    await schema.sql.unsafe(schema.script)
    return schema
  }
  return {
    async emptySchema(t: Pick<TestContext, 'after'>) {
      const schema = await empty()
      t.after(() => void unused.push(schema))
      return schema.url
    },
    async openEmpty(t: Pick<TestContext, 'after'>) {
      const schema = await empty()
      const storage = await openPostgresStorage(schema.url, {
        ...PATIENT,
        postgres: schema.clients.driver,
      })
      t.after(async () => {
        await storage.close()
        unused.push(schema)
      })
      return storage
    },
    async close() {
      for (const { sql, clients } of all) await Promise.all([sql.end(), clients.close()])
    },
  }
}

async function asAdmin(url: URL, work: (sql: Sql) => PromiseLike<unknown>): Promise<void> {
  const sql = postgres(url.href, { max: 1, onnotice: () => {} })
  try {
    await work(sql)
  } finally {
    await sql.end()
  }
}

export async function openPostgres(
  t: TestContext,
  url: string,
  options: PostgresOptions = {},
): Promise<Storage> {
  const storage = await openPostgresStorage(url, { ...PATIENT, ...options })
  t.after(() => storage.close())
  return storage
}

/** Connects to the database directly, without the adapter. */
export function rawPostgres(t: TestContext, url: string): Sql {
  const sql = postgres(url, { max: 2, onnotice: () => {} })
  t.after(() => sql.end({ timeout: 1 }))
  return sql
}

type Driver = NonNullable<PostgresOptions['postgres']>
type Query = ReturnType<ReturnType<Driver>['unsafe']>

/** postgres.js with a hook: `sent` sees each statement, and may answer instead of the server. */
export function drivenBy(
  sent: (sql: string, send: () => Query, values: readonly unknown[]) => PromiseLike<unknown>,
): Driver {
  return (url, settings) => {
    const client: ReturnType<Driver> = postgres(url, settings)
    return {
      unsafe: (sql, values = [], ...rest) =>
        sent(sql, () => client.unsafe(sql, values, ...rest), values) as Query,
      end: (options) => client.end(options),
    }
  }
}
