import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { describe, type TestContext, test } from 'node:test'
import type { Sql } from 'postgres'
import type { NewPurchase } from '../../lib/domain/purchase.ts'
import type { Storage } from '../../lib/index.ts'
import type { PurchaseImport, StagedRows } from '../../lib/storage/port.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { drivenBy, openPostgres, rawPostgres, startPostgres } from '../support/postgres.ts'
import { insertShops, MAIN, newItem, newRow, newStore, stage } from './fixtures/records.ts'

const server = await startPostgres()
const UNAVAILABLE = { code: 'storage_unavailable' }

async function openImport(storage: Storage, import_id: string): Promise<PurchaseImport> {
  const opened = await storage.openImport(MAIN, import_id)
  return opened ?? assert.fail('another import is under way')
}

async function importRows(storage: Storage, import_id: string, rows: readonly NewPurchase[]) {
  const current = await openImport(storage, import_id)
  const outcome = await stage(current, rows)
  await current.commit()
  return outcome
}

async function transactions(storage: Storage): Promise<string[]> {
  const { purchases } = await storage.listPurchases(MAIN, {}, { limit: 1000 })
  return purchases.map(({ transaction_id }) => transaction_id)
}

async function rowsIn(sql: Sql): Promise<unknown> {
  const [row] = await sql`SELECT (SELECT count(*) FROM purchases)::int AS purchases,
    (SELECT count(*) FROM imports)::int AS imports,
    (SELECT count(*) FROM purchase_changes)::int AS changes`
  return { ...row }
}

/** Ends the lease of the running import. */
async function expire(sql: Sql): Promise<void> {
  await sql`UPDATE imports SET alive_at = now() - interval '1 minute' WHERE owner IS NOT NULL`
}

/** A process that has staged rows of an import, and waits. */
async function startWorker(t: TestContext, url: string, from: number, count: number) {
  const worker = fork(
    new URL('./fixtures/postgres-worker.ts', import.meta.url),
    [url, String(from), String(count)],
    { execArgv: [] },
  )
  t.after(() => worker.kill('SIGKILL'))
  const gone = once(worker, 'exit')
  const died = gone.then(() => assert.fail('the worker died'))
  const [outcome] = await Promise.race([once(worker, 'message'), died])
  return {
    outcome,
    async kill() {
      worker.kill('SIGKILL')
      await gone
    },
  }
}

describe('PostgreSQL imports in blocks', () => {
  test('the size of large rows ends a block long before it has 10,000 rows', async (t) => {
    const storage = await openPostgres(t, await server.emptySchema(t))
    await insertShops(storage)
    const current = await openImport(storage, 'imp_1')
    let added = 0
    for (let from = 0; from < 160; from += 8) {
      const rows = Array.from({ length: 8 }, (_, i) =>
        newRow(from + i + 2, { metadata: { text: 'x'.repeat(60_000) } }),
      )
      added += (await current.stage(rows)).added
    }
    // 9.6 MB in blocks of 2 MiB. The last two blocks are not yet stored.
    assert.ok(added >= 80, String(added))
    assert.equal(added + (await current.finish()).added, 160)
    await current.commit()
  })

  test('report the outcome of each of tens of thousands of rows, and keep their order', async (t) => {
    const storage = await openPostgres(t, await server.emptySchema(t))
    await insertShops(storage)
    const rows = (from: number, count: number, change: Partial<NewPurchase>) =>
      Array.from({ length: count }, (_, index) => newRow(from + index, change))
    const slices = (all: readonly NewPurchase[]) =>
      Array.from({ length: Math.ceil(all.length / 1700) }, (_, i) =>
        all.slice(i * 1700, (i + 1) * 1700),
      )
    const play = async (import_id: string, all: readonly NewPurchase[]) => {
      const current = await openImport(storage, import_id)
      const outcomes: StagedRows[] = []
      for (const slice of slices(all)) outcomes.push(await current.stage(slice))
      outcomes.push(await current.finish())
      await current.commit()
      const sum = (count: 'added' | 'skipped' | 'updated') =>
        outcomes.reduce((total, each) => total + each[count], 0)
      const conflicts = outcomes.flatMap((each) => each.conflicts.map(({ line }) => line))
      return [sum('added'), sum('skipped'), sum('updated'), conflicts]
    }

    const pending = rows(2, 25_000, { status: 'pending' })
    assert.deepEqual(await play('imp_1', pending), [25_000, 0, 0, []])
    const mixed = [
      ...rows(2, 12_000, { status: 'purchased' }),
      ...rows(12_002, 1_000, { status: 'pending' }),
      ...rows(13_002, 3, { quantity: 7 }),
      ...rows(50_000, 15_000, { status: 'pending' }),
      ...rows(50_000, 15_000, { status: 'refunded' }),
    ]
    const lines = [13_002, 13_003, 13_004]
    assert.deepEqual(await play('imp_2', mixed), [15_000, 1_000, 27_000, lines])

    const seen: string[] = []
    for (let after: string | undefined; ; ) {
      const page = await storage.listPurchases(MAIN, {}, { limit: 1000, ...(after && { after }) })
      seen.push(
        ...page.purchases.map(({ transaction_id, status }) => `${transaction_id} ${status}`),
      )
      after = page.next
      if (after === undefined) break
    }
    const expected = [
      ...rows(2, 12_000, { status: 'purchased' }),
      ...rows(12_002, 13_000, { status: 'pending' }),
      ...rows(50_000, 15_000, { status: 'refunded' }),
    ].map(({ transaction_id, status }) => `${transaction_id} ${status}`)
    assert.deepEqual(seen, expected)
    assert.deepEqual(await storage.check(), [])
  })

  test('of slow clients hold no connection', async (t) => {
    const url = await server.createDatabase(t)
    const storage = await openPostgres(t, url, { max: 2 })
    await insertShops(storage)
    const imports = []
    for (let i = 0; i < 5; i++) {
      await storage.insertStore(newStore(`store_${i}`))
      await storage.insertItem(newItem('gold', { id: `itm_${i}`, store_id: `store_${i}` }))
      const key = { account_id: 'acc_1', store_id: `store_${i}` }
      const current = await storage.openImport(key, `imp_${i}`)
      assert.ok(current)
      await stage(current, [newRow(2), newRow(3)])
      imports.push(current)
    }

    const open = await rawPostgres(t, url)`SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND state LIKE 'idle in transaction%'`
    assert.equal(open.length, 0)
    await storage.insertStore(newStore('meanwhile'))
    for (const current of imports) await current.commit()
  })

  test('store text with special characters of COPY unchanged', async (t) => {
    const storage = await openPostgres(t, await server.emptySchema(t))
    await insertShops(storage)
    const odd = [
      '\\N',
      '\\.',
      '\\',
      'a\tb',
      'a\nb',
      'a\rb',
      '\\n',
      '\\\\',
      '\\\t\\\n\\',
      '\\x41\\101',
      '日本 \u{1f600} e\u0301',
      '"',
      ' ',
      '\u2028',
      '\b\f\v\x7f',
    ]
    const rows = odd.map((text, index) =>
      newRow(index + 2, { transaction_id: text, user_id: text, metadata: { text } }),
    )

    await importRows(storage, 'imp_1', rows)
    const again = await importRows(storage, 'imp_2', rows)

    const { purchases } = await storage.listPurchases(MAIN, {}, { limit: 100 })
    assert.deepEqual(
      purchases.map(({ transaction_id, user_id, metadata }) => [transaction_id, user_id, metadata]),
      odd.map((text) => [text, text, { text }]),
    )
    assert.equal(again.skipped, odd.length)
  })
})

describe('interrupted PostgreSQL imports', () => {
  test('rows staged by a killed process are never visible, and are deleted after the next open', async (t) => {
    const url = await server.emptySchema(t)
    const witness = await openPostgres(t, url)
    await insertShops(witness)
    await importRows(witness, 'imp_1', [newRow(2, { status: 'pending' })])
    const worker = await startWorker(t, url, 2, 7000)
    assert.deepEqual([worker.outcome.added, worker.outcome.updated], [6999, 1])
    const sql = rawPostgres(t, url)
    assert.deepEqual(await rowsIn(sql), { purchases: 7000, imports: 2, changes: 1 })

    await worker.kill()
    assert.deepEqual(await transactions(witness), ['tx_2'])
    await expire(sql)
    const next = await openPostgres(t, url)

    await eventuallyHolds(async () =>
      assert.deepEqual(await rowsIn(sql), { purchases: 1, imports: 1, changes: 0 }),
    )
    assert.deepEqual(await transactions(next), ['tx_2'])
  })

  test('an open storage takes over the store of a killed import, but only when its lease has expired', async (t) => {
    const url = await server.emptySchema(t)
    const witness = await openPostgres(t, url)
    await insertShops(witness)
    const worker = await startWorker(t, url, 2, 3)
    await worker.kill()
    assert.equal(await witness.openImport(MAIN, 'imp_2'), undefined)

    await expire(rawPostgres(t, url))
    await importRows(witness, 'imp_2', [newRow(3, { sku: 'gem' })])

    const { purchases } = await witness.listPurchases(MAIN, {}, { limit: 10 })
    assert.deepEqual(
      purchases.map(({ transaction_id, sku }) => [transaction_id, sku]),
      [['tx_3', 'gem']],
    )
  })

  test('an import whose lease was taken over cannot continue or commit, or abort its successor', async (t) => {
    const url = await server.emptySchema(t)
    const storage = await openPostgres(t, url)
    await insertShops(storage)
    const lost = await openImport(storage, 'imp_1')
    await stage(lost, [newRow(2)])
    await expire(rawPostgres(t, url))
    const other = await openImport(storage, 'imp_2')
    await stage(other, [newRow(9)])

    await assert.rejects(stage(lost, [newRow(3)]), UNAVAILABLE)
    await assert.rejects(lost.commit(), Error)
    await lost.abort()
    await other.commit()

    assert.deepEqual(await transactions(storage), ['tx_9'])
    assert.deepEqual(await storage.check(), [])
  })

  test('an abort after the commit has no effect', async (t) => {
    const storage = await openPostgres(t, await server.emptySchema(t))
    await insertShops(storage)
    const current = await openImport(storage, 'imp_1')
    await stage(current, [newRow(2)])
    await current.commit()

    await current.abort()

    assert.deepEqual(await transactions(storage), ['tx_2'])
  })

  test('a connection killed while a block is copied fails the import and leaves nothing', async (t) => {
    const url = await server.createDatabase(t)
    const sql = rawPostgres(t, url)
    let kills = false
    const driver = drivenBy((text, send) => {
      const query = send()
      if (!kills || !text.startsWith('COPY')) return query
      const { writable } = query
      query.writable = async () => {
        const stream = await writable.call(query)
        stream.on('error', () => {})
        await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE application_name = 'tillkit' AND query LIKE 'COPY%' AND state = 'active'
            AND datname = current_database()`
        return stream
      }
      return query
    })
    const storage = await openPostgres(t, url, { postgres: driver })
    await insertShops(storage)
    const current = await openImport(storage, 'imp_1')
    const rows = Array.from({ length: 25_000 }, (_, index) => newRow(index + 2))
    await current.stage(rows.slice(0, 15_000))

    kills = true
    await assert.rejects(stage(current, rows.slice(15_000)), UNAVAILABLE)
    kills = false
    await current.abort()

    assert.deepEqual(await rowsIn(sql), { purchases: 0, imports: 0, changes: 0 })
    await importRows(storage, 'imp_2', [newRow(2)])
    assert.deepEqual(await transactions(storage), ['tx_2'])
  })
})
