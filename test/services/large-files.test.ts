import assert from 'node:assert/strict'
import { performance } from 'node:perf_hooks'
import { test } from 'node:test'
import { soakOnly } from '../support/soak.ts'
import { openSqlite } from '../support/sqlite.ts'
import { newPath } from '../support/storage/places.ts'
import { createShop, failureOf, fileOf, memoryTill } from '../support/till.ts'

test('an import yields to the event loop also while all SKUs are unknown', async (t) => {
  const till = memoryTill({ storage: await openSqlite(newPath(t)) })
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

test('messages quote at most 64 characters of a file', async () => {
  const { till, account } = await createShop()
  const long = 'long '.repeat(600)
  const at = ',gold,2024-03-01T12:34:56Z'
  const files = [
    { text: `sku,${' '.repeat(5_000)}sku,${long}\n` },
    { text: `a,b\n1,2\n`, map: { transaction_id: long, sku: 'a', purchased_at: 'b' } },
    {
      text: `${long},sku,purchased_at,price,currency\nT-1${at},4.999,${long}\n,${at}\n`,
      map: { transaction_id: long },
    },
  ]
  for (const { text, ...choice } of files) {
    const request = { store_id: 'main', file: fileOf(text), priceUnit: 'major' as const, ...choice }
    const { message, details } = await failureOf(till.purchases.import(account, request))
    assert.ok(message.length < 200)
    assert.ok(details.length > 0)
    for (const detail of details) {
      assert.ok((detail.column ?? '').length <= 64, detail.column)
      assert.ok(detail.message.length < 200, detail.message)
    }
  }
  const good = `transaction_id,sku,purchased_at,${'😀'.repeat(60)}\nT-1${at},x\n`
  const request = { store_id: 'main', file: fileOf(good) }
  const { ignored_columns } = await till.purchases.import(account, request)
  assert.deepEqual(ignored_columns, [`${'😀'.repeat(31)}…`])
})

test('an import of more users than are sorted together finds each of them', {
  skip: soakOnly,
}, async () => {
  const { till, account } = await createShop()
  const count = 300_000
  const userOf = (i: number) => `user_${(i * 7_919) % count}`
  const lines = Array.from({ length: count }, (_, i) => `T-${i},gold,1700000000,${userOf(i)}\n`)
  const file = fileOf(`transaction_id,sku,purchased_at,user_id\n${lines.join('')}`)
  await till.purchases.import(account, { store_id: 'main', file })

  assert.deepEqual(await till.operator.check(), [])
  for (const i of [0, 62_499, 62_500, count - 1]) {
    const { purchases } = await till.purchases.list(account, {
      store_id: 'main',
      user_id: userOf(i),
    })
    assert.deepEqual(
      purchases.map(({ transaction_id }) => transaction_id),
      [`T-${i}`],
    )
  }
})
