// run: early
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { NewPurchase, Purchase } from '../../lib/domain/purchase.ts'
import type { PostgresOptions } from '../../lib/index.ts'
import type { PurchaseImport } from '../../lib/storage/port.ts'
import { sumOutcomes } from '../../lib/storage/sql/purchases/row-outcomes.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { drivenBy, openPostgres, rawPostgres, startPostgres } from '../support/postgres.ts'
import { importRows, openImport, purchasesIn, transactions } from '../support/storage/imports.ts'
import {
  addRows,
  insertShops,
  MAIN,
  newItem,
  newRow,
  newStore,
} from '../support/storage/records.ts'

const server = await startPostgres()
const BLOCK = 10_000
const UNAVAILABLE = { code: 'storage_unavailable' }

/** A storage with shops. `whenOpen` delays the data of each COPY, which it gets by its number. */
async function openShops(
  t: TestContext,
  whenOpen: (copy: number) => unknown = () => {},
  options: PostgresOptions = {},
  given?: string,
) {
  const url = given ?? (await server.emptySchema(t))
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
  const storage = await openPostgres(t, url, { ...options, postgres })
  await insertShops(storage)
  await eventuallyHolds(() => assert.equal(storage.poolState?.()?.inUse, 0))
  return { storage, copies, url, sql: rawPostgres(t, url) }
}

const rowsFrom = (line: number, count: number, change: Partial<NewPurchase> = {}) =>
  Array.from({ length: count }, (_, index) => newRow(line + index, change))

/** Adds rows in slices that do not end with a block. */
async function addAll(current: PurchaseImport, rows: readonly NewPurchase[]) {
  const outcomes = []
  for (let i = 0; i < rows.length; i += 1_700)
    outcomes.push(await current.add(rows.slice(i, i + 1_700)))
  return sumOutcomes([...outcomes, await current.finish()])
}

describe('PostgreSQL imports', () => {
  test('report the outcome of each of tens of thousands of rows, and keep their order', async (t) => {
    const { storage } = await openShops(t)
    const play = async (import_id: string, rows: readonly NewPurchase[]) => {
      const current = await openImport(storage, MAIN, import_id)
      const { added, skipped, repeated, updated, conflicts } = await addAll(current, rows)
      await current.commit()
      return [added, skipped, repeated.length, updated, conflicts.map(({ line }) => line)]
    }

    const pending = rowsFrom(2, 12_500, { status: 'pending' })
    assert.deepEqual(await play('imp_1', pending), [12_500, 0, 0, 0, []])
    const mixed = [
      ...rowsFrom(2, 6_000, { status: 'purchased' }),
      ...rowsFrom(6_002, 500, { status: 'pending' }),
      ...rowsFrom(6_502, 3, { quantity: 7 }),
      ...rowsFrom(50_000, 7_500, { status: 'pending' }),
      ...rowsFrom(50_000, 7_500, { status: 'refunded' }),
      ...rowsFrom(2, 500, { status: 'purchased' }), // updated by an earlier block
    ]
    const lines = [6_502, 6_503, 6_504]
    assert.deepEqual(await play('imp_2', mixed), [7_500, 500, 500, 13_500, lines])

    const expected = [
      ...rowsFrom(2, 6_000, { status: 'purchased' }),
      ...rowsFrom(6_002, 6_500, { status: 'pending' }),
      ...rowsFrom(50_000, 7_500, { status: 'refunded' }),
    ]
    const shown = (all: readonly Pick<NewPurchase, 'transaction_id' | 'status'>[]) =>
      all.map(({ transaction_id, status }) => `${transaction_id} ${status}`)
    assert.deepEqual(shown(await purchasesIn(storage, MAIN)), shown(expected))
    assert.deepEqual(await storage.check(), [])
  })

  test('end a block of large rows long before it has 10,000 rows', async (t) => {
    const { storage } = await openShops(t)
    const current = await openImport(storage, MAIN, 'imp_1')
    const large = { metadata: { text: 'x'.repeat(60_000) } }
    let added = 0
    for (let from = 2; from < 162; from += 8) {
      added += (await current.add(rowsFrom(from, 8, large))).added
    }
    // 9.6 MB in blocks of 2 MiB. The last two blocks are not yet stored.
    assert.ok(added >= 80, String(added))
    assert.equal(added + (await current.finish()).added, 160)
    await current.commit()
  })

  test('store text with special characters of COPY, and an empty text, unchanged', async (t) => {
    const { storage } = await openShops(t)
    const odd = [
      ...['\\N', '\\.', '\\', 'a\tb', 'a\nb', 'a\rb', '\\n', '\\\\', '\\\t\\\n\\', '\\x41\\101'],
      ...['日本 \u{1f600} e\u0301', '"', ' ', '\u2028', '\b\f\v\x7f'],
    ]
    const rows = odd.map((text, index) =>
      newRow(index + 2, { transaction_id: text, user_id: text, metadata: { text } }),
    )
    rows.push(newRow(98, { user_id: '', currency: '' }), newRow(99))

    await importRows(storage, MAIN, 'imp_1', rows)
    const again = await importRows(storage, MAIN, 'imp_2', rows)

    const found = await purchasesIn(storage, MAIN)
    const shown = ({ transaction_id, user_id, currency, metadata }: Purchase | NewPurchase) => {
      return [transaction_id, user_id, currency, metadata]
    }
    assert.deepEqual(found.map(shown), rows.map(shown))
    assert.equal(again.skipped, rows.length)
  })

  test('of slow clients hold no connection', async (t) => {
    const url = await server.emptyDatabase(t)
    const { storage, sql } = await openShops(t, undefined, { max: 2 }, url)
    const imports = []
    for (let i = 0; i < 5; i++) {
      const key = { account_id: 'acc_1', store_id: `store_${i}` }
      await storage.insertStore(newStore(key.store_id))
      await storage.insertItem(newItem('gold', { id: `itm_${i}`, store_id: key.store_id }))
      const current = await openImport(storage, key, `imp_${i}`)
      await addRows(current, [newRow(2), newRow(3)])
      imports.push(current)
    }

    const open = await sql`SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND state LIKE 'idle in transaction%'`
    assert.equal(open.length, 0)
    await storage.insertStore(newStore('meanwhile'))
    for (const current of imports) await current.commit()
  })

  test('leave nothing if the connection of the second block is lost', async (t) => {
    const url = await server.emptyDatabase(t)
    const sql = rawPostgres(t, url)
    const killLast = async (copy: number) => {
      if (copy !== 2) return
      await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE query LIKE 'COPY%' AND state = 'active' AND datname = current_database()`
    }
    const { storage } = await openShops(t, killLast, {}, url)
    const current = await openImport(storage, MAIN, 'imp_1')

    await assert.rejects(addRows(current, rowsFrom(1, 3 * BLOCK)), UNAVAILABLE)
    await assert.rejects(current.commit(), Error)
    await current.abort()

    for (const table of ['purchases', 'imports', 'purchase_changes']) {
      assert.deepEqual([...(await sql.unsafe(`SELECT 1 FROM ${table}`))], [])
    }
    await importRows(storage, MAIN, 'imp_2', [newRow(2)])
    assert.deepEqual(await transactions(storage, MAIN), ['tx_2'])
  })

  test('add no rows if another import took the lease', async (t) => {
    const { storage, sql, url } = await openShops(t)
    const witness = await openPostgres(t, url)
    const lost = await openImport(storage, MAIN, 'imp_1')
    await sql`UPDATE imports SET alive_at = 'epoch'`
    await (await openImport(witness, MAIN, 'imp_2')).commit()

    await assert.rejects(addRows(lost, rowsFrom(1, 3)), UNAVAILABLE)

    assert.deepEqual([...(await sql`SELECT 1 FROM purchases`)], [])
    assert.deepEqual(await storage.check(), [])
  })
})
