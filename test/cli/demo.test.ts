import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDemo, importDemoSales } from '../../cli/serve/demo.ts'
import { googlePlayReport, type SalesOptions, webStoreFile } from '../../cli/serve/demo-shop.ts'
import { createTill, type PurchaseSummary } from '../../lib/index.ts'
import { serveProcess, tillkitJson } from '../support/cli.ts'
import { testOnEach } from '../support/databases.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { startPostgres } from '../support/postgres.ts'
import { soakOnly } from '../support/soak.ts'
import { openStorage } from '../support/till.ts'

const NOW = Date.parse('2026-11-18T16:00:00Z')

const textOf = (chunks: Iterable<Uint8Array>) => Buffer.concat([...chunks]).toString()
const rowsOf = (chunks: Iterable<Uint8Array>) => textOf(chunks).trim().split('\n').slice(1)

testOnEach(
  'the demo imports 2,000 purchases of 14 months and 13 currencies into two stores',
  async (t) => {
    const till = createTill({ storage: await openStorage() })
    t.after(() => till.close())
    const demo = await createDemo(till)
    assert.ok(demo)
    const account = await till.accounts.authenticate(demo.account_key)
    await importDemoSales(till, account, NOW)
    const imports = []
    for (const store_id of ['google-play', 'demo']) {
      imports.push(...(await till.imports.list(account, { store_id })).imports)
    }
    assert.deepEqual(
      imports.map(({ added, layout }) => [added, layout]),
      [
        [1_000, 'google_play_sales'],
        [1_000, 'canonical'],
      ],
    )
    assert.ok((imports[0]?.updated ?? 0) > 10, 'refunds of sales in the same file')
    assert.ok((imports[0]?.passed_over ?? 0) > 40, 'sales of another app')

    const groups = await till.purchases.summarize(account, { by: ['month', 'sku'] })
    const distinct = (values: readonly unknown[]) => new Set(values).size
    assert.equal(distinct(groups.map(({ month }) => month)), 14)
    assert.equal(distinct(groups.map(({ currency }) => currency)), 13)
    assert.equal(distinct(groups.map(({ sku }) => sku)), 12)
    const player = { store_id: 'demo', user_id: 'player-1' }
    assert.ok((await till.purchases.owned(account, player)).owned.length > 0)
    assert.equal(await createDemo(till), undefined, 'the database has an account already')
  },
)

test('a generated file has as many purchases as asked, and the same for the same seed', () => {
  const options = { now: NOW, purchases: 5_000, seed: 7 }
  assert.equal(rowsOf(webStoreFile(options)).length, 5_000)
  const own = rowsOf(googlePlayReport(options)).filter((row) =>
    /,Charged,.*,com\.example\.demo,\w+,com\.example\.demo\.(?!test,)/.test(row),
  )
  assert.equal(own.length, 5_000)
  assert.equal(new Set(own.map((row) => row.split(',')[0])).size, 5_000, 'each has its own id')
  for (const generate of [googlePlayReport, webStoreFile] as const) {
    assert.equal(textOf(generate(options)), textOf(generate(options)))
    assert.notEqual(textOf(generate(options)), textOf(generate({ ...options, seed: 8 })))
  }
})

test('a generated report has renewals, later refunds, free trials and money of each kind', () => {
  const rows = rowsOf(googlePlayReport({ now: NOW }))
  const has = (pattern: RegExp) =>
    assert.ok(
      rows.some((row) => pattern.test(row)),
      `${pattern}`,
    )
  has(/^GPA\.\d{4}-\d{4}-\d{4}-\d{5}\.\.0,/)
  has(/,JPY,[\d.]+,[\d.]+,\d+\.00,/)
  has(/,KWD,[\d.]+,[\d.]+,\d+\.\d{3},/)
  has(/,KRW,"\d+,\d{3}\.00",/)
  has(/,0\.00,0\.00,0\.00,.*,free-week$/)
  has(/,"""Königliche"" Truhe 👑 \(Demo Game\)",/)
  has(/,Partial refund,.*,-/)

  const months = new Map<string, string>()
  const refundedLater = rows.filter((row) => {
    const [id = '', day = ''] = row.split(',')
    if (row.includes(',Charged,')) months.set(id, day.slice(0, 7))
    return row.includes(',Refund,') && months.get(id) !== day.slice(0, 7) && months.has(id)
  })
  assert.ok(refundedLater.length > 5)
  const times = rows.map((row) => Number(row.split(',')[2]))
  assert.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
  )
  assert.ok((times.at(-1) ?? 0) * 1000 < NOW)
})

test('the running month and the days before it have sales on any day of a month', () => {
  const daysOf = (options: SalesOptions) =>
    new Set(rowsOf(webStoreFile(options)).map((row) => row.split(',')[2]?.slice(0, 10)))
  for (const now of ['2026-03-01T00:00:01Z', '2028-02-29T12:00:00Z', '2026-12-31T23:59:59Z']) {
    const days = daysOf({ now: Date.parse(now), purchases: 5_000 })
    const before = Date.parse(now) - 86_400_000
    assert.ok(days.has(new Date(before).toISOString().slice(0, 10)), now)
    assert.ok(days.size > 390, now)
  }
})

test('the demo fills an empty PostgreSQL database, and a second start leaves it alone', {
  skip: soakOnly,
}, async (t) => {
  const db = await (await startPostgres()).emptySchema(t)
  const serveDemo = () => serveProcess(t, ['--port', '0', '--demo', '--db', db])
  const { lines, child, closed } = await serveDemo()
  await eventuallyHolds(() => assert.match(lines.join(), /account key +ak_.*filename=purchases/))
  child.kill('SIGTERM')
  assert.equal(await closed, 0)
  const { summaries }: { summaries: PurchaseSummary[] } = await tillkitJson([
    ...['purchases', 'summary', '--by', 'store', '--db', db],
  ])
  const count = (store: string) =>
    summaries
      .filter(({ store_id }) => store_id === store)
      .flatMap(({ purchased, pending, refunded, cancelled }) => {
        return [purchased, pending, refunded, cancelled]
      })
      .reduce((sum, rows) => sum + rows)
  assert.deepEqual(['google-play', 'demo'].map(count), [1_000, 1_000])

  const again = await serveDemo()
  await eventuallyHolds(() => assert.match(again.lines.join(), /no demo was created/))
})
