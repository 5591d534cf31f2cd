// run: early
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Sql } from 'postgres'
import type { Item } from '../../lib/domain/item.ts'
import { openPostgresStorage, type PostgresOptions, type Storage } from '../../lib/index.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { temporaryFolder } from '../support/folder.ts'
import { drivenBy, openPostgres, PATIENT, rawPostgres, startPostgres } from '../support/postgres.ts'
import { soakOnly } from '../support/soak.ts'
import { openImport, purchasesIn } from '../support/storage/imports.ts'
import {
  AT,
  addRows,
  insertProjects,
  insertShops,
  insertStores,
  itemsOf,
  MAIN,
  newAccount,
  newItem,
  newKey,
  newRow,
  newStore,
} from '../support/storage/records.ts'
import { ARCHIVED, auditOf, newEntry, newIdempotencyRecord } from '../support/storage/writes.ts'

const server = await startPostgres({ isOwn: !soakOnly })

const UNAVAILABLE = { code: 'storage_unavailable' }
const OWN = "application_name = 'tillkit' AND datname = current_database()"

test('a schema without tables is refused with create: false, and gets none', async (t) => {
  const url = await server.createSchema(t)
  const message = 'Cannot open the database: it has no tables'
  const opening = openPostgresStorage(url, { ...PATIENT, create: false })
  await assert.rejects(opening, { ...UNAVAILABLE, message })
  const tables = 'SELECT 1 FROM pg_tables WHERE schemaname = current_schema()'
  assert.equal((await rawPostgres(t, url).unsafe(tables)).length, 0)
  await (await openPostgresStorage(url, PATIENT)).close()
  await (await openPostgresStorage(url, { ...PATIENT, create: false })).close()
})

const failure = (code: string) => Object.assign(new Error(`failed with ${code}`), { code })

const rename = (storage: Storage, name: string) =>
  storage.updateProject('prj_1', (project) => ({ record: { ...project, name } }))
const nameOf = async (storage: Storage) => (await storage.findProject('prj_1'))?.name
/** Increments a counter in a project. */
const count = (storage: Storage) =>
  storage.updateProject('prj_1', ({ config: { count = 0 }, ...project }) => {
    return { record: { ...project, config: { count: Number(count) + 1 } } }
  })
const countOf = async (storage: Storage) => (await storage.findProject('prj_1'))?.config.count

/** A storage with projects in a schema or a database of its own, and a connection without it. */
async function openProjects(
  t: TestContext,
  options: PostgresOptions = {},
  create: 'emptySchema' | 'emptyDatabase' = 'emptySchema',
) {
  const url = await server[create](t)
  const storage = await openPostgres(t, url, options)
  await insertProjects(storage)
  return { url, storage, sql: rawPostgres(t, url) }
}

/** Locks a project until the returned function is called. */
async function lockProject(sql: Sql): Promise<() => Promise<void>> {
  const held = await sql.reserve()
  await held`BEGIN`
  await held`SELECT 1 FROM projects WHERE id = 'prj_1' FOR UPDATE`
  return async () => {
    await held`COMMIT`
    held.release()
  }
}

async function untilWaiting(sql: Sql): Promise<void> {
  for (;;) {
    const [row] = await sql.unsafe(
      `SELECT 1 FROM pg_stat_activity WHERE ${OWN} AND wait_event_type = 'Lock'`,
    )
    if (row) return
    await setTimeout(20)
  }
}

/** Terminates tillkit's connections to a database on the server, and waits until they are gone. */
const killConnections = (sql: Sql) =>
  sql.unsafe(`SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE ${OWN}`)

/** A driver that fails some statements before or after they were sent. */
function failing(fails: (sql: string) => false | 'before' | 'after', code: () => string) {
  return drivenBy((sql, send) => {
    const when = fails(sql)
    if (when === 'before') return Promise.reject(failure(code()))
    return when === 'after' ? send().then(() => Promise.reject(failure(code()))) : send()
  })
}

describe('shared PostgreSQL databases', () => {
  test('ten storages that open an empty database concurrently migrate it once', async (t) => {
    const url = await server.createDatabase(t)

    // With only one connection, the migration runs on the connection that saw an empty database
    // before it got the lock.
    const storages = await Promise.all(
      Array.from({ length: 10 }, (_, i) => openPostgres(t, url, { max: (i % 2) + 1 })),
    )
    await Promise.all(
      storages.map((storage, i) =>
        storage.insertAccount(newAccount(`acc_${i}`), newKey(`acc_${i}`, `hash_${i}`)),
      ),
    )

    const [first] = storages
    assert.equal((await first?.listAccounts({ limit: 99 }))?.records.length, 10)
    const versions = await rawPostgres(t, url)`SELECT version FROM tillkit_migrations`
    assert.equal(versions.length, 1)
  })

  test('the audit log refuses updates, deletions and truncation', async (t) => {
    const url = await server.emptySchema(t)
    const storage = await openPostgres(t, url)
    const at = '2024-01-01T00:00:00.000Z'
    await storage.insertAudit({ audit: newEntry({ at }) }, { audit: newEntry() })
    const file = join(temporaryFolder(t), 'audit.jsonl')
    const archived = { ...ARCHIVED.audit, subject: AT }
    assert.equal(await storage.archiveAudit({ before: AT, file, write: { audit: archived } }), 1)
    const before = new Date(Date.now() - 2_400_000).toISOString()
    const late = storage.archiveAudit({ before, file: `${file}.2`, write: ARCHIVED })
    await assert.rejects(late, { code: 'invalid_request' }, 'entries of the last hour')
    const sql = rawPostgres(t, url)
    const changes = [
      ...["actor = 'nobody'", "actor = 'erased:x', at = ''", "project_id = 'x'", "store_id = 'x'"],
      ...["data = '{}'", "xid = '1'", 'seq = DEFAULT', "action = 'item.create'"],
    ]
    const attacks = [
      'DELETE FROM audit',
      'DELETE FROM audit WHERE seq = 2',
      'INSERT INTO audit SELECT * FROM audit',
      ...changes.map((change) => `UPDATE audit SET ${change}`),
      'TRUNCATE audit',
    ]

    for (const attack of attacks) {
      await assert.rejects(sql.unsafe(attack), /append-only|cannot insert/, attack)
    }

    await sql`UPDATE audit SET subject = 'prj_1/erased:x' WHERE seq = 2`
    const erased = newEntry({ subject: 'prj_1/erased:x' })
    assert.deepEqual(await auditOf(storage), [erased, archived])
  })

  test('concurrent new items of one account key share statements; each fails or repeats alone', async (t) => {
    let ids = 0
    let statements = 0
    const driver = drivenBy((_, send) => {
      statements++
      return send()
    })
    const storage = await openPostgres(t, await server.emptySchema(t), { postgres: driver })
    await insertStores(storage)
    const insert = (name: string, change: Partial<Item>, key?: string) => {
      const item = newItem(name, { id: `itm_${ids++}`, ...change })
      const authority = { key_id: 'key_hash-1' }
      const idempotency = key !== undefined && { idempotency: newIdempotencyRecord({ key }) }
      const write = { audit: newEntry({ subject: item.id }), authority, ...idempotency }
      return storage.insertItem(item, write)
    }

    const settled = await Promise.allSettled(
      Array.from({ length: 40 }, (_, i) =>
        i === 20 ? insert('bad', { description: '\0' }) : insert(`sku_${i % 30}`, { price: i }),
      ),
    )
    const outcomes = settled.map((each) => (each.status === 'rejected' ? 'rejected' : each.value))
    const found = await itemsOf(storage, MAIN)

    const expected = [...Array(29).fill('inserted'), 'rejected', ...Array(10).fill('taken')]
    assert.deepEqual(outcomes.toSorted(), expected)
    const subjects = (await auditOf(storage)).map(({ subject }) => subject)
    assert.deepEqual(subjects.toSorted(), found.map(({ id }) => id).toSorted())
    const repeats = Array.from({ length: 40 }, (_, i) => insert(`key_${i}`, {}, `k_${i % 30}`))
    const expectedRepeats = [...Array(30).fill('inserted'), ...Array(10).fill('repeated')]
    assert.deepEqual((await Promise.all(repeats)).toSorted(), expectedRepeats)
    assert.equal((await itemsOf(storage, MAIN)).length, found.length + 30)
    statements = 0
    const keyOf = (i: number) => (i % 2 === 0 ? undefined : `more_${i}`)
    await Promise.all(Array.from({ length: 40 }, (_, i) => insert(`more_${i}`, {}, keyOf(i))))
    assert.ok(statements < 10, `${statements} statements`)
    assert.ok(await storage.findIdempotencyRecord('acc_1', 'more_39'))
  })

  test('several tillkits can share a database by a search path in the URL', async (t) => {
    const { url, sql } = await openProjects(t)
    const other = await openPostgres(t, await server.emptySchema(t))
    assert.deepEqual((await other.listAccounts({ limit: 9 })).records, [])
    assert.equal(await other.findItem('a text that PostgreSQL cannot store \0'), undefined)

    // A manual change from another search path is counted in its own schema.
    const [here] = await sql`SELECT current_schema() AS name`
    const elsewhere = new URL(url)
    elsewhere.searchParams.set('search_path', 'pg_catalog')
    const raw = rawPostgres(t, elsewhere.href)
    await raw.unsafe(
      `UPDATE ${here?.name}.projects SET config = '{"text":"0123"}' WHERE id = 'prj_1'`,
    )
    const [counted] = await sql`SELECT
      (SELECT config_bytes FROM accounts WHERE account_id = 'acc_1')::int AS bytes,
      (SELECT sum(octet_length(config::text)) FROM projects
       WHERE account_id = 'acc_1')::int AS expected`
    assert.ok(counted?.expected > 10)
    assert.equal(counted?.bytes, counted?.expected)
  })
})

test('unusable PostgreSQL databases are refused with the reason, and not changed', async (t) => {
  const assertRefused = (url: string, message: RegExp) =>
    assert.rejects(openPostgresStorage(url), { ...UNAVAILABLE, message })
  const url = new URL(await server.createSchema(t))
  const changed = (change: Partial<URL>) => Object.assign(new URL(url), change).href
  await assertRefused(changed({ port: '1' }), /ECONNREFUSED/)
  await assertRefused(changed({ password: 'wrong' }), /password/)
  await assertRefused(changed({ pathname: '/none' }), /none/)

  const how = "ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"
  await assertRefused(await server.createDatabase(t, how), /LATIN1/)
  for (const max of ['0', 'many']) {
    await assert.rejects(openPostgresStorage(`postgres://127.0.0.1/none?max=${max}`), TypeError)
  }

  const sql = rawPostgres(t, url.href)
  await sql`CREATE TABLE stores (note text)` // of another program
  await assertRefused(url.href, /stores/)
  const tables = await sql`SELECT relname FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'`
  assert.deepEqual([...tables], [{ relname: 'stores' }])
  await sql`DROP TABLE stores`
  await (await openPostgresStorage(url.href)).close()
  await sql`INSERT INTO tillkit_migrations (version) VALUES (99)`
  await assertRefused(url.href, /newer tillkit/)
})

describe('PostgreSQL connections', () => {
  test('when all are in use, writes wait until poolTimeout, and reads continue', async (t) => {
    const { storage, sql } = await openProjects(t, { max: 2, poolTimeout: 300 }, 'emptyDatabase')
    const unlock = await lockProject(sql)
    const first = rename(storage, 'First')
    await untilWaiting(sql)

    await assert.rejects(storage.insertStore(newStore('main')), UNAVAILABLE)
    assert.equal(await nameOf(storage), 'Game')
    await unlock()
    await first

    assert.equal(await nameOf(storage), 'First')
    assert.equal(await storage.insertStore(newStore('main')), 'inserted')
  })

  test('a connection killed during a write rejects the write, and is replaced', async (t) => {
    const { storage, sql } = await openProjects(t, {}, 'emptyDatabase')
    const unlock = await lockProject(sql)
    const write = assert.rejects(rename(storage, 'Lost'), UNAVAILABLE)
    await untilWaiting(sql)

    await killConnections(sql)
    await write
    await unlock()

    // Another connection of the pool may be dead too.
    await eventuallyHolds(async () => assert.equal(await nameOf(storage), 'Game'))
    await rename(storage, 'Later')
    assert.equal(await nameOf(storage), 'Later')
  })

  test('after a connection is killed between two statements, the second does not run alone', async (t) => {
    let kill: undefined | (() => PromiseLike<unknown>)
    const postgres = drivenBy((sql, send) => {
      if (!kill || !sql.includes('FOR NO KEY UPDATE')) return send()
      const late = async () => {
        const rows = await send()
        await kill?.()
        await setTimeout(100)
        return rows
      }
      return late()
    })
    const { storage, sql } = await openProjects(t, { postgres }, 'emptyDatabase')

    kill = () => killConnections(sql)
    await assert.rejects(rename(storage, 'Alone'), UNAVAILABLE)
    kill = undefined

    assert.equal(await nameOf(storage), 'Game')
    await rename(storage, 'Later')
    assert.equal(await nameOf(storage), 'Later')
  })

  test('a connection lost during a commit rejects the write, although the commit may have succeeded', async (t) => {
    let commits = 0
    let loses = false
    const postgres = failing(
      (sql) => loses && sql === 'COMMIT' && ++commits > 0 && 'after',
      () => 'CONNECTION_CLOSED',
    )
    const { storage } = await openProjects(t, { postgres })

    loses = true
    await assert.rejects(rename(storage, 'Perhaps'), UNAVAILABLE)

    assert.equal(commits, 1)
    assert.equal(await nameOf(storage), 'Perhaps')
  })

  test('idle connections are closed after a while, and reopened', async (t) => {
    const { storage, sql } = await openProjects(t, { idleTimeout: 100 }, 'emptyDatabase')
    const open = () => sql.unsafe(`SELECT 1 FROM pg_stat_activity WHERE ${OWN}`)

    while ((await open()).length > 0) await setTimeout(50)

    assert.equal(await nameOf(storage), 'Game')
  })

  test('a storage closed under load rejects waiting and later calls, and opens no connections for them', async (t) => {
    const { storage, sql } = await openProjects(t, { max: 2 }, 'emptyDatabase')
    const unlock = await lockProject(sql)
    const [first, ...others] = Array.from({ length: 20 }, (_, i) => rename(storage, `Name ${i}`))
    const ended = Promise.allSettled([first])
    const refused = Promise.all(others.map((write) => assert.rejects(write, UNAVAILABLE)))
    await untilWaiting(sql)

    const closed = storage.close()
    await refused
    await unlock()
    await Promise.all([closed, ended])

    await storage.close()
    await assert.rejects(storage.listAccounts({ limit: 1 }), UNAVAILABLE)
    await assert.rejects(rename(storage, 'New'), UNAVAILABLE)
    // The server ends the connections a little later.
    const open = () => sql.unsafe(`SELECT 1 FROM pg_stat_activity WHERE ${OWN}`)
    while ((await open()).length > 0) await setTimeout(20)
  })

  // postgres.js opened another connection for them, which stayed open and kept the process alive.
  test('a storage closed while reads share a connection answers them, and leaves no connection', async (t) => {
    const { storage, sql } = await openProjects(t, { max: 1 }, 'emptyDatabase')
    let reads: Promise<unknown>[] = []
    let closed: Promise<void> | undefined

    await sql.begin(async (tx) => {
      await tx`LOCK TABLE items`
      reads = ['itm_1', 'itm_2', 'itm_3'].map((id) => storage.findItem(id))
      await untilWaiting(sql)
      closed = storage.close()
    })

    assert.deepEqual(await Promise.all(reads), [undefined, undefined, undefined])
    await closed
    await eventuallyHolds(async () => {
      assert.equal((await sql.unsafe(`SELECT 1 FROM pg_stat_activity WHERE ${OWN}`)).length, 0)
    })
  })

  test('with the default isolation serializable, concurrent updates and migrations succeed', async (t) => {
    const url = new URL(await server.createSchema(t))
    url.searchParams.set('default_transaction_isolation', 'serializable')
    const [storage = assert.fail()] = await Promise.all(
      Array.from({ length: 4 }, () => openPostgres(t, url.href, { max: 4 })),
    )
    await insertProjects(storage)

    await Promise.all(Array.from({ length: 30 }, () => count(storage)))

    assert.equal(await countOf(storage), 30)
  })

  test('settings of a database do not change stored values', async (t) => {
    const url = new URL(await server.createSchema(t))
    const settings = {
      ...{ bytea_output: 'escape', standard_conforming_strings: 'off', TimeZone: 'Pacific/Apia' },
      ...{ DateStyle: 'SQL, DMY', IntervalStyle: 'sql_standard', client_encoding: 'LATIN1' },
    }
    for (const [name, value] of Object.entries(settings)) url.searchParams.set(name, value)
    const storage = await openPostgres(t, url.href)
    await insertShops(storage)
    const secret = Uint8Array.from({ length: 32 }, (_, i) => 7 * i)
    await storage.insertFirstSigningKey({ kid: 'k', secret, created_at: AT })
    const row = newRow(2, { transaction_id: "\\' \\\\ \t 日本 \\x41", metadata: { a: '\\n"' } })
    const current = await openImport(storage, MAIN, 'imp_1')
    await addRows(current, [row])
    assert.equal(await storage.openImport(MAIN, 'imp_2'), undefined)
    await current.commit()

    const [key] = await storage.listSigningKeys()
    assert.deepEqual(Uint8Array.from(key?.secret ?? []), secret)
    const [purchase] = await purchasesIn(storage, MAIN)
    const { transaction_id, metadata } = purchase ?? {}
    assert.deepEqual([transaction_id, metadata], [row.transaction_id, row.metadata])
  })

  test('errors of the server become storage_unavailable, a conflict only after retries', async (t) => {
    let code = '40001' // a serialization failure
    let left = 0
    let attempts = 0
    let failed = /FOR NO KEY UPDATE/
    const postgres = failing(
      (sql) => failed.test(sql) && left-- > 0 && ++attempts > 0 && 'before',
      () => code,
    )
    const { storage } = await openProjects(t, { postgres })
    left = 4
    await Promise.all([count(storage), count(storage), count(storage)])
    assert.equal(await countOf(storage), 3)

    attempts = 0
    left = Number.POSITIVE_INFINITY
    await assert.rejects(rename(storage, 'Never'), UNAVAILABLE)
    assert.equal(attempts, 5)
    failed = /./
    for (code of ['53100', '25006', '53300', '57P03', '40P01', '08006', 'ECONNRESET']) {
      await assert.rejects(storage.listAccounts({ limit: 1 }), UNAVAILABLE, code)
      await assert.rejects(rename(storage, 'New'), UNAVAILABLE, code)
    }
    left = 0
  })
})

describe('a PostgreSQL server', { skip: server.isForeign }, () => {
  test('that restarts under load neither loses nor duplicates acknowledged writes', {
    skip: soakOnly,
  }, async (t) => {
    const storage = await openPostgres(t, await server.createDatabase(t))
    await insertStores(storage)
    const acknowledged: string[] = []
    let goesOn = true
    const creators = Array.from({ length: 8 }, async (_, creator) => {
      for (let i = 0; goesOn; i++) {
        const name = `sku_${creator}_${i}`
        try {
          if ((await storage.insertItem(newItem(name))) === 'inserted') acknowledged.push(name)
        } catch (error) {
          assert.equal((error as { code: string }).code, 'storage_unavailable')
          await setTimeout(20)
        }
      }
    })

    await setTimeout(150)
    await server.stop()
    await assert.rejects(storage.ping(), UNAVAILABLE)
    await assert.rejects(nameOf(storage), UNAVAILABLE)
    await assert.rejects(rename(storage, 'New'), UNAVAILABLE)
    await server.start()
    const before = acknowledged.length
    while (acknowledged.length < before + 20) await setTimeout(20)
    goesOn = false
    await Promise.all(creators)

    const names = (await itemsOf(storage, MAIN)).map(({ name }) => name)
    assert.equal(new Set(names).size, names.length)
    assert.deepEqual(
      acknowledged.filter((name) => !names.includes(name)),
      [],
    )
  })

  test('that hangs is abandoned after a timeout, and calls continue on another connection', {
    skip: soakOnly,
  }, async (t) => {
    const options = { max: 1, statementTimeout: 2_000 }
    const { storage, sql } = await openProjects(t, options, 'emptyDatabase')
    const [hung] = await sql.unsafe(`SELECT pid FROM pg_stat_activity WHERE ${OWN}`)
    process.kill(hung?.pid, 'SIGSTOP')
    t.after(() => process.kill(hung?.pid, 'SIGCONT'))

    await assert.rejects(nameOf(storage), UNAVAILABLE)

    await eventuallyHolds(async () => assert.equal(await nameOf(storage), 'Game'))
  })
})
