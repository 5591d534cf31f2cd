import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { NewPurchase } from '../../lib/domain/purchase.ts'
import type { Storage } from '../../lib/index.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { drivenBy, openPostgres, rawPostgres, startPostgres } from '../support/postgres.ts'
import { insertShops, MAIN, newRow, stage } from './fixtures/records.ts'

const server = await startPostgres()
const BLOCK = 10_000
const UNAVAILABLE = { code: 'storage_unavailable' }

/** A storage with shops. `whenOpen` delays the data of each COPY, which it gets by its number. */
async function openShops(
  t: TestContext,
  url: string,
  whenOpen: (copy: number) => unknown = () => {},
) {
  const copies = { started: 0 }
  const postgres = drivenBy((text, send) => {
    const query = send()
    if (!text.startsWith('COPY')) return query
    const copy = ++copies.started
    const { writable } = query
    query.writable = async () => {
      const stream = await writable.call(query)
      stream.on('error', () => {})
      await whenOpen(copy)
      return stream
    }
    return query
  })
  const storage = await openPostgres(t, url, { postgres })
  await insertShops(storage)
  await eventuallyHolds(() => assert.equal(storage.poolState?.()?.inUse, 0))
  return { storage, copies }
}

async function openImport(storage: Storage, import_id: string) {
  return (await storage.openImport(MAIN, import_id)) ?? assert.fail('another import is under way')
}

const rowsFrom = (line: number, count: number): NewPurchase[] =>
  Array.from({ length: count }, (_, index) => newRow(line + index))

describe('PostgreSQL imports by COPY', () => {
  test('keep the order of the rows of several blocks, and skip them in the next import', async (t) => {
    const url = await server.createSchema(t)
    const { storage } = await openShops(t, url)
    const current = await openImport(storage, 'imp_1')

    const outcome = await stage(current, rowsFrom(1, 2 * BLOCK + 5))
    await current.commit()
    const repeat = await openImport(storage, 'imp_2')
    const repeated = await stage(repeat, rowsFrom(1, 2 * BLOCK))
    await repeat.commit()

    assert.equal(outcome.added, 2 * BLOCK + 5)
    assert.equal(repeated.skipped, 2 * BLOCK)
    const [found] = await rawPostgres(t, url)`
      SELECT count(*)::int AS n, bool_and(transaction_id = 'tx_' || place) AS is_in_order,
        (SELECT rows::int FROM import_overlaps) AS overlaps
      FROM (SELECT *, row_number() OVER (ORDER BY seq) AS place FROM purchases) p`
    const expected = { n: 2 * BLOCK + 5, is_in_order: true, overlaps: 2 * BLOCK }
    assert.deepEqual({ ...found }, expected)
    assert.deepEqual(await storage.check(), [])
  })

  test('compare a row with the row of an earlier block that has its transaction id', async (t) => {
    const { storage } = await openShops(t, await server.createSchema(t))
    const current = await openImport(storage, 'imp_1')
    const repeat = newRow(BLOCK + 1, { transaction_id: 'tx_7', quantity: 2 })

    const outcome = await stage(current, [...rowsFrom(1, BLOCK), repeat])
    await current.abort()

    assert.deepEqual(outcome.conflicts, [{ line: BLOCK + 1, field: 'quantity' }])
  })

  test('leave nothing after an abort while a block is being written', async (t) => {
    const url = await server.createSchema(t)
    const { storage, copies } = await openShops(t, url)
    const current = await openImport(storage, 'imp_1')
    await current.stage(rowsFrom(1, BLOCK))
    await eventuallyHolds(() => assert.equal(copies.started, 1))

    await current.abort()

    assert.deepEqual([...(await rawPostgres(t, url)`SELECT 1 FROM purchases`)], [])
    const next = await openImport(storage, 'imp_2')
    assert.equal((await stage(next, rowsFrom(1, 3))).added, 3)
    await next.commit()
  })

  test('leave nothing if the connection of the second block is lost', async (t) => {
    const url = await server.createDatabase(t)
    const sql = rawPostgres(t, url)
    const { storage } = await openShops(t, url, async (copy) => {
      if (copy !== 2) return
      await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE query LIKE 'COPY%' AND state = 'active' AND datname = current_database()`
    })
    const current = await openImport(storage, 'imp_1')

    await assert.rejects(stage(current, rowsFrom(1, 3 * BLOCK)), UNAVAILABLE)
    await assert.rejects(current.commit(), Error)
    await current.abort()

    assert.deepEqual([...(await sql`SELECT 1 FROM purchases`)], [])
    assert.deepEqual([...(await sql`SELECT 1 FROM imports`)], [])
  })

  test('add no rows if another import took the lease during the COPY', async (t) => {
    const url = await server.createSchema(t)
    const sql = rawPostgres(t, url)
    const witness = await openPostgres(t, url)
    const { storage } = await openShops(t, url, async (copy) => {
      if (copy > 1) return
      await sql`UPDATE imports SET alive_at = 'epoch'`
      const other = await openImport(witness, 'imp_2')
      await other.commit()
    })
    const lost = await openImport(storage, 'imp_1')

    await assert.rejects(stage(lost, rowsFrom(1, 3)), UNAVAILABLE)

    assert.deepEqual([...(await sql`SELECT 1 FROM purchases`)], [])
    assert.deepEqual(await storage.check(), [])
  })

  test('keep an empty text apart from a missing one', async (t) => {
    const { storage } = await openShops(t, await server.createSchema(t))
    const current = await openImport(storage, 'imp_1')
    await stage(current, [newRow(1, { user_id: '', currency: '' }), newRow(2)])
    await current.commit()

    const { purchases } = await storage.listPurchases(MAIN, {}, { limit: 2 })

    assert.deepEqual(
      purchases.map(({ user_id, currency }) => [user_id, currency]),
      [
        ['', ''],
        [undefined, undefined],
      ],
    )
  })
})
