import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { NewPurchase } from '../../lib/domain/purchase.ts'
import type { PostgresOptions, Storage } from '../../lib/index.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { drivenBy, openPostgres, rawPostgres, startPostgres } from '../support/postgres.ts'
import { insertShops, MAIN, newRow, stage } from './fixtures/records.ts'

const server = await startPostgres()
const BLOCK = 10_000
const UNAVAILABLE = { code: 'storage_unavailable' }

/** The statements COPY so far. */
interface Copies {
  started: number
  running: number
  /** For each one, how many others ran when it started. */
  readonly beside: number[]
}

/** A storage with shops. `whenOpen` delays the data of each COPY. */
async function openShops(
  t: TestContext,
  url: string,
  whenOpen: (copies: Copies, copy: number) => unknown = () => {},
  options: PostgresOptions = {},
) {
  const copies: Copies = { started: 0, running: 0, beside: [] }
  const postgres = drivenBy((text, send) => {
    const query = send()
    if (!text.startsWith('COPY')) return query
    const copy = ++copies.started
    copies.beside.push(copies.running++)
    const { writable } = query
    query.writable = async () => {
      const stream = await writable.call(query)
      stream.once('close', () => copies.running--)
      stream.on('error', () => {})
      await whenOpen(copies, copy)
      return stream
    }
    return query
  })
  const storage = await openPostgres(t, url, { ...options, postgres })
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
  test('write two blocks at the same time, and keep the order of the rows', async (t) => {
    const url = await server.createSchema(t)
    const { storage, copies } = await openShops(t, url, async (copies, copy) => {
      if (copy === 1 || copy === 4) {
        await eventuallyHolds(() => assert.equal(copies.started, copy + 1))
      }
    })
    const current = await openImport(storage, 'imp_1')

    const outcome = await stage(current, rowsFrom(1, 2 * BLOCK + 5))
    await current.commit()
    const repeat = await openImport(storage, 'imp_2')
    const repeated = await stage(repeat, rowsFrom(1, 2 * BLOCK))
    await repeat.commit()

    assert.equal(outcome.added, 2 * BLOCK + 5)
    assert.equal(repeated.skipped, 2 * BLOCK)
    assert.deepEqual([copies.beside[1], copies.beside[4]], [1, 1])
    const [found] = await rawPostgres(t, url)`
      SELECT count(*)::int AS n, bool_and(transaction_id = 'tx_' || place) AS is_in_order,
        (SELECT rows::int FROM import_overlaps) AS overlaps
      FROM (SELECT *, row_number() OVER (ORDER BY seq) AS place FROM purchases) p`
    const expected = { n: 2 * BLOCK + 5, is_in_order: true, overlaps: 2 * BLOCK }
    assert.deepEqual({ ...found }, expected)
    assert.deepEqual(await storage.check(), [])
  })

  test('write blocks with a common transaction one after the other', async (t) => {
    const { storage, copies } = await openShops(t, await server.createSchema(t))
    const current = await openImport(storage, 'imp_1')
    const repeat = newRow(BLOCK + 1, { transaction_id: 'tx_7', quantity: 2 })

    const outcome = await stage(current, [
      ...rowsFrom(1, BLOCK),
      repeat,
      ...rowsFrom(BLOCK + 2, BLOCK),
    ])
    await current.abort()

    assert.deepEqual(outcome.conflicts, [{ line: BLOCK + 1, field: 'quantity' }])
    assert.equal(copies.beside[1], 0)
  })

  test('write one block at a time if the pool is small', async (t) => {
    const url = await server.createSchema(t)
    const { storage, copies } = await openShops(t, url, undefined, { max: 3 })
    const current = await openImport(storage, 'imp_1')

    const { added } = await stage(current, rowsFrom(1, 2 * BLOCK + 5))
    await current.abort()

    assert.equal(added, 2 * BLOCK + 5)
    assert.deepEqual(copies.beside, [0, 0, 0])
  })

  test('leave nothing after an abort while two blocks are being written', async (t) => {
    const url = await server.createSchema(t)
    const { storage, copies } = await openShops(t, url)
    const current = await openImport(storage, 'imp_1')
    await current.stage(rowsFrom(1, 2 * BLOCK))
    await eventuallyHolds(() => assert.equal(copies.started, 2))

    await current.abort()

    assert.deepEqual([...(await rawPostgres(t, url)`SELECT 1 FROM purchases`)], [])
    const next = await openImport(storage, 'imp_2')
    assert.equal((await stage(next, rowsFrom(1, 3))).added, 3)
    await next.commit()
  })

  test('leave nothing if the connection of one of two blocks is lost', async (t) => {
    const url = await server.createDatabase(t)
    const sql = rawPostgres(t, url)
    const { storage } = await openShops(t, url, async (copies, copy) => {
      if (copy === 1) await eventuallyHolds(() => assert.equal(copies.started, 2))
      if (copy !== 2) return
      await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE query LIKE 'COPY%' AND state = 'active' AND datname = current_database()
        ORDER BY query_start DESC LIMIT 1`
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
    const { storage } = await openShops(t, url, async (_, copy) => {
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
