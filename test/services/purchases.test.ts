import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import {
  createMemoryStorage,
  type ImportResult,
  openSqliteStorage,
  type Storage,
} from '../../lib/index.ts'
import { collect, pluck } from '../support/collect.ts'
import { sqliteDrivers } from '../support/drivers.ts'
import { shortOf } from '../support/purchase-file.ts'
import { createSignal } from '../support/server.ts'
import { createShop, failureOf, fileOf } from '../support/till.ts'

type OpenStorage = () => Storage | Promise<Storage>

const HEADER = 'transaction_id,sku,purchased_at'
const AT = '2024-03-01T12:34:56Z'

/** A row with the columns of HEADER. */
const row = (id: string) => `${id},gold,${AT}\n`

/** The purchases in a file with two rows and all columns. */
const FULL = `transaction_id,sku,purchased_at,user_id,quantity,price,currency,status,metadata
tx_1,gold,${AT},player,3,499,EUR,pending,"{""a"":[1,{""b"":null}]}"
tx_2,gem,1709296496789,,,,,,
`
const FULL_PURCHASES = [
  {
    transaction_id: 'tx_1',
    sku: 'gold',
    purchased_at: new Date(AT).toISOString(),
    user_id: 'player',
    quantity: 3,
    price: 499,
    currency: 'EUR',
    status: 'pending',
    metadata: { a: [1, { b: null }] },
  },
  {
    transaction_id: 'tx_2',
    sku: 'gem',
    purchased_at: '2024-03-01T12:34:56.789Z',
    quantity: 1,
    status: 'purchased',
    metadata: {},
  },
]

describe('purchases', () => {
  const open = createMemoryStorage
  describe('of a good file', () => describeGoodFiles(open))
  describe('of a file with errors', () => describeMistakes(open))
  describe('that are stored already', () => describeRepeats(open))
  describe('of a dry run', () => describeDryRuns(open))
  describe('and the caller', () => describeCallers(open))
  describeMany('memory', open)
})

for (const { driver, skip } of await sqliteDrivers()) {
  const open = () => openSqliteStorage(':memory:', { driver })
  describe('purchases', { skip }, () => describeMany(`SQLite with ${driver}`, open))
}

/** Depends on when a storage takes turns. Contract tests compare the storages otherwise. */
function describeMany(name: string, open: OpenStorage): void {
  describe(`while the file is read into ${name}`, () => describeStreams(open))
  describe(`of concurrent imports into ${name}`, () => describeTurns(open))
}

function describeGoodFiles(open: OpenStorage): void {
  test('every row is stored with the id of its import', async (t) => {
    const shop = await setUp(t, open)

    const result = await shop.import(FULL)

    const { import_id, layout, passed_over, totals } = result
    assert.match(import_id, /^imp_/)
    assert.deepEqual([layout, passed_over], ['canonical', 0])
    assert.deepEqual(totals, [
      { status: 'pending', currency: 'EUR', rows: 1, total: '499' },
      { status: 'purchased', currency: '', rows: 1, total: '0' },
    ])
    assert.deepEqual(countsOf(result), {
      rows: 2,
      added: 2,
      skipped: 0,
      updated: 0,
      ignored_columns: [],
    })
    const expected = FULL_PURCHASES.map((each) => ({ ...each, store_id: 'main', import_id }))
    assert.deepEqual((await shop.list()).purchases, expected)
  })

  for (const header of [
    'purchase_id,item,date',
    ' Order_ID , item_name , created_at ',
    'Transaction_ID,Product_ID,Purchased_At',
  ]) {
    test(`columns may be named ${header}`, async (t) => {
      const shop = await setUp(t, open)

      await shop.import(`${header}\n${row('tx_1')}`)

      const [purchase] = (await shop.list()).purchases
      assert.deepEqual(
        [purchase?.transaction_id, purchase?.sku, purchase?.purchased_at],
        ['tx_1', 'gold', new Date(AT).toISOString()],
      )
    })
  }

  test('other columns are reported and not stored', async (t) => {
    const shop = await setUp(t, open)

    const { ignored_columns } = await shop.import(
      `email,transaction_id,Card Number,sku,purchased_at\nme@example.com,tx_1,4111,gold,${AT}\n`,
    )

    assert.deepEqual(ignored_columns, ['email', 'Card Number'])
    const text = JSON.stringify((await shop.list()).purchases)
    assert.ok(text.includes('tx_1') && !text.includes('me@example.com') && !text.includes('4111'))
  })

  test("a price without a currency is in the store's currency", async (t) => {
    const shop = await setUp(t, open)

    await shop.import(`${HEADER},price\ntx_1,gold,${AT},499\n`)

    const [purchase] = (await shop.list()).purchases
    assert.deepEqual([purchase?.price, purchase?.currency], [499, 'USD'])
  })

  test('all of five thousand rows are stored in order', async (t) => {
    const shop = await setUp(t, open)
    const ids = Array.from({ length: 5000 }, (_, index) => `tx_${(index * 7919) % 5000}`)

    const { rows, added } = await shop.import(`${HEADER}\n${ids.map(row).join('')}`)

    assert.deepEqual([rows, added], [5000, 5000])
    const purchases = await shop.all()
    assert.deepEqual(pluck(purchases, 'transaction_id'), ids)
  })
}

function describeMistakes(open: OpenStorage): void {
  // Each file has a good row on line 2 and a bad row on line 3, unless it says otherwise.
  const withColumn = (column: string, bad: string) =>
    `${HEADER},${column}\ngood,gold,${AT},\nbad,gold,${AT},${bad}\n`
  const withRow = (bad: string) => `${HEADER}\n${row('good')}${bad}\n`
  const rows: [string, string, ...string[]][] = [
    ['no header', '\n\r\n', '1 no_header'],
    ['a header without a column', 'sku,purchased_at\ngold,x\n', '1 transaction_id missing_column'],
    ['two columns of one name', withColumn('SKU', 'gold'), '1 SKU duplicate_column'],
    ['a column and its alias', withColumn('order_id', 'x'), '1 order_id duplicate_column'],
    ['a bad cell', withColumn('price', '4.99'), '3 price invalid'],
    ['a sku in other letters', withRow(`bad,GOLD,${AT}`), '3 sku unknown_sku'],
    ["another store's sku", withRow(`bad,sword,${AT}`), '3 sku unknown_sku'],
    ['a row too wide', withRow(`bad,gold,${AT},`), '3 wrong_width'],
    ['a quote never closed', withRow(`"bad,gold,${AT}`), '3 unclosed_quote'],
    [
      'an error after a cell of three lines',
      `${HEADER},user_id\n"a","gold",${AT},"x\ny\r\nz"\n\nbad,silver,${AT},\n`,
      '6 sku unknown_sku',
    ],
    [
      'columns by their other names',
      `Order_ID,Item,Date\nb,silver,now\n,gold,${AT}\nc,silver,${AT}\n`,
      '2 Item unknown_sku',
      '2 Date invalid',
      '3 Order_ID required',
      '4 Item unknown_sku',
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
  for (const [what, file, ...mistakes] of rows) {
    test(`is refused with ${what}`, async (t) => {
      const shop = await setUp(t, open)
      await shop.import(`${HEADER},user_id,quantity\nknown,gold,${AT},player,2\n`)
      const before = await shop.list()

      const { details, ...error } = await failureOf(shop.import(file))

      assert.deepEqual(details.map(shortOf), mistakes)
      assert.equal(error.code, 'invalid_purchases')
      assert.equal(error.kind, 'invalid')
      assert.equal(error.total, mistakes.length)
      assert.deepEqual(await shop.list(), before)
    })
  }

  test('lists all errors of a row together: in cells, item and transaction', async (t) => {
    const shop = await setUp(t, open)
    const header = `${HEADER},user_id,quantity,price,currency,status`
    await shop.import(`${header}\nknown,gold,${AT},ann,1,499,USD,\n`)
    const file = [
      header,
      `a,silver,${AT},,1,4.99,USD,`, // the item is unknown as well
      `,silver,now,,1,,,`,
      `known,gem,${AT},ann,1,4.99,USD,`, // not compared, as its price is not known
      `known,gold,now,bob,1,499,USD,`, // time and user
      `known,gold,${AT},ann,1,4.99,USD,`,
      `known,gold,${AT},ann,1,499,usd,paid`,
      `b,gold,${AT},ann,1,499,USD,`,
      `b,gem,now,ann,1,499,USD,`, // of a good row's transaction
      `c,gold,now,ann,1,499,USD,`,
      `c,gold,now,bob,1,499,USD,`, // of a bad row's transaction
    ]

    const failure = await failureOf(shop.import(file.join('\n')))

    assert.deepEqual(failure.details.map(shortOf), [
      '2 sku unknown_sku',
      '2 price invalid',
      '3 transaction_id required',
      '3 sku unknown_sku',
      '3 purchased_at invalid',
      '4 price invalid',
      '5 purchased_at invalid',
      '5 user_id transaction_conflict',
      '6 price invalid',
      '7 currency invalid',
      '7 status invalid',
      '9 sku transaction_conflict',
      '9 purchased_at invalid',
      '10 purchased_at invalid',
      '11 purchased_at invalid',
      '11 user_id transaction_conflict',
    ])
  })

  test('reports the cell errors of a thousand bad rows', async (t) => {
    const shop = await setUp(t, open)
    const bad = Array.from({ length: 1_200 }, (_, i) => `tx_${i},silver,now\n`).join('')
    let reported = 0

    const { total } = await failureOf(
      shop.import(`${HEADER}\n${bad}`, { onMistake: () => reported++ }),
    )

    assert.deepEqual([reported, total], [2_200, 2_200])
  })

  test('reports an empty row or a repeated header once', async (t) => {
    const shop = await setUp(t, open)
    const file = [HEADER, `a,gold,${AT}`, ',, ', HEADER, `b,gold,${AT}`, ',,']

    const { details } = await failureOf(shop.import(file.join('\n')))

    assert.deepEqual(details.map(shortOf), ['3 empty_row', '4 repeated_header', '6 empty_row'])
  })

  test('lists the first hundred errors and the total number', async (t) => {
    const shop = await setUp(t, open)
    // The storage checks slices of a thousand rows, so it finds errors later than the parser.
    const bad = (line: number) => (line % 2 === 0 ? `tx,silver,${AT}` : 'tx,gold,now')
    const lines = Array.from({ length: 6000 }, (_, index) =>
      index % 10 === 0 ? row(`tx_${index}`).trimEnd() : bad(index + 2),
    )

    const error = await failureOf(shop.import([HEADER, ...lines].join('\n')))

    const expected = Array.from({ length: 112 }, (_, index) => index + 2)
      .filter((line) => (line - 2) % 10 !== 0)
      .slice(0, 100)
      .map((line) => `${line} ${line % 2 === 0 ? 'sku unknown_sku' : 'purchased_at invalid'}`)
    assert.deepEqual(error.details.map(shortOf), expected)
    assert.equal(error.total, 5400)
    assert.equal(error.message, '5400 mistakes in the file, the first 100 are listed')
    assert.deepEqual((await shop.list()).purchases, [])
  })

  test('never quotes a cell', async (t) => {
    const shop = await setUp(t, open)
    const secret = 'S3CRET'
    const all = 'user_id,quantity,price,currency,status,metadata'
    const file = [
      `${HEADER},${all}`,
      `${secret},${secret},${secret},${secret},${secret},${secret},${secret},${secret},${secret}`,
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
}

function describeRepeats(open: OpenStorage): void {
  test('a repeated file changes nothing, and the result says so', async (t) => {
    const shop = await setUp(t, open)
    await shop.import(FULL)
    const before = await shop.list()

    const again = countsOf(await shop.import(FULL))

    assert.deepEqual(again, { rows: 2, added: 0, skipped: 2, updated: 0, ignored_columns: [] })
    assert.deepEqual(await shop.list(), before)
  })

  test('a refused file can be corrected and imported, and adds only the new rows', async (t) => {
    const shop = await setUp(t, open)
    await shop.import(`${HEADER}\n${row('tx_1')}`)
    const file = `${HEADER}\n${row('tx_1')}tx_2,silver,${AT}\n`

    await failureOf(shop.import(file))
    const { rows, added, skipped } = await shop.import(file.replace('silver', 'gold'))

    assert.deepEqual([rows, added, skipped], [2, 1, 1])
  })

  test('a status moves forward but not back', async (t) => {
    const shop = await setUp(t, open)
    const file = (...statuses: string[]) =>
      `${HEADER},status\n${statuses.map((status, i) => `tx_${i},gold,${AT},${status}\n`).join('')}`
    await shop.import(file('pending', 'pending', 'purchased', 'refunded'))

    const result = await shop.import(file('purchased', 'cancelled', 'pending', ''))

    const expected = { rows: 4, added: 0, skipped: 2, updated: 2, ignored_columns: [] }
    assert.deepEqual(countsOf(result), expected)
    const { purchases } = await shop.list()
    assert.deepEqual(pluck(purchases, 'status'), [
      'purchased',
      'cancelled',
      'purchased',
      'refunded',
    ])
  })

  test('a different final status is a conflict, and nothing of the file is stored', async (t) => {
    const shop = await setUp(t, open)
    await shop.import(`${HEADER},status\ntx_1,gold,${AT},refunded\ntx_2,gold,${AT},pending\n`)

    const file = `${HEADER},status\ntx_2,gold,${AT},purchased\ntx_1,gold,${AT},cancelled\n`
    const { details } = await failureOf(shop.import(file))

    assert.deepEqual(details.map(shortOf), ['3 status transaction_conflict'])
    const { purchases } = await shop.list()
    assert.deepEqual(pluck(purchases, 'status'), ['refunded', 'pending'])
  })
}

function describeDryRuns(open: OpenStorage): void {
  test('a good file is counted and not stored', async (t) => {
    const shop = await setUp(t, open)
    await shop.import(`${HEADER},status\ntx_1,gold,${AT},pending\n`)
    const before = await shop.list()
    const file = `${HEADER},status,x\ntx_1,gold,${AT},purchased,\ntx_2,gold,${AT},,\n`

    const counts = countsOf(await shop.import(file, { dryRun: true }))

    const expected = { rows: 2, added: 1, skipped: 0, updated: 1, ignored_columns: ['x'] }
    assert.deepEqual(counts, expected)
    assert.deepEqual(await shop.list(), before)
    const { added, updated } = await shop.import(file)
    assert.deepEqual([added, updated], [1, 1])
  })

  test('a bad file has the same errors as an import', async (t) => {
    const shop = await setUp(t, open)
    const file = `${HEADER}\n${row('tx_1')}tx_2,silver,${AT}\n`

    const dry = await failureOf(shop.import(file, { dryRun: true }))

    assert.deepEqual(await failureOf(shop.import(file)), dry)
  })
}

function describeCallers(open: OpenStorage): void {
  for (const status of ['disabled', 'archived']) {
    test(`a store that is ${status} refuses imports without reading the file`, async (t) => {
      const shop = await setUp(t, open)
      await shop.createStore('closed', status)
      const file = unreadable()

      await assert.rejects(shop.till.purchases.import(shop.account, { store_id: 'closed', file }), {
        code: 'store_inactive',
        kind: 'invalid',
      })
    })
  }

  test('a missing, bad or unknown store is refused without reading the file', async (t) => {
    const shop = await setUp(t, open)
    const stores: [unknown, string][] = [
      ['nowhere', 'unknown'],
      ['a/b', 'invalid'],
      [7, 'invalid'],
      [undefined, 'required'],
    ]
    for (const [store_id, expected] of stores) {
      const request = { store_id: store_id as string, file: unreadable() }
      const { details } = await failureOf(shop.till.purchases.import(shop.account, request))
      assert.deepEqual(
        details.map(({ field, code }) => [field, code]),
        [['store_id', expected]],
      )
    }
  })
}

function describeStreams(open: OpenStorage): void {
  test('no purchase is visible before the last byte, and all are after it', async (t) => {
    const shop = await setUp(t, open)
    const rows = Array.from({ length: 2500 }, (_, index) => row(`tx_${index}`))
    const seen: number[] = []
    async function* watched() {
      yield Buffer.from(`${HEADER}\n`)
      for (let at = 0; at < rows.length; at += 50) {
        yield Buffer.from(rows.slice(at, at + 50).join(''))
        seen.push((await shop.list({ limit: 1 })).purchases.length)
      }
    }

    await shop.import(watched())

    assert.deepEqual(new Set(seen), new Set([0]))
    assert.equal((await shop.all()).length, 2500)
  })

  test('an error while reading is passed on, and nothing is stored', async (t) => {
    const shop = await setUp(t, open)
    const broken = new Error('the connection is gone')
    const rows = Array.from({ length: 1500 }, (_, index) => row(`tx_${index}`)).join('')
    async function* file() {
      yield Buffer.from(`${HEADER}\n${rows}`)
      throw broken
    }

    await assert.rejects(shop.import(file()), broken)

    assert.deepEqual((await shop.list()).purchases, [])
    const { added } = await shop.import(`${HEADER}\n${row('tx_1')}`)
    assert.equal(added, 1)
  })

  test('chunks that are strings throw a TypeError, and nothing is stored', async (t) => {
    const shop = await setUp(t, open)
    const chunks = [`${HEADER}\n`, row('tx_1')] as unknown as Uint8Array[]

    await assert.rejects(shop.import(chunksOf(...chunks)), TypeError)

    assert.deepEqual((await shop.list()).purchases, [])
    assert.equal((await shop.import(`${HEADER}\n${row('tx_1')}`)).added, 1)
  })

  test('progress is reported after each chunk: bytes, and rows once checked', async (t) => {
    const shop = await setUp(t, open)
    const rows = Array.from({ length: 3000 }, (_, index) => row(`tx_${index}`)).join('')
    const chunks = [`${HEADER}\n`, rows, row('last')].map((each) => Buffer.from(each))
    const reports: { bytes: number; rows: number }[] = []

    await shop.import(chunksOf(...chunks), { onProgress: (progress) => reports.push(progress) })

    const [first = 0, second = 0, third = 0] = chunks.map(({ length }) => length)
    assert.deepEqual(pluck(reports, 'bytes'), [first, first + second, first + second + third])
    const counted = reports.map(({ rows }) => rows)
    assert.deepEqual(
      counted,
      counted.toSorted((a, b) => a - b),
    )
    assert.ok((counted[1] ?? 0) > 0)
  })
}

function describeTurns(open: OpenStorage): void {
  test('the second waits for the first, and sees its rows', async (t) => {
    const shop = await setUp(t, open)
    const gate = createGate()
    let begun = false
    async function* second() {
      begun = true
      yield Buffer.from(`${HEADER}\n${row('tx_1')}${row('tx_2')}`)
    }

    const first = shop.import(gate.hold(`${HEADER}\n`, row('tx_1')))
    await gate.reached
    const other = shop.import(second())
    await shop.import(`${HEADER}\n${row('elsewhere')}`, { store_id: 'side' })
    assert.equal(begun, false)
    gate.open()

    assert.equal((await first).added, 1)
    const { added, skipped } = await other
    assert.deepEqual([added, skipped], [1, 1])
    const { purchases } = await shop.list()
    assert.deepEqual(pluck(purchases, 'transaction_id'), ['tx_1', 'tx_2'])
  })

  test('the second proceeds when the first fails', async (t) => {
    const shop = await setUp(t, open)
    const gate = createGate()

    const first = failureOf(shop.import(gate.hold(`${HEADER}\n`, `tx_1,silver,${AT}\n`)))
    await gate.reached
    const second = shop.import(`${HEADER}\n${row('tx_1')}`)
    gate.open()

    assert.equal((await first).total, 1)
    assert.equal((await second).added, 1)
  })

  test('five concurrent imports of one file add its rows once', async (t) => {
    const shop = await setUp(t, open)
    const file = `${HEADER}\n${row('tx_1')}${row('tx_2')}`

    const results = await Promise.all(
      [file, file, file, file, file].map((each) => shop.import(each)),
    )

    const added = results.map((result) => result.added).sort()
    assert.deepEqual(added, [0, 0, 0, 0, 2])
    assert.equal((await shop.list()).purchases.length, 2)
  })
}

/** A shop whose stores `main` (USD; USD and EUR allowed) and `side` sell different items. */
async function setUp(t: TestContext, open: OpenStorage) {
  const storage = await open()
  t.after(() => storage.close())
  const { till, account, project_id, token } = await createShop({ storage })
  const config = { allowed_currencies: ['USD', 'EUR'] }
  await till.projects.update(account, { id: project_id, config })

  const createItem = (store_id: string, name: string) =>
    till.items.create(account, {
      store_id,
      name,
      display_name: name,
      price: '1',
      type: 'consumable',
    })
  const createStore = async (store_id: string, status = 'active') => {
    const store = { project_id, store_id, status, store_type: 'web' as const }
    await till.stores.create(account, store)
    for (const name of ['gold', 'gem']) await createItem(store_id, name)
  }
  await createItem('main', 'gem')
  await createStore('side')
  await createItem('side', 'sword')

  return {
    till,
    account,
    token,
    createStore,
    import(
      file: string | AsyncIterable<Uint8Array>,
      options: Omit<Parameters<typeof till.purchases.import>[1], 'store_id' | 'file'> & {
        store_id?: string
      } = {},
    ): Promise<ImportResult> {
      const stream = typeof file === 'string' ? fileOf(file) : file
      return till.purchases.import(account, { store_id: 'main', ...options, file: stream })
    },
    list: (request: { store_id?: string; limit?: number; cursor?: string } = {}) =>
      till.purchases.list(account, { store_id: 'main', ...request }),
    all: () => collect(till.purchases.all(account, { store_id: 'main' })),
  }
}

async function* chunksOf(...chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks
}

/** A file that fails the test when it is read. */
function unreadable(): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]: () => assert.fail('the file was read'),
  }
}

/** A file that stops before its last chunk until `open` is called. */
function createGate() {
  const reached = createSignal()
  const opened = createSignal()
  return {
    reached: reached.given,
    open: opened.give,
    async *hold(first: string, last: string): AsyncGenerator<Uint8Array> {
      yield Buffer.from(first)
      reached.give()
      await opened.given
      yield Buffer.from(last)
    },
  }
}

function countsOf({ rows, added, skipped, updated, ignored_columns }: ImportResult) {
  return { rows, added, skipped, updated, ignored_columns }
}
