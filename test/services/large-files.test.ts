import assert from 'node:assert/strict'
import { performance } from 'node:perf_hooks'
import { test } from 'node:test'
import { createMemoryStorage } from '../../lib/index.ts'
import type { Storage } from '../../lib/storage/port.ts'
import { newPath } from '../storage/fixtures/places.ts'
import { openSqlite } from '../support/sqlite.ts'
import { createShop, failureOf, fileOf, memoryTill } from '../support/till.ts'

const HEADER = 'transaction_id,sku,purchased_at,metadata\n'
const quote = (text: string) => `"${text.replaceAll('"', '""')}"`
const row = (id: string, metadata: string) => `${id},gold,2024-03-01T12:34:56Z,${quote(metadata)}\n`
const objects = (bytes: number) =>
  `{"a":[${Array(Math.floor(bytes / 3))
    .fill('{}')
    .join()}]}`

/** A storage that counts the rows of each slice. */
function watchSlices() {
  const slices: number[] = []
  const storage = createMemoryStorage()
  const openImport: Storage['openImport'] = async (store, id) => {
    const opened = await storage.openImport(store, id)
    return (
      opened && {
        ...opened,
        stage(rows) {
          slices.push(rows.length)
          return opened.stage(rows)
        },
      }
    )
  }
  return { slices, storage: { ...storage, openImport } }
}

test('rows with large metadata are staged a few at a time, small rows by hundreds', async () => {
  const { slices, storage } = watchSlices()
  const { till, account } = await createShop({ storage })
  const large = Array.from({ length: 20 }, (_, i) => row(`T-${i}`, objects(60_000)))
  const small = Array.from({ length: 5_000 }, (_, i) => row(`S-${i}`, '{"a":1}'))
  const importRows = (rows: string[]) =>
    till.purchases.import(account, { store_id: 'main', file: fileOf(HEADER + rows.join('')) })

  assert.equal((await importRows(large)).added, 20)
  assert.ok(Math.max(...slices) <= 4, String(slices))
  slices.length = 0
  assert.equal((await importRows(small)).added, 5_000)
  assert.ok(slices.length <= 11, String(slices))
})

test('an import yields to the event loop also while all SKUs are unknown', async (t) => {
  const storage = await openSqlite(newPath(t))
  const till = memoryTill({ storage })
  t.after(() => till.close())
  const { account } = await createShop(till)
  const rows = Array.from({ length: 20_000 }, (_, i) => `T-${i},none,1700000000\n`)
  const file = fileOf(`transaction_id,sku,purchased_at\n${rows.join('')}`)
  const iterations = () => performance.nodeTiming.uvMetricsInfo.loopCount
  const before = iterations()

  const { code } = await failureOf(till.purchases.import(account, { store_id: 'main', file }))

  assert.equal(code, 'invalid_purchases')
  assert.ok(iterations() - before > 20, `${iterations() - before} iterations for 450 KB`)
})

test('after a bad header the rest of the file is not read', async () => {
  const { till, account } = await createShop()
  const heads = [
    'sku,'.repeat(80_000),
    `${'sku,'.repeat(300)}\n`,
    `one,two\n${'1,2\n'.repeat(300)}`,
    `"a,b\n${'1,2\n'.repeat(9_000)}`,
  ]
  for (const head of heads) {
    let read = 0
    async function* file() {
      yield Buffer.from(head)
      for (; read < 100; read++) yield Buffer.from('1,2\n')
    }

    const { code, details } = await failureOf(
      till.purchases.import(account, { store_id: 'main', file: file() }),
    )

    assert.equal(code, 'invalid_purchases')
    assert.deepEqual([details[0]?.line, read], [1, 0])
  }
})

test('messages quote at most 64 characters of a file', async () => {
  const { till, account } = await createShop()
  const long = 'long '.repeat(600)
  const at = ',gold,2024-03-01T12:34:56Z'
  const files = [
    { text: `sku,${' '.repeat(5_000)}sku,${long}\n`, map: undefined },
    { text: `a,b\n1,2\n`, map: { transaction_id: long, sku: 'a', purchased_at: 'b' } },
    {
      text: `${long},sku,purchased_at,price,currency\nT-1${at},4.999,${long}\n,${at}\n`,
      map: { transaction_id: long },
    },
  ]
  for (const { text, map } of files) {
    const { message, details } = await failureOf(
      till.purchases.import(account, {
        store_id: 'main',
        file: fileOf(text),
        priceUnit: 'major',
        ...(map && { map }),
      }),
    )
    assert.ok(message.length < 200)
    assert.ok(details.length > 0)
    for (const detail of details) {
      assert.ok((detail.column ?? '').length <= 64, detail.column)
      assert.ok(detail.message.length < 200, detail.message)
    }
  }
  const good = `transaction_id,sku,purchased_at,${'😀'.repeat(60)}\nT-1${at},x\n`
  const { ignored_columns } = await till.purchases.import(account, {
    store_id: 'main',
    file: fileOf(good),
  })
  assert.deepEqual(ignored_columns, [`${'😀'.repeat(31)}…`])
})

test('blanks and escapes do not count towards the metadata limit, and longer metadata is not parsed', async () => {
  const { till, account } = await createShop()
  const escaped = `{"a":"${'\\u0434'.repeat(20_000)}\\\\"${' '.repeat(100_000)}}`
  const importOne = (metadata: string) =>
    till.purchases.import(account, {
      store_id: 'main',
      file: fileOf(HEADER + row('T-1', metadata)),
    })

  assert.equal((await importOne(escaped)).added, 1)
  // Invalid JSON, but refused for its length first.
  const { details } = await failureOf(importOne('{"a":[{},'.repeat(20_000)))
  assert.deepEqual(
    details.map(({ column, message }) => [column, message]),
    [['metadata', 'must not take more than 64 KiB as JSON']],
  )
})

test('a file of many currencies has a total for each', async () => {
  const { till, account } = await createShop()
  const letters = [...'ABCDEFGHIJKLM']
  const codes = letters.flatMap((a) => letters.flatMap((b) => letters.map((c) => a + b + c)))
  const rows = codes.map((code, i) => `T-${i},gold,2024-03-01T12:34:56Z,2,${code}\n`)
  const { totals } = await till.purchases.import(account, {
    store_id: 'main',
    file: fileOf('transaction_id,sku,purchased_at,price,currency\n', ...rows, ...rows),
  })
  assert.deepEqual(
    totals,
    codes.map((currency) => ({ status: 'purchased', currency, rows: 2, total: '4' })),
  )
})
