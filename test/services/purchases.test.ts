// run: early
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { ImportResult, Storage } from '../../lib/index.ts'
import { collect, pluck } from '../support/collect.ts'
import { testOnEach as test } from '../support/databases.ts'
import { shortOf } from '../support/purchase-file.ts'
import { createSignal } from '../support/server.ts'
import { createShop, failureOf, fileOf, openStorage } from '../support/till.ts'

const HEADER = 'transaction_id,sku,purchased_at'
const AT = '2024-03-01T12:34:56Z'

/** A row with the columns of HEADER. */
const row = (id: string) => `${id},gold,${AT}\n`
const rowsOf = (count: number) => Array.from({ length: count }, (_, i) => row(`tx_${i}`)).join('')

test('every row of a file is stored with the id of its import', async () => {
  const shop = await setUp()
  const columns = 'user_id,quantity,price,currency,status,metadata'
  const lines = [
    `tx_1,gold,${AT},player,3,499,EUR,pending,"{""a"":[1,{""b"":null}]}"`,
    'tx_2,gem,1709296496789,,,,,,',
  ]

  const result = await shop.import(`${HEADER},${columns}\n${lines.join('\n')}\n`)

  const { import_id, layout, passed_over, totals } = result
  assert.match(import_id, /^imp_/)
  assert.deepEqual([layout, passed_over], ['canonical', 0])
  assert.deepEqual(totals, [
    { status: 'pending', currency: 'EUR', rows: 1, total: '499' },
    { status: 'purchased', currency: '', rows: 1, total: '0' },
  ])
  assert.deepEqual(countsOf(result), { rows: 2, added: 2, skipped: 0, updated: 0 })
  const common = { store_id: 'main', import_id }
  assert.deepEqual(await shop.all(), [
    {
      ...{ ...common, transaction_id: 'tx_1', sku: 'gold', user_id: 'player', quantity: 3 },
      ...{ purchased_at: '2024-03-01T12:34:56.000Z', price: 499, currency: 'EUR' },
      ...{ status: 'pending', metadata: { a: [1, { b: null }] } },
    },
    {
      ...{ ...common, transaction_id: 'tx_2', sku: 'gem', quantity: 1, status: 'purchased' },
      ...{ purchased_at: '2024-03-01T12:34:56.789Z', metadata: {} },
    },
  ])
})

describe('a file is refused', () => {
  const withColumn = (column: string, bad: string) =>
    `${HEADER},${column}\ngood,gold,${AT},\nbad,gold,${AT},${bad}\n`
  const withRow = (bad: string) => `${HEADER}\n${row('good')}${bad}\n`
  const rows: [what: string, file: string, ...mistakes: string[]][] = [
    ['a bad cell', withColumn('price', '4.99'), '3 price invalid'],
    ['a sku in other letters', withRow(`bad,GOLD,${AT}`), '3 sku unknown_sku'],
    ["another store's sku", withRow(`bad,sword,${AT}`), '3 sku unknown_sku'],
    ['a quote never closed', withRow(`"bad,gold,${AT}`), '3 unclosed_quote'],
    [
      'an error after a cell of three lines',
      `${HEADER},user_id\n"a","gold",${AT},"x\ny\r\nz"\n\nbad,silver,${AT},\n`,
      '6 sku unknown_sku',
    ],
    [
      'columns by their other names',
      `Order_ID,Item,Date\nb,silver,now\n,gold,${AT}\nc,silver,${AT}\n`,
      ...['2 Date invalid', '3 Order_ID required', '4 Item unknown_sku'],
    ],
    [
      'the same transaction with another quantity',
      `${HEADER},Quantity\ngood,gold,${AT},1\ngood,gold,${AT},2\n`,
      '3 Quantity transaction_conflict',
    ],
    [
      'a conflict in a column that the file lacks',
      `${HEADER}\nknown,gold,${AT}\n`,
      '2 quantity transaction_conflict',
    ],
  ]
  test('with the line and the column of each mistake, also by a dry run', async () => {
    const shop = await setUp()
    await shop.import(`${HEADER},user_id,quantity\nknown,gold,${AT},player,2\n`)
    const before = await shop.all()
    for (const [what, file, ...mistakes] of rows) {
      const failure = await failureOf(shop.import(file))

      const { code, kind, details, total } = failure
      assert.deepEqual(details.map(shortOf), mistakes, what)
      assert.deepEqual([code, kind, total], ['invalid_purchases', 'invalid', mistakes.length])
      assert.deepEqual(await failureOf(shop.import(file, { dryRun: true })), failure)
    }
    assert.deepEqual(await shop.all(), before)
  })

  test('with both values of a corrected price and the next step, but not for a token', async () => {
    const shop = await setUp()
    const header = `${HEADER},user_id,price,currency\n`
    await shop.import(`${header}known,gold,${AT},ann,499,USD\n`)
    const corrected = `${header}known,gold,${AT},ann,549,USD\n`
    const { details, message } = await failureOf(shop.import(corrected))
    const [detail] = details
    const other = 'a purchase, or a row, with the same transaction_id'
    assert.equal(detail?.message, `is 5.49 USD, but 4.99 USD in ${other}`)
    assert.match(message, /^1 mistake in the file; purchases reconcile --report .*imports undo/)

    const session = await shop.till.sessions.authenticate(shop.token)
    const request = { store_id: 'main', file: fileOf(corrected) }
    const hidden = await failureOf(shop.till.purchases.import(session, request))
    assert.equal(hidden.details[0]?.message, `differs from ${other}`)
    assert.equal(hidden.message, '1 mistake in the file')
  })

  test('with all bad cells of a row together, and none that follow from others', async () => {
    const shop = await setUp()
    const header = `${HEADER},user_id,quantity,price,currency,status`
    await shop.import(`${header}\nknown,gold,${AT},ann,1,499,USD,\n`)
    const file: readonly (readonly [line: string, ...mistakes: string[]])[] = [
      [`a,silver,${AT},,1,4.99,USD,`, 'price invalid'],
      [`,silver,now,,1,,,`, 'transaction_id required', 'purchased_at invalid'],
      [`known,gem,${AT},ann,1,4.99,USD,`, 'price invalid'],
      [`known,gold,${AT},ann,1,499,us,sold`, 'currency invalid', 'status invalid'],
      [`b,gold,${AT},ann,1,499,USD,`],
      [`b,gem,${AT},ann,1,499,USD,`, 'sku transaction_conflict'],
      // A row with a bad cell is not compared with others.
      [`T-1,gold,${AT},ann,1,4.99,EUR,`, 'price invalid'],
      [`T-1,gold,${AT},ann,1,,USD,`],
    ]

    const lines = [header, ...file.map(([line]) => line)]
    const { details } = await failureOf(shop.import(lines.join('\n')))

    assert.deepEqual(
      details.map(shortOf),
      file.flatMap(([, ...mistakes], i) => mistakes.map((each) => `${i + 2} ${each}`)),
    )
  })

  test('with the first hundred mistakes, and their total number', async () => {
    const shop = await setUp()
    // The storage checks slices of a thousand rows, so it finds errors later than the parser.
    const bad = (line: number) => (line % 2 === 0 ? `tx,silver,${AT}` : 'tx,gold,now')
    const lines = Array.from({ length: 6000 }, (_, index) =>
      index % 10 === 0 ? row(`tx_${index}`).trimEnd() : bad(index + 2),
    )

    const skus: (string | undefined)[] = []
    const onMistake = (_: unknown, sku?: string) => void skus.push(sku)
    const error = await failureOf(shop.import([HEADER, ...lines].join('\n'), { onMistake }))

    assert.equal(skus.length, 5400)
    assert.deepEqual([...new Set(skus)].sort(), ['silver', undefined])
    const expected = Array.from({ length: 112 }, (_, index) => index + 2)
      .filter((line) => (line - 2) % 10 !== 0)
      .slice(0, 100)
      .map((line) => `${line} ${line % 2 === 0 ? 'sku unknown_sku' : 'purchased_at invalid'}`)
    assert.deepEqual(error.details.map(shortOf), expected)
    assert.equal(error.total, 5400)
    assert.equal(error.message, '5,400 mistakes in the file, the first 100 are listed')

    assert.deepEqual(await shop.all(), [])
  })

  test('without quoting a cell', async () => {
    const shop = await setUp()
    const secret = 'S3CRET'
    const file = [
      `${HEADER},user_id,quantity,price,currency,status,metadata`,
      Array(9).fill(secret).join(),
      `a,${secret},${AT},,,,,,`,
      `b,gold,${AT},,,,,,"{""${secret}"":1e999}"`,
      `"${secret}"${secret},gold,${AT},,,,,,`,
      `${secret}`,
      `"${secret}`,
    ]

    const error = await failureOf(shop.import(file.join('\n')))

    assert.ok(error.details.length > 8)
    assert.ok(!JSON.stringify(error).includes(secret))
  })
})

test('a store that is unknown or closed is refused without reading the file', async () => {
  const shop = await setUp()
  for (const status of ['disabled', 'archived']) await shop.createStore(status, status)
  const file = { [Symbol.asyncIterator]: () => assert.fail('the file was read') }
  const stores: [unknown, string][] = [
    ['nowhere', 'store_id unknown'],
    ['a/b', 'store_id invalid'],
    [7, 'store_id invalid'],
    [undefined, 'store_id required'],
    ['disabled', 'store_inactive'],
    ['archived', 'store_inactive'],
  ]
  for (const [store_id, expected] of stores) {
    const request = { store_id: store_id as string, file }
    const { code, details } = await failureOf(shop.till.purchases.import(shop.account, request))
    const found = details.map(({ field, code }) => `${field} ${code}`).join()
    assert.equal(found || code, expected)
  }
})

describe('an import that ends early stores nothing, and the next one runs', () => {
  const broken = new Error('the connection is gone')
  const whole = `${HEADER}\n${rowsOf(5_000)}`
  const files: { readonly [how: string]: (abort: () => void) => AsyncIterable<Uint8Array> } = {
    async *'by an error of the file'() {
      yield Buffer.from(whole)
      throw broken
    },
    async *'by an abort between chunks'(abort) {
      yield Buffer.from(whole)
      abort()
      yield Buffer.from(row('last'))
    },
    'by an abort in the middle of a chunk': () => fileOf(whole),
    'by chunks that are strings': () => chunksOf([`${HEADER}\n`, row('tx_1')] as never),
  }
  for (const [how, file] of Object.entries(files)) {
    test(how, async () => {
      const shop = await setUp()
      const controller = new AbortController()
      const abort = () => controller.abort(broken)
      const onProgress = how.includes('middle') ? abort : undefined
      const { signal } = controller

      const failed = shop.import(file(abort), { signal, ...(onProgress && { onProgress }) })

      await assert.rejects(failed, how.includes('strings') ? TypeError : broken)
      assert.deepEqual(await shop.all(), [])
      assert.equal((await shop.import(`${HEADER}\n${row('tx_1')}`)).added, 1)
    })
  }
})

test('an import that waits for another one can be aborted', async () => {
  const storage = await openStorage()
  const shop = await setUp({ storage })
  const other = await storage.openImport(shop.store, 'imp_other')
  const controller = new AbortController()

  const waiting = shop.import(`${HEADER}\n`, { signal: controller.signal })
  controller.abort()

  await assert.rejects(waiting, { name: 'AbortError' })
  await other?.abort()
})

test('progress is reported after each chunk: bytes, and rows once checked', async () => {
  const shop = await setUp()
  const chunks = [`${HEADER}\n`, rowsOf(3000), row('last')].map((each) => Buffer.from(each))
  const reports: { bytes: number; rows: number }[] = []

  await shop.import(chunksOf(chunks), { onProgress: (progress) => reports.push(progress) })

  const [first = 0, second = 0, third = 0] = chunks.map(({ length }) => length)
  assert.deepEqual(pluck(reports, 'bytes'), [first, first + second, first + second + third])
  const counted = pluck(reports, 'rows')
  assert.ok(counted.every((rows, i) => rows >= (counted[i - 1] ?? 0)))
  assert.ok((counted[1] ?? 0) > 0)
})

for (const isGood of [true, false]) {
  const first = isGood ? 'succeeds' : 'fails'
  test(`a second import into a store waits until the first one ${first}`, async () => {
    const shop = await setUp()
    const [reached, opened] = [createSignal(), createSignal()]
    async function* gated() {
      yield Buffer.from(`${HEADER}\n`)
      reached.give()
      await opened.given
      yield Buffer.from(isGood ? row('tx_1') : `tx_1,silver,${AT}\n`)
    }
    let begun = false
    async function* second() {
      begun = true
      yield Buffer.from(`${HEADER}\n${row('tx_1')}${row('tx_2')}`)
    }

    const imported = shop.import(gated())
    imported.catch(() => {}) // asserted below
    await reached.given
    const other = shop.import(second())
    await shop.import(`${HEADER}\n${row('elsewhere')}`, { store_id: 'side' })
    assert.equal(begun, false)
    opened.give()

    if (isGood) assert.equal((await imported).added, 1)
    else await assert.rejects(imported, { code: 'invalid_purchases' })
    const { added, skipped } = await other
    assert.deepEqual([added, skipped], isGood ? [1, 1] : [2, 0])
    assert.deepEqual(pluck(await shop.all(), 'transaction_id'), ['tx_1', 'tx_2'])
  })
}

/** A shop whose stores `main` and `side` sell different items. */
async function setUp(options: { readonly storage?: Storage } = {}) {
  const { till, account, project_id, store, token } = await createShop(options)
  const createItem = (store_id: string, name: string) =>
    till.items.create(account, {
      ...{ store_id, name, display_name: name, price: '1', type: 'consumable' },
    })
  const createStore = async (store_id: string, status = 'active') => {
    await till.stores.create(account, { project_id, store_id, status, store_type: 'web' })
    for (const name of ['gold', 'sword']) await createItem(store_id, name)
  }
  await createItem('main', 'gem')
  await createStore('side')

  type Options = Parameters<typeof till.purchases.import>[1]
  return {
    ...{ till, account, store, token, createStore },
    import(
      file: string | AsyncIterable<Uint8Array>,
      options: Partial<Omit<Options, 'file'>> = {},
    ): Promise<ImportResult> {
      const stream = typeof file === 'string' ? fileOf(file) : file
      return till.purchases.import(account, { store_id: 'main', ...options, file: stream })
    },
    all: () => collect(till.purchases.all(account, { store_id: 'main' })),
  }
}

async function* chunksOf(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks
}

function countsOf({ rows, added, skipped, updated }: ImportResult) {
  return { rows, added, skipped, updated }
}
