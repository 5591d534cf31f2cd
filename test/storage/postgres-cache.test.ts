// run: early
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { createTill, type Storage } from '../../lib/index.ts'
import { hashText } from '../../lib/services/ids.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { pgbouncerPath, startPgbouncer } from '../support/pgbouncer.ts'
import { drivenBy, openPostgres, rawPostgres, startPostgres } from '../support/postgres.ts'
import { createRandom } from '../support/random.ts'
import { createSignal } from '../support/server.ts'
import { soakOnly } from '../support/soak.ts'
import { AT, insertProjects } from '../support/storage/records.ts'
import { findStale, insertLine, READS_PER_ROUND, takeStep } from '../support/storage/steps.ts'
import { createShop } from '../support/till.ts'

const server = await startPostgres()
const random = createRandom()
const READS = soakOnly ? 300 : 4_000

/** Delays some results of checks and reads, so that more changes are committed meanwhile. */
const driverWithLateAnswers = drivenBy((sql, send) => {
  const answer = send()
  if (!/^\s*SELECT/.test(sql) || random() < 0.8) return answer
  return answer.then(async (rows) => {
    await setTimeout(random() * 20)
    return rows
  })
})

/** A driver that lists the statements that it sends. */
function watched() {
  const sent: string[] = []
  const postgres = drivenBy((sql, send) => {
    sent.push(sql)
    return send()
  })
  return { sent, postgres }
}

/**
 * Reads from all storages while each writer takes steps of its own line. No read may show less than
 * the steps acknowledged before.
 */
async function assertFresh(
  t: TestContext,
  storages: readonly [Storage, Storage],
  enough = READS,
): Promise<void> {
  const lines = ['one', 'two'] as const
  for (const line of lines) await insertLine(storages[0], line)
  const steps = [0, 0]
  const stale: string[] = []
  let reads = 0

  const writing = lines.map(async (line, i) => {
    while (reads < enough) {
      const next = (steps[i] ?? 0) + 1
      await takeStep(storages[i] as Storage, line, next)
      steps[i] = next
      await setTimeout(random() * 60)
    }
  })
  const reading = storages.flatMap((storage) =>
    lines.map(async (line, i) => {
      while (reads < enough) {
        stale.push(...(await findStale(storage, line, steps[i] ?? 0)))
        reads += READS_PER_ROUND
      }
    }),
  )
  await Promise.all([...writing, ...reading])

  assert.deepEqual(stale, [])
  assert.ok(steps.every((step) => step > 0))
  t.diagnostic(`${reads} reads, ${steps.join(' + ')} steps`)
}

function insertEntry(sql: { unsafe: Sql['unsafe'] }, action: string) {
  return sql.unsafe(`INSERT INTO audit
    (at, actor, action, subject, account_id, project_id, store_id, request_id)
    VALUES ('${AT}', 'operator', '${action}', '', '', 'prj_1', '', '')`)
}

describe('the read cache on PostgreSQL', () => {
  test('no read is older than the last acknowledged write of any server', async (t) => {
    const url = await server.emptySchema(t)
    const slow = { postgres: driverWithLateAnswers }

    await assertFresh(t, [await openPostgres(t, url, slow), await openPostgres(t, url, slow)])
  })

  test('behind pgbouncer no read is older than the last acknowledged write', {
    skip: pgbouncerPath === undefined && 'pgbouncer is not installed',
  }, async (t) => {
    const pgbouncer = await startPgbouncer(await server.emptyDatabase(t), { size: 4 })
    t.after(() => pgbouncer.stop())
    const open = () => openPostgres(t, pgbouncer.url)

    await assertFresh(t, [await open(), await open()], READS / 2)

    assert.doesNotMatch(pgbouncer.log(), /when not linked/)
  })

  test('no read is older than a transaction that was open during version checks', async (t) => {
    const url = await server.emptySchema(t)
    const slow = { postgres: driverWithLateAnswers }
    const storages = [await openPostgres(t, url, slow), await openPostgres(t, url, slow)] as const
    await insertProjects(storages[0])
    const sql = rawPostgres(t, url)
    let steps = 0
    let reads = 0
    const stale: string[] = []

    const changing = async () => {
      while (reads < READS) {
        await sql.begin(async (tx) => {
          await tx`UPDATE projects SET config = ${JSON.stringify({ step: steps + 1 })}
            WHERE id = 'prj_1'`
          await insertEntry(tx, 'project.update')
          await setTimeout(random() * 10)
        })
        steps++
      }
    }
    // Changes no cached record, but its entries have later numbers than an open transaction's.
    const issuing = async () => {
      while (reads < READS) {
        await insertEntry(sql, 'tokens.issue')
        await setTimeout(random() * 5)
      }
    }
    const reading = async (storage: Storage) => {
      while (reads < READS) {
        const known = steps
        const found = Number((await storage.findProject('prj_1'))?.config.step ?? 0)
        if (found < known) stale.push(`${found} after ${known}`)
        reads++
      }
    }
    const readers = storages.flatMap((storage) => Array.from({ length: 6 }, () => reading(storage)))
    await Promise.all([changing(), issuing(), ...readers])

    assert.deepEqual(stale, [])
    t.diagnostic(`${reads} reads, ${steps} steps`)
  })

  test('after each change another server reads the changed data again, and no other', async (t) => {
    const url = await server.emptySchema(t)
    const by = createTill({ storage: await openPostgres(t, url) })
    const { sent, postgres } = watched()
    const storage = await openPostgres(t, url, { postgres })
    const plain = await openPostgres(t, url, { cacheBytes: 0 })
    const { account, account_id, project_id, public_key, item } = await createShop(by)
    const { key_id, account_key } = await by.accounts.addKey(account)
    const gem = { name: 'gem', display_name: 'Gem', price: '1', type: 'consumable' as const }
    const other = await by.items.create(account, { store_id: 'main', ...gem })
    const page = { limit: 100 }
    /** Calls each cached method. */
    const readAll = (of: Storage) =>
      Promise.all([
        of.findAccountByKeyHash(hashText(account_key)),
        of.findProject(project_id),
        of.findProjectByPublicKey(public_key),
        of.findStore(account_id, 'main'),
        of.listStoreSummaries(project_id, page),
        of.findItem(item.id),
        of.findItem(other.id),
        of.listItems({ account_id, store_id: 'main' }, page),
        of.findWatermark(project_id, 'player'),
      ])
    const gold = { name: 'gold', price: '8' }
    const store = { store_id: 'main', store_config: { currency: 'EUR' }, items: [gold] }
    const catalog = { project: { name: 'Newer' }, stores: [store] }
    const ofItem = ['items', 'stores'] // a list reads its store too
    const ofProject = ['projects', 'projects']
    const ofStore = ['stores', 'stores']
    // After the rotation, the old public key finds nothing, which is not cached.
    const changes: Record<string, [change: () => Promise<unknown>, tables: string[]]> = {
      project: [() => by.projects.update(account, { id: project_id, name: 'New' }), ofProject],
      store: [() => by.stores.update(account, { store_id: 'main', status: 'disabled' }), ofStore],
      'new store': [
        () => by.stores.create(account, { project_id, store_id: 'b', store_type: 'web' }),
        ofStore.slice(1),
      ],
      item: [() => by.items.update(account, { id: item.id, price: '7' }), ofItem],
      archive: [() => by.items.archive(account, item.id), ofItem],
      restore: [() => by.items.restore(account, item.id), ofItem],
      'new item': [
        () => by.items.create(account, { ...gem, store_id: 'main', name: 'ruby' }),
        ofItem.slice(1),
      ],
      catalog: [
        () => by.catalog.apply(account, { project_id, catalog }),
        [...ofItem, ...ofProject, ...ofStore],
      ],
      revocation: [
        () => by.sessions.revoke(account, { project_id, user_id: 'player' }),
        ['watermarks'],
      ],
      'public key': [() => by.projects.rotateKey(account, { id: project_id }), ofProject],
      erasure: [
        () => by.users.erase(account, { project_id, user_id: 'player' }),
        ['projects', 'watermarks'],
      ],
      issue: [() => by.sessions.issue(account, { project_id }), ['projects']],
      'account key': [() => by.accounts.revokeKey(account, key_id), ['account_keys', 'projects']],
    }

    const tablesRead = async () => {
      sent.length = 0
      await readAll(storage)
      return sent.flatMap((sql) => /FROM (?!now|pg_|audit)(\w+)/.exec(sql)?.[1] ?? []).toSorted()
    }
    // Nothing is cached before the first version check has ended.
    await eventuallyHolds(async () => assert.deepEqual(await tablesRead(), []))

    for (const [name, [change, tables]] of Object.entries(changes)) {
      await change()
      assert.deepEqual(await tablesRead(), tables.toSorted(), name)
      assert.deepEqual(await readAll(storage), await readAll(plain), name)
    }
  })

  test('a lost connection empties it', async (t) => {
    const url = await server.emptyDatabase(t)
    const storage = await openPostgres(t, url)
    await insertProjects(storage)
    const sql = rawPostgres(t, url)
    await eventuallyHolds(async () => {
      const found = await storage.findProject('prj_1')
      assert.equal(await storage.findProject('prj_1'), found)
    })

    await sql`UPDATE projects SET name = 'Without an entry' WHERE id = 'prj_1'`
    assert.equal((await storage.findProject('prj_1'))?.name, 'Game')
    await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name = 'tillkit' AND datname = current_database()`

    await eventuallyHolds(async () => {
      assert.equal((await storage.findProject('prj_1'))?.name, 'Without an entry')
    })
  })

  test('several hosts, of which some may be replicas, are read without a cache', async (t) => {
    const url = new URL(await server.emptySchema(t))
    const twice = url.href.replace(url.host, `${url.host},${url.host}`)
    for (const [suffix, isCached] of [
      ['', false],
      ['&target_session_attrs=read-write', true],
    ] as const) {
      const storage = await openPostgres(t, twice + suffix)
      assert.equal(storage.dataVersion !== undefined, isCached)
    }
  })
})

test("two accounts with eight summaries each leave connections for a third account's writes", async (t) => {
  const { given, give: release } = createSignal()
  let running = 0
  const postgres = drivenBy((sql, send) => {
    if (!sql.includes('count(DISTINCT')) return send()
    running++
    return given.then(send)
  })
  const options = { postgres, poolTimeout: 500 }
  const till = createTill({ storage: await openPostgres(t, await server.emptySchema(t), options) })
  const accounts = []
  for (let i = 0; i < 3; i++) accounts.push((await createShop(till)).account)
  const [first = assert.fail(), second = assert.fail(), third = assert.fail()] = accounts
  const summaries = [first, second].flatMap((account) =>
    Array.from({ length: 8 }, () => till.purchases.summarize(account, {})),
  )
  await eventuallyHolds(() => assert.equal(running, 3))

  const gem = { store_id: 'main', name: 'gem', display_name: 'Gem', price: '1' } as const
  await till.items.create(third, { ...gem, type: 'consumable' })
  const purchase = { transaction_id: 'T-1', sku: 'gem', purchased_at: '2026-01-01T00:00:00Z' }
  await till.purchases.record(third, { store_id: 'main', ...purchase })
  const file = [Buffer.from('transaction_id,sku,purchased_at\nT-2,gem,1700000000')]
  await till.purchases.import(third, { store_id: 'main', file })

  assert.equal(running, 3)
  release()
  assert.deepEqual(await Promise.all(summaries), Array(16).fill([]))
})
