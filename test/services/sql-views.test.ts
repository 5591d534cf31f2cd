import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createDemoStores } from '../../cli/serve/demo.ts'
import { BUNDLE_ID, googlePlayReport, SKU_MAP, webStoreFile } from '../../cli/serve/demo-shop.ts'
import { copyStorage } from '../../lib/index.ts'
import { raw } from '../support/connections.ts'
import { testOnEach as test } from '../support/databases.ts'
import { newPlace, type Place, type Row } from '../support/place.ts'
import { createShop, fileOf, type Shop } from '../support/till.ts'

const NOW = Date.UTC(2026, 6, 15)

/** The first SQL query of a section of docs/sql.md. */
function queryOf(section: string): string {
  const page = readFileSync('docs/sql.md', 'utf8')
  const text = page.slice(page.indexOf(`## ${section}`))
  return /```sql\n(.*?)```/s.exec(text)?.[1] ?? ''
}

/** What a query of each program sends to the database. */
const SENT = {
  sqlite: {
    SQLite: queryOf('SQLite'),
    DuckDB: /\$\$(.*?)\$\$/s.exec(queryOf('DuckDB'))?.[1]?.trim() ?? '',
  },
  postgres: {
    Metabase: queryOf('Metabase').replace(/\[\[.*?\]\]/, ''),
    Grafana: queryOf('Grafana').replace(/\$__timeFilter\((\w+)\)/, "$1 > '2000-01-01T00:00:00Z'"),
  },
}

interface Sums {
  readonly month?: string | undefined
  readonly currency: string
  readonly purchased: number
  readonly revenue: string
}

/** Adds up rows by month and currency, as texts. */
function addUp(rows: readonly Sums[]): string[] {
  const sums = new Map<string, { purchased: number; revenue: bigint }>()
  for (const { month, currency, purchased, revenue } of rows) {
    if (purchased === 0) continue
    const key = `${month} ${currency}`
    const { purchased: count, revenue: sum } = sums.get(key) ?? { purchased: 0, revenue: 0n }
    sums.set(key, { purchased: count + purchased, revenue: sum + BigInt(revenue) })
  }
  return Array.from(
    sums,
    ([key, { purchased, revenue }]) => `${key} ${purchased} ${revenue}`,
  ).sort()
}

/** Reads a row of one of the queries. */
function sumsOf(row: Row): Sums {
  const { month, time, purchased_at, currency, metric, purchased, revenue, price } = row
  const at = time instanceof Date ? time.toISOString() : (purchased_at as string | undefined)
  return {
    month: (month as string | undefined) ?? at?.slice(0, 7),
    currency: String(currency ?? metric ?? ''),
    purchased: Number(purchased ?? 1),
    revenue: String(revenue ?? price ?? 0),
  }
}

/** A shop with sales of 14 months, and everything that the views must leave out or apply. */
async function fill(place: Place): Promise<Shop> {
  const storage = await place.storage()
  const till = await place.till()
  const shop = await createShop(till)
  const { account, project_id } = shop
  const game = { name: 'Demo Game', bundle_id: BUNDLE_ID, platform: 'mobile' } as const
  const { id: demo_id } = await till.projects.create(account, game)
  await createDemoStores(till, account, demo_id)
  const play = { store_id: 'google-play', skus: SKU_MAP }
  const report = () => googlePlayReport({ now: NOW, purchases: 600 })
  await till.purchases.import(account, { ...play, file: report() })
  const web = { store_id: 'demo', file: webStoreFile({ now: NOW, purchases: 300 }) }
  await till.purchases.import(account, web)
  const sandbox = { store_id: 'sandbox', store_type: 'web', is_sandbox: true } as const
  await till.stores.create(account, { ...sandbox, project_id })
  const test = { store_id: 'sandbox', name: 'gold', display_name: 'Gold', price: '1' }
  await till.items.create(account, { ...test, type: 'consumable' })

  const header = 'transaction_id,sku,purchased_at,price,currency,status,user_id\n'
  const importInto = (store_id: string, ...rows: string[]) =>
    till.purchases.import(account, { store_id, file: fileOf(header + rows.join('\n')) })
  const row = (id: string, status = '', user = '') =>
    `${id},gold,2026-06-30T23:59:59.999Z,700,USD,${status},${user}`
  await importInto('sandbox', row('T-1'))
  await importInto('main', row('T-1', '', 'ann'), row('T-2'), row('T-3'), row('T-4'))
  await importInto('main', row('T-2', 'refunded'))
  const { import_id } = await importInto('main', row('T-3', 'cancelled'), row('T-5'))
  await till.imports.undo(account, { import_id })
  await till.users.erase(account, { project_id, user_id: 'ann' })
  const order = { store_id: 'main', transaction_id: 'T-4' }
  await till.purchases.refund(account, order)
  const { import_id: gone } = await importInto('main', row('T-6'))
  await till.imports.undo(account, { import_id: gone })
  // A running import with new rows and a new status.
  const running = await storage.openImport({ ...account, store_id: 'main' }, 'imp_running')
  const purchased_at = Date.UTC(2026, 5, 30)
  const sent = { sku: 'gold', purchased_at, quantity: 1, metadata: {}, price: 1, currency: 'USD' }
  const rows = [
    { ...sent, line: 2, transaction_id: 'T-7', status: 'purchased' },
    { ...sent, line: 3, transaction_id: 'T-3', price: 700, status: 'refunded' },
  ] as const
  await running?.add(rows)
  await running?.finish()
  return shop
}

test('the queries of docs/sql.md find the sums of purchases summary', async (t) => {
  const place = newPlace(t)
  const { till, account } = await fill(place)
  const summary = await till.purchases.summarize(account, { by: ['month', 'sku', 'currency'] })
  const expected = addUp(summary)
  assert.ok(new Set(summary.map(({ currency }) => currency)).size >= 13)
  const queries = place.isPostgres ? SENT.postgres : SENT.sqlite
  for (const [program, query] of Object.entries(queries)) {
    const rows = await place.run(query)
    assert.deepEqual(addUp(rows.map(sumsOf)), expected, program)
  }
  if (!place.isPostgres) return
  const [, items = ''] = readFileSync('docs/sql.md', 'utf8').split('Items that no player')
  const unsold = await place.run(/```sql\n(.*?)```/s.exec(items)?.[1] ?? '')
  assert.ok(unsold.length > 0)
})

test('docs/sql.md names the columns of each view, in their order', async (t) => {
  const place = newPlace(t)
  await fill(place)
  const page = readFileSync('docs/sql.md', 'utf8')
  for (const view of ['purchases_v1', 'items_v1', 'stores_v1']) {
    const [, named = ''] = new RegExp(`^\\| \`${view}\` \\| (.*) \\|$`, 'm').exec(page) ?? []
    const [row = {}] = await place.run(`SELECT * FROM ${view} LIMIT 1`)
    const columns = Object.keys(row).map((column) => `\`${column}\``)
    assert.equal(named, columns.join(', '), view)
  }
})

test('the views show what reads return, with names, and no secrets', async (t) => {
  const place = newPlace(t)
  const { till, account, project_id, account_id, item } = await fill(place)
  const text = (rows: readonly Row[]) => JSON.parse(JSON.stringify(rows))
  const shown = text(
    await place.run("SELECT * FROM purchases_v1 WHERE store_id = 'main' ORDER BY transaction_id"),
  )
  const { purchases } = await till.purchases.list(account, { store_id: 'main' })
  assert.deepEqual(
    shown.map(({ metadata, price, is_sandbox, is_grant, ...row }: Row) => ({
      ...row,
      price: Number(price),
    })),
    purchases.map(({ metadata, ...purchase }) => ({
      account_id,
      project_id,
      user_id: null,
      expires_at: null,
      ...purchase,
    })),
  )
  assert.deepEqual(
    purchases.map(({ transaction_id, status }) => `${transaction_id} ${status}`),
    ['T-1 purchased', 'T-2 refunded', 'T-3 purchased', 'T-4 refunded'],
  )
  const items = text(await place.run("SELECT * FROM items_v1 WHERE store_id = 'main'"))
  const { metadata: _, ...gold } = { ...item, archived_at: null }
  assert.deepEqual(
    items.map(({ metadata, price, version, ...row }: Row) => ({
      ...row,
      price: Number(price),
      version: Number(version),
    })),
    [gold],
  )
  const stores = text(await place.run('SELECT * FROM stores_v1 ORDER BY store_id'))
  assert.deepEqual(
    stores.map((row: Row) => [row.store_id, row.project_name, Boolean(row.is_sandbox)]),
    [
      ['demo', 'Demo Game', false],
      ['google-play', 'Demo Game', false],
      ['main', 'Game', false],
      ['sandbox', 'Game', true],
    ],
  )
  const columns = [...shown, ...items, ...stores].flatMap((row) => Object.keys(row))
  assert.deepEqual(
    columns.filter((name) => /config|secret|key/.test(name)),
    [],
  )
})

test('the view shows changes that a committed import has not moved into its purchases yet', async (t) => {
  const place = newPlace(t)
  const { till, account } = await place.shop()
  const importRow = (cells: string) => {
    const file = fileOf(`transaction_id,sku,purchased_at,status,user_id,price\nT-1,gold,${cells}\n`)
    return till.purchases.import(account, { store_id: 'main', file })
  }
  await importRow('2026-06-30T00:00:00Z,purchased,,')
  const { import_id } = await importRow('2026-06-30T00:00:00Z,refunded,,')
  // As after a crash between the commit and the move. On PostgreSQL, the commit moves them.
  if (!place.isPostgres) {
    await place.run(`UPDATE purchases SET status = 0; DELETE FROM status_changes;
      INSERT INTO purchase_changes (purchase, import, status, filled, user_id, price, currency)
      SELECT p.seq, i.seq, 2, 7, 'ann', 499, 'USD' FROM purchases p, imports i
      WHERE i.import_id = '${import_id}'`)
  }
  const [row] = await place.run('SELECT status, user_id, price, currency FROM purchases_v1')
  const filled = place.isPostgres
    ? { user_id: null, price: null, currency: null }
    : { user_id: 'ann', price: 499, currency: 'USD' }
  assert.deepEqual({ ...row }, { status: 'refunded', ...filled })
})

test('a copy and a backup have the views', async (t) => {
  const place = newPlace(t)
  await place.shop()
  const copy = newPlace(t)
  const [from, to] = [await place.storage(), await copy.storage()]
  await copyStorage(from, to)
  assert.equal((await copy.run('SELECT * FROM items_v1')).length, 1)
  if (place.isPostgres) return
  const backup = `${place.path}.backup`
  await from.backup?.(backup)
  const db = await raw(t, backup)
  assert.equal(db.prepare('SELECT * FROM items_v1').all().length, 1)
  db.close()
})
