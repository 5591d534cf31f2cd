import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Sql } from 'postgres'
import type { Storage } from '../../lib/index.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { pgbouncerPath, startPgbouncer } from '../support/pgbouncer.ts'
import { drivenBy, openPostgres, rawPostgres, startPostgres } from '../support/postgres.ts'
import { createRandom } from '../support/random.ts'
import { soakOnly } from '../support/soak.ts'
import { AT, insertProjects } from './fixtures/records.ts'
import { findStale, insertLine, READS_PER_ROUND, readsOf, takeStep } from './fixtures/steps.ts'

const server = await startPostgres()
const random = createRandom()
const READS = soakOnly ? 500 : 2_000

/** Delays some results of checks and reads, so that more changes are committed meanwhile. */
const driverWithLateAnswers = drivenBy((sql, send) => {
  const answer = send()
  if (!/^\s*SELECT/.test(sql) || random() < 0.8) return answer
  return answer.then(async (rows) => {
    await setTimeout(random() * 20)
    return rows
  })
})

type Step = (step: number) => Promise<void>

/**
 * Reads from all storages while each writer takes steps of its own line. No read may show less than
 * the steps acknowledged before.
 */
async function assertFresh(
  t: TestContext,
  storages: readonly Storage[],
  enough = READS,
): Promise<void> {
  const [first = assert.fail(), second = assert.fail()] = storages
  const takers: Record<string, Step> = {
    one: (step) => takeStep(first, 'one', step),
    two: (step) => takeStep(second, 'two', step),
  }
  for (const line of Object.keys(takers)) await insertLine(first, line)
  const steps: Record<string, number> = { one: 0, two: 0 }
  const stale: string[] = []
  let reads = 0

  const writing = Object.entries(takers).map(async ([line, take]) => {
    while (reads < enough) {
      await take((steps[line] as number) + 1)
      steps[line] = (steps[line] as number) + 1
      await setTimeout(random() * 60)
    }
  })
  const reading = storages.flatMap((storage) =>
    ['one', 'two'].map(async (line) => {
      while (reads < enough) {
        stale.push(...(await findStale(storage, line, steps[line] as number)))
        reads += READS_PER_ROUND
      }
    }),
  )
  await Promise.all([...writing, ...reading])

  assert.deepEqual(stale, [])
  assert.ok(Object.values(steps).every((step) => step > 0))
  t.diagnostic(`${reads} reads, ${Object.values(steps).join(' + ')} steps`)
}

/** Changes a project in a transaction that stays open for a while after its audit entry. */
async function changeSlowly(sql: Sql, id: string, step: number): Promise<void> {
  await sql.begin(async (tx) => {
    await tx.unsafe(`UPDATE projects SET config = '{"step":${step}}' WHERE id = '${id}'`)
    await insertEntry(tx)
    await setTimeout(random() * 10)
  })
}

function insertEntry(sql: { unsafe: Sql['unsafe'] }, action = 'project.update') {
  return sql.unsafe(`INSERT INTO audit
    (at, actor, action, subject, account_id, project_id, store_id, request_id)
    VALUES ('${AT}', 'operator', '${action}', '', '', '', '', '')`)
}

describe('the read cache on PostgreSQL', () => {
  test('no read is older than the last acknowledged write of any server', async (t) => {
    const url = await server.emptySchema(t)
    const slow = { postgres: driverWithLateAnswers }
    const storages = [await openPostgres(t, url, slow), await openPostgres(t, url, slow)]

    await assertFresh(t, storages)
  })

  test('no read is older than a transaction that was open during version checks', async (t) => {
    const url = await server.emptySchema(t)
    const slow = { postgres: driverWithLateAnswers }
    const storages = [await openPostgres(t, url, slow), await openPostgres(t, url, slow)]
    await insertProjects(storages[0] as Storage)
    const sql = rawPostgres(t, url)
    let steps = 0
    let reads = 0
    const stale: string[] = []

    const changing = async () => {
      while (reads < READS) {
        await changeSlowly(sql, 'prj_1', steps + 1)
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

  test('after each write of any server all reads return the same as without a cache', async (t) => {
    const url = await server.emptySchema(t)
    const storages = [await openPostgres(t, url), await openPostgres(t, url)] as const
    const plain = await openPostgres(t, url, { cacheBytes: 0 })
    await insertLine(storages[0], 'one')

    for (let step = 1; step <= 15; step++) {
      await takeStep([...storages, plain][Math.floor(random() * 3)] as Storage, 'one', step)
      for (const read of [1, 2]) {
        const shown = await Promise.all(
          storages.map((each) => Promise.all(readsOf(each, 'one', step))),
        )
        const truth = await Promise.all(readsOf(plain, 'one', step))
        assert.deepEqual(shown, [truth, truth], `step ${step}, read ${read}`)
      }
    }
  })

  test('a cached read sends one small statement, and reads of one request share it', async (t) => {
    const sent: string[] = []
    const driver = drivenBy((sql, send) => {
      sent.push(sql)
      return send()
    })
    const storage = await openPostgres(t, await server.emptySchema(t), { postgres: driver })
    await insertProjects(storage)
    const read = () => Promise.all([storage.findProject('prj_1'), storage.findProject('prj_2')])
    await eventuallyHolds(async () => {
      const [first] = await read()
      assert.equal(first, (await read())[0])
    })

    sent.length = 0
    await read()
    const together = storage.together?.() ?? assert.fail()
    await together(read)
    await together(read)

    for (const sql of sent) assert.match(sql, /pg_current_snapshot/)
    // A check that compares snapshots is followed by another one if another test has written.
    const full = sent.filter((sql) => sql.includes('pg_is_in_recovery')).length
    assert.ok(full <= 2 && sent.length - full <= 2 && sent.length >= 2, sent.join())
  })

  test('a lost connection empties it', async (t) => {
    const url = await server.createDatabase(t)
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
      assert.equal(storage.together !== undefined, isCached)
    }
  })
})

const skip = pgbouncerPath === undefined && 'pgbouncer is not installed'

test('behind pgbouncer no read is older than the last acknowledged write', { skip }, async (t) => {
  const url = await server.createDatabase(t)
  const pgbouncer = await startPgbouncer(url, { size: 4 })
  t.after(() => pgbouncer.stop())
  const storages = [await openPostgres(t, pgbouncer.url), await openPostgres(t, pgbouncer.url)]

  await assertFresh(t, storages, READS / 2)

  assert.doesNotMatch(pgbouncer.log(), /when not linked/)
})
