import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Item } from '../../lib/domain/item.ts'
import { openPostgresStorage, type Storage } from '../../lib/index.ts'
import { all } from '../support/collect.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { temporaryFolder } from '../support/folder.ts'
import { drivenBy, openPostgres, rawPostgres, startPostgres } from '../support/postgres.ts'
import { soakOnly } from '../support/soak.ts'
import {
  AT,
  insertProjects,
  insertShops,
  insertStores,
  itemsOf,
  MAIN,
  newAccount,
  newItem,
  newKey,
  newProject,
  newRow,
  newStore,
  stage,
} from './fixtures/records.ts'
import { auditOf, newEntry } from './fixtures/writes.ts'

const server = await startPostgres({ restarts: !soakOnly })

function failure(code: string): Error {
  return Object.assign(new Error(`failed with ${code}`), { code })
}

const UNAVAILABLE = { code: 'storage_unavailable' }

/** Locks a project until the returned function is called. */
async function lockProject(t: TestContext, url: string, id: string): Promise<() => Promise<void>> {
  const sql = rawPostgres(t, url)
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  let done: Promise<unknown> = Promise.resolve()
  await new Promise<void>((resolve, reject) => {
    done = sql.begin(async (tx) => {
      await tx`SELECT 1 FROM projects WHERE id = ${id} FOR UPDATE`
      resolve()
      await held
    })
    done.catch(reject)
  })
  return async () => {
    release()
    await done
  }
}

async function untilWaiting(t: TestContext, url: string, count: number): Promise<void> {
  const sql = rawPostgres(t, url)
  for (;;) {
    const [row] = await sql`SELECT count(*)::int AS n FROM pg_stat_activity
      WHERE application_name = 'tillkit' AND wait_event_type = 'Lock'
        AND datname = current_database()`
    if (row?.n === count) return
    await setTimeout(20)
  }
}

/** Terminates tillkit's connections to a database on the server, and waits until they are gone. */
async function killConnections(t: TestContext, url: string): Promise<void> {
  const sql = rawPostgres(t, url)
  await sql`SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
    WHERE application_name = 'tillkit' AND datname = current_database()`
}

const rename = (storage: Storage, name: string) =>
  storage.updateProject('prj_1', (project) => ({ ...project, name }))

const nameOf = async (storage: Storage) => (await storage.findProject('prj_1'))?.name

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
    const url = await server.createSchema(t)
    const storage = await openPostgres(t, url)
    const at = '2024-01-01T00:00:00.000Z'
    await storage.insertAudit({ audit: newEntry({ at }) }, { audit: newEntry() })
    const file = join(temporaryFolder(t), 'audit.jsonl')
    assert.equal(await storage.archiveAudit({ before: AT, file }), 1)
    const sql = rawPostgres(t, url)
    const attacks = [
      "UPDATE audit SET actor = 'nobody'",
      'UPDATE audit SET actor = actor WHERE false',
      'DELETE FROM audit',
      'DELETE FROM audit WHERE seq = 2',
      'INSERT INTO audit SELECT * FROM audit',
      "INSERT INTO audit_pseudonym VALUES ('erased:x'); UPDATE audit SET actor = 'nobody'",
      "INSERT INTO audit_pseudonym VALUES ('erased:x'); UPDATE audit SET actor = 'erased:x', at = ''",
      ...["project_id = 'x'", "store_id = 'x'", "data = '{}'", "xid = '1'"].map(
        (change) => `INSERT INTO audit_pseudonym VALUES ('erased:x'); UPDATE audit SET ${change}`,
      ),
      'TRUNCATE audit',
    ]

    for (const attack of attacks) {
      await assert.rejects(sql.unsafe(attack), /append-only|cannot insert/, attack)
    }

    assert.deepEqual(await auditOf(storage), [newEntry()])
  })

  test('each of two servers sees the writes of the other at once', async (t) => {
    const url = await server.emptySchema(t)
    const a = await openPostgres(t, url)
    const b = await openPostgres(t, url)

    await insertStores(a)
    await b.insertItem(newItem('gold'))
    assert.deepEqual(await itemsOf(a, MAIN), [newItem('gold')])
    await rename(b, 'By b')
    await a.updateProject('prj_1', (project) => ({ ...project, platform: 'web' }))
    const expected = newProject('prj_1', { name: 'By b', platform: 'web' })
    assert.deepEqual(await b.findProject('prj_1'), expected)
  })

  test('one of many concurrent creates of one SKU on three servers succeeds', async (t) => {
    const url = await server.emptySchema(t)
    const servers = await Promise.all([1, 2, 3].map(() => openPostgres(t, url, { max: 3 })))
    await insertStores(servers[0] as Storage)

    const outcomes = await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        (servers[i % 3] as Storage).insertItem(newItem('gold', { id: `itm_${i}` })),
      ),
    )

    assert.equal(outcomes.filter((outcome) => outcome === 'inserted').length, 1)
    assert.equal(outcomes.filter((outcome) => outcome === 'taken').length, 29)
    assert.equal((await itemsOf(servers[2] as Storage, MAIN)).length, 1)
  })

  test('concurrent new items of one key share statements, and fail separately', async (t) => {
    let ids = 0
    let statements = 0
    const driver = drivenBy((_, send) => {
      statements++
      return send()
    })
    const storage = await openPostgres(t, await server.emptySchema(t), { postgres: driver })
    await insertStores(storage)
    const insert = (name: string, change: Partial<Item>) => {
      const item = newItem(name, { id: `itm_${ids++}`, ...change })
      const authority = { key_id: 'key_hash-1' }
      return storage.insertItem(item, { audit: newEntry({ subject: item.id }), authority })
    }
    statements = 0

    const outcomes = await Promise.allSettled(
      Array.from({ length: 40 }, (_, i) =>
        i === 20 ? insert('bad', { description: '\0' }) : insert(`sku_${i % 30}`, { price: i }),
      ),
    )
    const found = await itemsOf(storage, MAIN)
    const counts = [0, 0, 0]
    for (const outcome of outcomes) {
      const kind = outcome.status === 'rejected' ? 2 : outcome.value === 'inserted' ? 0 : 1
      counts[kind] = (counts[kind] as number) + 1
    }

    assert.deepEqual(counts, [29, 10, 1])
    assert.equal(found.length, 29)
    const entries = await auditOf(storage)
    assert.deepEqual(
      entries.map(({ subject }) => subject).toSorted(),
      found.map(({ id }) => id).toSorted(),
    )
    statements = 0
    await Promise.all(Array.from({ length: 40 }, (_, i) => insert(`more_${i}`, {})))
    assert.ok(statements < 10, `${statements} statements`)
  })

  test('one of many concurrent inserts of one idempotency record on three servers succeeds', async (t) => {
    const url = await server.emptySchema(t)
    const servers = await Promise.all([1, 2, 3].map(() => openPostgres(t, url, { max: 4 })))
    await insertStores(servers[0] as Storage)
    const created_at = '2024-03-01T00:00:00.000Z'
    const expires_at = '2024-03-02T00:00:00.000Z'
    const idempotency = { account_id: 'acc_1', key: 'k', fingerprint: 'f', answer: '{}' }

    const outcomes = await Promise.all(
      Array.from({ length: 12 }, (_, i) => {
        const write = { idempotency: { ...idempotency, created_at, expires_at } }
        return (servers[i % 3] as Storage).insertItem(newItem(`sku_${i}`), write)
      }),
    )

    assert.equal(outcomes.filter((outcome) => outcome === 'inserted').length, 1)
    assert.equal(outcomes.filter((outcome) => outcome === 'repeated').length, 11)
    assert.equal((await itemsOf(servers[1] as Storage, MAIN)).length, 1)
  })

  test('several tillkits can share a database by a search path in the URL', async (t) => {
    const a = await openPostgres(t, await server.emptySchema(t))
    const b = await openPostgres(t, await server.emptySchema(t))

    await a.insertAccount(newAccount('acc_1'), newKey('acc_1', 'hash-1'))

    assert.deepEqual(await all((page) => b.listAccounts(page)), [])
  })

  test('a manual change from another search path is counted in its own schema', async (t) => {
    const url = await server.emptySchema(t)
    await insertShops(await openPostgres(t, url))
    const sql = rawPostgres(t, url)
    const [here] = await sql`SELECT current_schema() AS name`
    const other = new URL(url)
    other.searchParams.set('search_path', 'pg_catalog')

    await rawPostgres(t, other.href).unsafe(
      `UPDATE ${here?.name}.projects SET config = '{"text":"0123"}' WHERE id = 'prj_1'`,
    )

    const [counted] = await sql`SELECT
      (SELECT config_bytes FROM accounts WHERE account_id = 'acc_1')::int AS bytes,
      ((SELECT sum(octet_length(config::text)) FROM projects WHERE account_id = 'acc_1') +
       (SELECT sum(octet_length(store_config::text)) FROM stores
        WHERE account_id = 'acc_1'))::int AS expected`
    assert.ok(counted?.expected > 10)
    assert.equal(counted?.bytes, counted?.expected)
  })

  test('the storage works without prepared statements, as pgbouncer requires', async (t) => {
    const url = new URL(await server.emptySchema(t))
    url.searchParams.set('prepare', 'false')
    const storage = await openPostgres(t, url.href)
    await insertShops(storage)

    assert.equal((await itemsOf(storage, MAIN)).length, 2)
    const prepared = await rawPostgres(t, url.href)`SELECT 1 FROM pg_prepared_statements`
    assert.equal(prepared.length, 0)
  })

  test('a search for text that PostgreSQL cannot store finds nothing', async (t) => {
    const storage = await openPostgres(t, await server.emptySchema(t))

    assert.equal(await storage.findItem('itm_\0'), undefined)
    assert.equal(await storage.findProjectByPublicKey('\0'), undefined)
  })
})

describe('unusable PostgreSQL databases', () => {
  async function assertRefused(url: string, reason: RegExp): Promise<void> {
    await assert.rejects(openPostgresStorage(url), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'storage_unavailable')
      assert.match(error.message, reason)
      return true
    })
  }

  test('an unreachable server, a wrong password and an unknown database have clear errors', async (t) => {
    const url = new URL(await server.createSchema(t))
    const changed = (change: Partial<URL>) => Object.assign(new URL(url), change).href

    await assertRefused(changed({ port: '1' }), /ECONNREFUSED/)
    await assertRefused(changed({ password: 'wrong' }), /password/)
    await assertRefused(changed({ pathname: '/none' }), /none/)
  })

  test('a schema that a newer tillkit has written is refused', async (t) => {
    const url = await server.createSchema(t)
    await (await openPostgresStorage(url)).close()
    await rawPostgres(t, url)`INSERT INTO tillkit_migrations (version) VALUES (99)`

    await assertRefused(url, /newer tillkit/)
  })

  test('a database whose encoding cannot store all text is refused', async (t) => {
    const how = "ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"

    await assertRefused(await server.createDatabase(t, how), /LATIN1/)
  })

  test('a pool without connections throws a TypeError', async () => {
    await assert.rejects(openPostgresStorage('postgres://127.0.0.1/none?max=0'), TypeError)
    await assert.rejects(openPostgresStorage('postgres://127.0.0.1/none?max=many'), TypeError)
  })

  test("a schema with another program's tables is refused and not changed", async (t) => {
    const url = await server.createSchema(t)
    const sql = rawPostgres(t, url)
    await sql`CREATE TABLE stores (note text)`

    await assertRefused(url, /stores/)

    const tables = await sql`SELECT relname FROM pg_class
      WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'`
    assert.deepEqual([...tables], [{ relname: 'stores' }])
  })
})

describe('PostgreSQL connections', () => {
  test('when all are in use, writes wait until poolTimeout, and reads continue', async (t) => {
    const url = await server.createSchema(t)
    const storage = await openPostgres(t, url, { max: 2, poolTimeout: 300 })
    await insertProjects(storage)
    const unlock = await lockProject(t, url, 'prj_1')
    const first = rename(storage, 'First')
    await untilWaiting(t, url, 1)

    await assert.rejects(storage.insertStore(newStore('main')), UNAVAILABLE)
    assert.equal(await nameOf(storage), 'Game')
    await unlock()
    await first

    assert.equal(await nameOf(storage), 'First')
    assert.equal(await storage.insertStore(newStore('main')), 'inserted')
  })

  test('a connection killed during a write rejects the write, and is replaced', async (t) => {
    const url = await server.createDatabase(t)
    const storage = await openPostgres(t, url)
    await insertProjects(storage)
    const unlock = await lockProject(t, url, 'prj_1')
    const write = assert.rejects(rename(storage, 'Lost'), UNAVAILABLE)
    await untilWaiting(t, url, 1)

    await killConnections(t, url)
    await write
    await unlock()

    // Another connection of the pool may be dead too.
    await eventuallyHolds(async () => assert.equal(await nameOf(storage), 'Game'))
    await rename(storage, 'Later')
    assert.equal(await nameOf(storage), 'Later')
  })

  test('after a connection is killed between two statements, the second does not run alone', async (t) => {
    const url = await server.createDatabase(t)
    let kills = false
    const driver = drivenBy((sql, send) => {
      if (!kills || !sql.includes('FOR NO KEY UPDATE')) return send()
      const late = async () => {
        const rows = await send()
        await killConnections(t, url)
        await setTimeout(100)
        return rows
      }
      return late()
    })
    const storage = await openPostgres(t, url, { postgres: driver })
    await insertProjects(storage)

    kills = true
    await assert.rejects(rename(storage, 'Alone'), UNAVAILABLE)
    kills = false

    assert.equal(await nameOf(storage), 'Game')
    await rename(storage, 'Later')
    assert.equal(await nameOf(storage), 'Later')
  })

  test('a connection lost during a commit rejects the write, although the commit may have succeeded', async (t) => {
    let loses = false
    let commits = 0
    const driver = drivenBy((sql, send) => {
      if (!loses || sql !== 'COMMIT') return send()
      commits++
      return send().then(() => Promise.reject(failure('CONNECTION_CLOSED')))
    })
    const storage = await openPostgres(t, await server.emptySchema(t), { postgres: driver })
    await insertProjects(storage)

    loses = true
    await assert.rejects(rename(storage, 'Perhaps'), UNAVAILABLE)

    assert.equal(commits, 1)
    assert.equal(await nameOf(storage), 'Perhaps')
  })

  test('reads while connections are killed are correct or fail with storage_unavailable', async (t) => {
    const url = await server.createDatabase(t)
    const storage = await openPostgres(t, url)
    await insertProjects(storage)

    const outcomes: string[] = []
    const reading = Array.from({ length: 20 }, async () => {
      for (let i = 0; i < 40; i++) {
        const outcome = await nameOf(storage).catch((error) => error.code)
        outcomes.push(String(outcome))
        await setTimeout(1)
      }
    })
    for (let i = 0; i < 3; i++) {
      await setTimeout(30)
      await killConnections(t, url)
    }
    await Promise.all(reading)

    const others = outcomes.filter((each) => each !== 'Game' && each !== 'storage_unavailable')
    assert.deepEqual(others, [])
    assert.equal(await nameOf(storage), 'Game')
  })

  test('idle connections are closed after a while, and reopened', async (t) => {
    const url = await server.createDatabase(t)
    const storage = await openPostgres(t, url, { idleTimeout: 100 })
    await all((page) => storage.listAccounts(page))
    const sql = rawPostgres(t, url)
    const open = () => sql`SELECT 1 FROM pg_stat_activity
      WHERE application_name = 'tillkit' AND datname = current_database()`

    while ((await open()).length > 0) await setTimeout(50)

    assert.deepEqual(await all((page) => storage.listAccounts(page)), [])
  })

  test('a storage closed under load rejects waiting calls, and opens no connections for them', async (t) => {
    const url = await server.createDatabase(t)
    const storage = await openPostgresStorage(url, { max: 2 })
    await insertProjects(storage)
    const unlock = await lockProject(t, url, 'prj_1')
    const [first, ...others] = Array.from({ length: 20 }, (_, i) => rename(storage, `Name ${i}`))
    const ended = Promise.allSettled([first])
    const refused = Promise.all(others.map((write) => assert.rejects(write, UNAVAILABLE)))
    await untilWaiting(t, url, 1)

    const closed = storage.close()
    await refused
    await unlock()
    await Promise.all([closed, ended])

    const sql = rawPostgres(t, url)
    const countOwn = async () => {
      const own = await sql`SELECT 1 FROM pg_stat_activity
        WHERE application_name = 'tillkit' AND datname = current_database()`
      return own.length
    }
    while ((await countOwn()) > 0) await setTimeout(20) // the server ends them a little later
  })

  test('calls to a closed storage say that it is closed', async (t) => {
    const storage = await openPostgresStorage(await server.createSchema(t))
    await storage.close()
    await storage.close()

    await assert.rejects(
      all((page) => storage.listAccounts(page)),
      UNAVAILABLE,
    )
    await assert.rejects(rename(storage, 'New'), UNAVAILABLE)
  })

  test('a statement that takes too long fails with storage_unavailable', async (t) => {
    const url = await server.createSchema(t)
    const storage = await openPostgres(t, url, { statementTimeout: 2_000 })
    await insertProjects(storage)
    const unlock = await lockProject(t, url, 'prj_1')

    await assert.rejects(rename(storage, 'Too late'), UNAVAILABLE)
    await unlock()

    assert.equal(await nameOf(storage), 'Game')
    await rename(storage, 'In time')
  })

  for (const level of ['repeatable read', 'serializable']) {
    test(`with the default isolation ${level}, concurrent updates and migrations succeed`, async (t) => {
      const url = new URL(await server.createSchema(t))
      url.searchParams.set('default_transaction_isolation', level)
      const [storage] = await Promise.all(
        Array.from({ length: 4 }, () => openPostgres(t, url.href, { max: 4 })),
      )
      assert.ok(storage)
      await insertProjects(storage)
      await storage.updateProject('prj_1', (project) => ({ ...project, config: { count: 0 } }))

      const count = () =>
        storage.updateProject('prj_1', ({ config, ...project }) => {
          return { ...project, config: { count: Number(config.count) + 1 } }
        })
      await Promise.all(Array.from({ length: 50 }, count))

      assert.deepEqual((await storage.findProject('prj_1'))?.config, { count: 50 })
    })
  }

  test('settings of a database do not change stored values', async (t) => {
    const url = new URL(await server.createSchema(t))
    for (const [name, value] of [
      ['bytea_output', 'escape'],
      ['standard_conforming_strings', 'off'],
      ['TimeZone', 'Pacific/Apia'],
      ['DateStyle', 'SQL, DMY'],
      ['IntervalStyle', 'sql_standard'],
      ['client_encoding', 'LATIN1'],
    ] as const) {
      url.searchParams.set(name, value)
    }
    const storage = await openPostgres(t, url.href)
    await insertShops(storage)
    const secret = Uint8Array.from({ length: 32 }, (_, i) => 7 * i)
    await storage.insertFirstSigningKey({ kid: 'k', secret, created_at: AT })
    const row = newRow(2, { transaction_id: "\\' \\\\ \t 日本 \\x41", metadata: { a: '\\n"' } })
    const current = await storage.openImport(MAIN, 'imp_1')
    assert.ok(current)
    await stage(current, [row])
    assert.equal(await storage.openImport(MAIN, 'imp_2'), undefined)
    await current.commit()

    const [key] = await storage.listSigningKeys()
    assert.deepEqual(Uint8Array.from(key?.secret ?? []), secret)
    const [purchase] = (await storage.listPurchases(MAIN, {}, { limit: 10 })).purchases
    assert.equal(purchase?.transaction_id, row.transaction_id)
    assert.deepEqual(purchase?.metadata, row.metadata)
  })

  test('a serialization failure is retried, and no update is lost', async (t) => {
    let left = 4
    const driver = drivenBy((sql, send) => {
      return sql.includes('FOR NO KEY UPDATE') && left-- > 0
        ? Promise.reject(failure('40001'))
        : send()
    })
    const storage = await openPostgres(t, await server.emptySchema(t), { postgres: driver })
    await insertProjects(storage)
    await storage.updateProject('prj_1', (project) => ({ ...project, config: { count: 0 } }))

    const count = () =>
      storage.updateProject('prj_1', ({ config, ...project }) => {
        return { ...project, config: { count: Number(config.count) + 1 } }
      })
    await Promise.all([count(), count(), count()])

    assert.deepEqual((await storage.findProject('prj_1'))?.config, { count: 3 })
  })

  test('a write that conflicts repeatedly fails with storage_unavailable', async (t) => {
    let attempts = 0
    const driver = drivenBy((sql, send) => {
      if (!sql.includes('FOR NO KEY UPDATE')) return send()
      attempts++
      return Promise.reject(failure('40P01'))
    })
    const storage = await openPostgres(t, await server.emptySchema(t), { postgres: driver })
    await insertProjects(storage)

    await assert.rejects(rename(storage, 'Never'), UNAVAILABLE)

    assert.equal(attempts, 5)
  })

  for (const code of ['53100', '25006', '53300', '57P03', '40001', '08006', 'ECONNRESET']) {
    test(`an error ${code} of the server becomes storage_unavailable`, async (t) => {
      let fails = false
      const driver = drivenBy((_, send) => (fails ? Promise.reject(failure(code)) : send()))
      const storage = await openPostgres(t, await server.emptySchema(t), { postgres: driver })

      fails = true

      await assert.rejects(
        all((page) => storage.listAccounts(page)),
        UNAVAILABLE,
      )
      await assert.rejects(rename(storage, 'New'), UNAVAILABLE)
    })
  }
})

describe('a PostgreSQL server', { skip: server.isForeign }, () => {
  test('that stops makes calls fail with storage_unavailable, and works again after its start', {
    skip: soakOnly,
  }, async (t) => {
    const storage = await openPostgres(t, await server.createDatabase(t))
    await insertProjects(storage)
    await server.stop()

    await assert.rejects(storage.ping(), UNAVAILABLE)
    await assert.rejects(nameOf(storage), UNAVAILABLE)
    await assert.rejects(rename(storage, 'New'), UNAVAILABLE)
    await server.start()

    assert.equal(await nameOf(storage), 'Game')
    await rename(storage, 'New')
    assert.equal(await nameOf(storage), 'New')
  })

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
    await server.start()
    const before = acknowledged.length
    while (acknowledged.length < before + 20) await setTimeout(20)
    goesOn = false
    await Promise.all(creators)

    const names = new Set<string>()
    for (let after: string | undefined; ; ) {
      const page = await storage.listItems(MAIN, { limit: 1000, ...(after && { after }) })
      for (const { name } of page.items) {
        assert.ok(!names.has(name))
        names.add(name)
      }
      after = page.next
      if (after === undefined) break
    }
    assert.deepEqual(
      acknowledged.filter((name) => !names.has(name)),
      [],
    )
  })

  test('that hangs is abandoned after a timeout, and calls continue on another connection', async (t) => {
    const url = await server.createDatabase(t)
    const storage = await openPostgres(t, url, { max: 1, statementTimeout: 2_000 })
    await insertProjects(storage)
    const [hung] = await rawPostgres(t, url)`SELECT pid FROM pg_stat_activity
      WHERE application_name = 'tillkit' AND datname = current_database()`
    process.kill(hung?.pid, 'SIGSTOP')
    t.after(() => process.kill(hung?.pid, 'SIGCONT'))

    await assert.rejects(nameOf(storage), UNAVAILABLE)

    await eventuallyHolds(async () => assert.equal(await nameOf(storage), 'Game'))
  })
})
