import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { formatUnpriced } from '../../lib/index.ts'
import { collect, pluck } from '../support/collect.ts'
import { testOnEach as test } from '../support/databases.ts'
import { createShop, fileOf, openStorage } from '../support/till.ts'

const HEADER = 'transaction_id,sku,purchased_at,price,status\n'
const MAIN = { store_id: 'main' }
const row = (id: string, status = 'purchased') => `${id},gold,2024-03-01T12:34:56Z,499,${status}\n`

async function setUp() {
  const storage = await openStorage()
  const { till, account, account_id, store } = await createShop({ storage })
  return {
    ...{ storage, till, account, store },
    load: (csv: string, fileName?: string) =>
      till.purchases.import(account, { ...MAIN, file: fileOf(HEADER, csv), fileName }),
    undo: (import_id: string, force = false) => till.imports.undo(account, { import_id, force }),
    ids: async () =>
      pluck(await collect(till.purchases.all(account, MAIN)), 'transaction_id').join(),
    entries: () => collect(till.operator.allAudit({ account_id })),
  }
}

test('an import records its actor, time, file, counts and totals; a dry run and an empty file do not', async () => {
  const { till, account, load } = await setUp()
  await load(row('T-1', 'pending'))
  const csv = row('T-1') + row('T-2') + row('T-2') + row('T-3', 'refunded')

  const result = await load(csv, 'C:\\sales/mai.csv')
  await till.purchases.import(account, {
    ...MAIN,
    file: fileOf(HEADER, row('T-9')),
    dryRun: true,
  })
  assert.equal((await load('')).import_id, '')

  const {
    import_id,
    ignored_columns: _,
    passed_over_reasons: __,
    unequal: ___,
    first_purchased_at,
    last_purchased_at,
    ...summary
  } = result
  const at = '2024-03-01T12:34:56.000Z'
  assert.deepEqual([first_purchased_at, last_purchased_at], [at, at])
  const { repeated, repeated_lines, ...counts } = summary
  assert.deepEqual([repeated, repeated_lines], [1, [4]])
  const record = await till.imports.get(account, import_id)
  const { created_at, finished_at = '', ...rest } = record
  assert.deepEqual(rest, {
    ...{ import_id, store_id: 'main', actor: `key:${account.key_id}`, file_name: 'mai.csv' },
    bytes: HEADER.length + csv.length,
    sha256: createHash('sha256').update(HEADER).update(csv).digest('hex'),
    ...counts,
  })
  assert.deepEqual([rest.rows, rest.added, rest.skipped, rest.updated], [3, 2, 0, 1])
  assert.ok(created_at <= finished_at, `${created_at} ${finished_at}`)
  const listed = await collect(till.imports.all(account, MAIN))
  assert.deepEqual([listed.length, listed[1]], [2, record])
})

test('an undo removes the rows of an import once, with an audit entry, and they can be imported again', async () => {
  const { till, account, store, load, undo, ids, entries } = await setUp()
  const { import_id } = await load(row('T-1') + row('T-2') + row('T-1'))

  const undone = await undo(import_id)

  assert.match(undone.undone_at ?? '', /Z$/)
  assert.deepEqual(await undo(import_id), undone)
  assert.equal(await ids(), '')
  const { project_id, store_id } = store
  const data = { rows: 2, added: 2, skipped: 0, updated: 0, passed_over: 0 }
  const own = (await entries()).filter(({ subject }) => subject === import_id)
  assert.deepEqual(
    own.map((each) => [each.action, each.project_id, each.store_id, each.data]),
    [
      ['purchases.import', project_id, store_id, data],
      ['imports.undo', project_id, store_id, { rows: 2, added: 2, updated: 0 }],
    ],
  )
  assert.equal((await load(row('T-2'))).added, 1)
  const misspelt = till.imports.undo(account, { import_id, forse: true } as object as never)
  await assert.rejects(misspelt, { code: 'invalid_request' })
})

test('a later import, a repetition or a recorded purchase prevents the undo of an import', async () => {
  const { till, account, load, undo, ids, entries } = await setUp()
  const { import_id } = await load(row('T-1', 'pending') + row('T-2'))
  const refuses = (message: RegExp, force = false) =>
    assert.rejects(undo(import_id, force), { code: 'undo_refused', message })
  const purchase = { ...MAIN, sku: 'gold', purchased_at: '2024-03-01T12:34:56Z', price: 499 }
  await till.purchases.record(account, {
    ...purchase,
    transaction_id: 'T-1',
    status: 'purchased',
  })
  const record = (await entries()).find(({ action }) => action === 'purchases.record')

  const by =
    /^1 row of the import was changed by a later import or recorded purchase: undo rec_\w+ first$/
  await refuses(by, true)
  const { layout, added, updated, totals } = await undo(String(record?.data?.import_id))
  assert.deepEqual({ layout, added, updated }, { layout: '', added: 0, updated: 1 })
  assert.deepEqual(totals, [{ status: 'purchased', currency: 'USD', rows: 1, total: '499' }])

  const count = (await entries()).length
  const again = await load(row('T-1', 'pending') + row('T-2'))
  assert.equal((await entries()).length, count)
  assert.equal((await till.imports.get(account, again.import_id)).skipped, 2)
  await refuses(
    /^2 rows of later imports .* repeat or fill rows of this import: force undoes these rows too$/,
  )
  assert.equal(await ids(), 'T-1,T-2')
  await undo(import_id, true)
  assert.equal(await ids(), '')
  const listed = await collect(till.imports.all(account, MAIN))
  assert.deepEqual(pluck(listed, 'import_id'), [import_id, again.import_id])
})

test('an import of an earlier version cannot be undone', async () => {
  const { storage, store, undo } = await setUp()
  const old = await storage.openImport(store, 'imp_old')
  await old?.commit() // without details, as in earlier versions

  await assert.rejects(undo('imp_old', true), { code: 'undo_refused', message: /earlier version/ })
})

test('a file name is cut to its last part and 255 characters', async () => {
  const { till, account, load } = await setUp()
  for (const [given, stored] of [
    ['/home/me/a b.csv', 'a b.csv'],
    [`${'\u{1F600}'.repeat(300)}.csv`, '\u{1F600}'.repeat(255)],
    ['a\u0000\n\ud800.csv', 'a\ufffd.csv'],
    ['', ''],
  ] as const) {
    const { import_id } = await load(row('T-1'), given)
    assert.equal((await till.imports.get(account, import_id)).file_name, stored)
  }
})

// A file with all currencies had 70,304 totals, and a page of such imports used up the memory.
test('an import has at most 100 totals, and counts the other rows', async () => {
  const { till, account } = await createShop()
  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
  const currencies = letters.slice(0, 5).flatMap((one) => letters.map((two) => `X${one}${two}`))
  const rows = currencies.map((currency, i) => `T-${i},gold,2024-01-31T00:00:00Z,1,${currency}\n`)
  const often = Array.from({ length: 3 }, (_, i) => `U-${i},gold,2024-01-31T00:00:00Z,5,XEZ\n`)
  const file = fileOf('transaction_id,sku,purchased_at,price,currency\n', ...rows, ...often)

  const result = await till.purchases.import(account, { store_id: 'main', file })
  const record = await till.imports.get(account, result.import_id)
  for (const { totals = [], others } of [result, record]) {
    assert.deepEqual([totals.length, others], [100, 30])
    assert.deepEqual(totals[0], { status: 'purchased', currency: 'XEZ', rows: 4, total: '16' })
  }
})

test('the totals of 101 groups keep the rows without a price, of which a warning would say nothing', async () => {
  const { till, account } = await createShop()
  const letters = [...'ABCDEFGHIJ']
  const currencies = letters.flatMap((one) => letters.map((two) => `X${one}${two}`))
  const rows = currencies.flatMap((currency, i) =>
    ['T', 'U'].map((id) => `${id}-${i},gold,2024-01-31T00:00:00Z,1,${currency}\n`),
  )
  const unpriced = 'V-1,gold,2024-01-31T00:00:00Z,,\n'
  const file = fileOf('transaction_id,sku,purchased_at,price,currency\n', ...rows, unpriced)

  const { totals, others } = await till.purchases.import(account, { store_id: 'main', file })

  assert.deepEqual([totals.length, others], [100, 2])
  assert.equal(formatUnpriced(totals), 'Warning: 1 row has no price, and no sum counts them')
})

test('imports are listed newest first, page by page', async () => {
  const { till, account, load } = await setUp()
  for (const name of ['a.csv', 'b.csv', 'c.csv']) await load(row(name), name)
  const names: (string | undefined)[] = []
  let cursor: string | undefined
  do {
    const query = { ...MAIN, newest_first: true, limit: 2, cursor }
    const { imports, next } = await till.imports.list(account, query)
    names.push(...imports.map(({ file_name }) => file_name))
    cursor = next
  } while (cursor)
  assert.deepEqual(names, ['c.csv', 'b.csv', 'a.csv'])
})
