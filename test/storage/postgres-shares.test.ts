import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { createTill, type PoolState, type PostgresOptions } from '../../lib/index.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { openPostgres, rawPostgres, startPostgres } from '../support/postgres.ts'
import { createShop } from '../support/till.ts'

const server = await startPostgres()

const HELD_BY_TILLKIT = `application_name = 'tillkit' AND datname = current_database()`

/** A till with two shops of two accounts, and a connection of its own to the database. */
async function openShops(t: TestContext, options: PostgresOptions = {}) {
  const url = await server.emptyDatabase(t)
  const storage = await openPostgres(t, url, { statementTimeout: 60_000, ...options })
  const till = createTill({ storage })
  const [first, second] = [await createShop(till, 'First'), await createShop(till, 'Second')]
  return { url, storage, till, first, second, sql: rawPostgres(t, url) }
}

/** Runs `work` while another transaction holds the locks of `statement`. */
async function whileLocked(sql: Sql, statement: string, work: () => Promise<void>) {
  await sql.begin(async (tx) => {
    await tx.unsafe(statement)
    await work()
  })
}

/** The number of connections of tillkit that wait for a lock. */
async function waitingOn(sql: Sql): Promise<number> {
  const [row] = await sql.unsafe(`SELECT count(*)::int AS n FROM pg_stat_activity
    WHERE ${HELD_BY_TILLKIT} AND wait_event_type = 'Lock'`)
  return row?.n
}

const answered = (work: Promise<unknown>) =>
  Promise.race([work.then(() => 'answered'), setTimeout(20_000, 'waits', { ref: false })])

describe('waits for locks in PostgreSQL', () => {
  test('writes of an account that wait for a lock use a third of the connections', async (t) => {
    const { till, first, second, sql } = await openShops(t)
    const { id } = first.project
    const renames: Promise<unknown>[] = []

    await whileLocked(sql, `SELECT 1 FROM projects WHERE id = '${id}' FOR UPDATE`, async () => {
      for (let n = 0; n < 40; n++) {
        renames.push(till.projects.update(first.account, { id, name: `Game ${n}` }))
      }
      await eventuallyHolds(async () => assert.equal(await waitingOn(sql), 3))

      const other = till.projects.update(second.account, { id: second.project.id, name: 'Other' })
      assert.equal(await answered(other), 'answered')
      assert.equal(await waitingOn(sql), 3)
    })

    await Promise.all(renames)
  })

  test('recordings of an account that wait for a store use a third of the connections', async (t) => {
    const { till, first, second, sql } = await openShops(t)
    const sale = { sku: 'gold', purchased_at: '2024-05-01T12:00:00Z', store_id: 'main' }
    const recordings: Promise<unknown>[] = []
    const lock = `SELECT 1 FROM stores WHERE account_id = '${first.account.account_id}' FOR UPDATE`

    await whileLocked(sql, lock, async () => {
      for (let n = 0; n < 40; n++) {
        const purchase = { ...sale, transaction_id: `t${n}` }
        recordings.push(till.purchases.record(first.account, purchase))
      }
      await eventuallyHolds(async () => assert.equal(await waitingOn(sql), 3))

      const other = till.purchases.record(second.account, { ...sale, transaction_id: 't1' })
      assert.equal(await answered(other), 'answered')
    })

    await Promise.all(recordings)
  })

  test('accounts take turns: an account with one write does not wait for all of another', async (t) => {
    const { till, first, second, sql } = await openShops(t, { max: 2 })
    const { id } = first.project
    const order: string[] = []
    const rename = async ({ account, project }: typeof first) => {
      await till.projects.update(account, { id: project.id, name: `Game ${order.length}` })
      order.push(account.name)
    }
    let writes: Promise<void>[] = []

    await whileLocked(sql, `SELECT 1 FROM projects WHERE id = '${id}' FOR UPDATE`, async () => {
      writes = Array.from({ length: 10 }, () => rename(first))
      await eventuallyHolds(async () => assert.equal(await waitingOn(sql), 1))
      writes.push(rename(second))
      await setTimeout(100) // until the last write waits for a connection
    })
    await Promise.all(writes)

    assert.ok(order.indexOf('Second') <= 2, order.join())
  })

  test('a locked table delays neither the version check of cached reads nor ping', async (t) => {
    const { storage, till, first, sql } = await openShops(t)
    const readProject = () => till.projects.get(first.account, first.project.id)
    await storage.dataVersion?.check() // finds its creation, which makes an earlier read outdated
    await readProject()
    let reads: Promise<unknown>[] = []

    await whileLocked(sql, 'LOCK TABLE items IN ACCESS EXCLUSIVE MODE', async () => {
      reads = Array.from({ length: 20 }, (_, n) => storage.findItem(`itm_${n}`))
      await eventuallyHolds(async () => assert.equal(await waitingOn(sql), 10))

      assert.equal(await answered(storage.ping()), 'answered')
      assert.equal(await answered(readProject()), 'answered')
    })

    await Promise.all(reads)
  })

  test('reads fail after a bounded wait while all connections wait for a locked table', async (t) => {
    const options = { max: 2, poolTimeout: 500, cacheBytes: 0 }
    const { storage, first, sql } = await openShops(t, options)
    const { account_id } = first.project
    let stuck: Promise<unknown>[] = []

    await whileLocked(sql, 'LOCK TABLE items IN ACCESS EXCLUSIVE MODE', async () => {
      stuck = Array.from({ length: 2 }, (_, n) => storage.findItem(`itm_${n}`))
      await eventuallyHolds(async () => assert.equal(await waitingOn(sql), 2))
      await setTimeout(200) // until the connections count as slow
      const refused = storage.findStore(account_id, 'main')
      await assert.rejects(refused, { code: 'storage_unavailable', message: /became free/ })
    })

    await Promise.all(stuck)
    assert.ok(await storage.findStore(account_id, 'main'))
  })

  test('a report ends with its signal, also while it waits for a lock', async (t) => {
    const { till, first, sql } = await openShops(t)
    const report = (signal?: AbortSignal) => till.purchases.summarize(first.account, {}, { signal })
    const { open } = till.operator.poolState() as PoolState

    await whileLocked(sql, 'LOCK TABLE purchases IN ACCESS EXCLUSIVE MODE', async () => {
      const gone = new AbortController()
      const ended = report(gone.signal)
      ended.catch(() => {})
      await eventuallyHolds(async () => assert.equal(await waitingOn(sql), 1))
      gone.abort()
      await assert.rejects(ended, { name: 'AbortError' })
      assert.equal(await waitingOn(sql), 0)
    })

    assert.deepEqual(await report(new AbortController().signal), [])
    assert.equal(till.operator.poolState()?.open, open, 'no connection was lost')
  })

  test('a read does not wait behind a statement that is older than 100 ms', async (t) => {
    const { url, storage, till, first, sql } = await openShops(t, { max: 2, cacheBytes: 0 })
    const { id, account_id } = first.project
    let stuck: Promise<unknown> | undefined
    let later: Promise<unknown> | undefined
    let renamed: Promise<unknown> | undefined

    await whileLocked(rawPostgres(t, url), 'LOCK TABLE items', async () => {
      const lock = `SELECT 1 FROM projects WHERE id = '${id}' FOR UPDATE`
      await whileLocked(rawPostgres(t, url), lock, async () => {
        renamed = till.projects.update(first.account, { id, name: 'Renamed' })
        // Otherwise the transaction might follow the read on the same connection.
        await eventuallyHolds(async () => assert.equal(await waitingOn(sql), 1))
        stuck = storage.findItem('itm_1')
        await eventuallyHolds(async () => assert.equal(await waitingOn(sql), 2))
        await setTimeout(200)
        later = storage.findStore(account_id, 'main')
        await setTimeout(50) // until the read would have been sent
      })
      await renamed
      assert.equal(await answered(later as Promise<unknown>), 'answered')
    })

    await stuck
  })
})
