import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ErrorDetail, TillError } from '../../lib/index.ts'
import { threadsOf } from '../support/threads.ts'
import { createShop, fileOf, memoryTill } from '../support/till.ts'

const HERE = Number.POSITIVE_INFINITY
const HEADER = 'transaction_id,sku,purchased_at,user_id,quantity,price,currency,status,metadata\n'
const AT = '2024-03-01T12:34:56Z'
const ALL_CELLS = `gold,${AT},Zoë 😀 "the" 1st,3,499,EUR,refunded,"{""a"":[1,""é""],""b"":{}}"\n`
const rows = (count: number, rowOf: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => rowOf(i)).join('')

/** Each has more rows than a chunk, except the last ones. */
const files: { readonly [what: string]: readonly string[] } = {
  'rows with all cells': [HEADER, rows(1_500, (i) => `T-${i},${ALL_CELLS.replace('"the"', 'of')}`)],
  'rows with required cells only': [HEADER, rows(3_000, (i) => `T-${i},gold,${AT},,,,,,\n`)],
  'repeated rows': [HEADER, rows(3_000, (i) => `T-${i % 900},gold,${AT},,,${i % 899},,,\n`)],
  'mistakes of all kinds': [
    HEADER,
    rows(3_000, (i) => `T-${i},${i % 7 ? 'gold' : 'silver'},${i % 5 ? AT : 'now'},,,,,,\n`),
    '\n,,,,,,,,\nT-x,gold\n"T-y\n',
  ],
  'more bad rows than are kept': [HEADER, rows(4_000, (i) => `T-${i},gold,,,,,,,\n`)],
  'unknown columns': ['a,b\n', rows(2_000, (i) => `${i},1\n`)],
  'a header only': [HEADER],
  'no bytes': [],
}

for (const [what, file] of Object.entries(files)) {
  test(`a file with ${what} has the same result with a thread and without`, async () => {
    const [threaded, here] = await Promise.all([load(0, file), load(HERE, file)])
    assert.deepEqual(threaded, here)
  })
}

test('a chunk that ends within a character or a row is read like any other', async () => {
  const bytes = Buffer.from(HEADER + `T-1,${ALL_CELLS.replace('"the"', 'of')}`.repeat(2))
  const single = Array.from(bytes, (byte) => Uint8Array.of(byte))
  const till = memoryTill({ importThreadBytes: 100 })
  const { account } = await createShop(till)
  const { added, skipped } = await till.purchases.import(account, {
    store_id: 'main',
    file: single,
  })
  assert.deepEqual([added, skipped], [1, 1])
})

test('only a large file starts a thread, and each thread ends', async (t) => {
  const threads = threadsOf(t)
  const small = [HEADER, rows(10, (i) => `T-${i},gold,${AT},,,,,,\n`)]
  await load(2_000, small)
  assert.equal(threads.length, 0)
  await load(200, small)
  await load(200, ['a,b\n', ...small])
  assert.deepEqual(
    threads.map(({ threadId }) => threadId),
    [-1, -1],
  )
})

test('the file is parsed here if the thread ends before it is ready', async (t) => {
  threadsOf(t, (thread) => void thread.terminate())
  const file = files['mistakes of all kinds'] ?? []
  assert.deepEqual(await load(0, file), await load(HERE, file))
})

test('an import fails and stores nothing if its thread ends', async (t) => {
  const threads = threadsOf(t)
  const till = memoryTill({ importThreadBytes: 0 })
  const { account } = await createShop(till)
  async function* endless() {
    yield Buffer.from(HEADER)
    for (let i = 0; ; i++) {
      yield Buffer.from(`T-${i},gold,${AT},,,,,,\n`)
      if (i === 2_000) void threads[0]?.terminate()
    }
  }
  const importing = till.purchases.import(account, { store_id: 'main', file: endless() })
  await assert.rejects(importing, /thread that parses the file has ended/)
  const { purchases } = await till.purchases.list(account, { store_id: 'main' })
  assert.deepEqual(purchases, [])
  const again = await till.purchases.import(account, {
    store_id: 'main',
    file: fileOf(HEADER, `T-1,gold,${AT},,,,,,\n`),
  })
  assert.equal(again.added, 1)
})

test('an option that is no size is refused', () => {
  assert.throws(() => memoryTill({ importThreadBytes: Number.NaN }), TypeError)
  assert.throws(() => memoryTill({ importThreadBytes: -1 }), TypeError)
})

/** Imports a file. Returns everything that its caller learns. */
async function load(importThreadBytes: number, file: readonly string[]) {
  const till = memoryTill({ importThreadBytes })
  const { account } = await createShop(till)
  const mistakes: ErrorDetail[] = []
  const onMistake = (mistake: ErrorDetail) => void mistakes.push(mistake)
  const request = { store_id: 'main', file: fileOf(...file), onMistake }
  const result = await till.purchases.import(account, request).then(
    ({ import_id: _, ...counts }) => counts,
    (error) => {
      assert.ok(error instanceof TillError, String(error))
      const { code, message, details, total } = error
      return { code, message, details, total }
    },
  )
  const { imports } = await till.imports.list(account, { store_id: 'main' })
  const hashes = imports.map(({ sha256, bytes }) => ({ sha256, bytes }))
  const { purchases } = await till.purchases.list(account, { store_id: 'main', limit: 50 })
  const stored = purchases.map(({ import_id: _, ...purchase }) => purchase)
  // A storage may find mistakes in earlier lines than the parser, and the slices differ.
  mistakes.sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || orderOf(a).localeCompare(orderOf(b)))
  return { result, mistakes, hashes, stored }
}

const orderOf = ({ column, code }: ErrorDetail) => `${column} ${code}`
