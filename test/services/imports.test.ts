import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import { createMemoryStorage } from '../../lib/index.ts'
import { collect } from '../support/collect.ts'
import { createShop, fileOf } from '../support/till.ts'

const HEADER = 'transaction_id,sku,purchased_at,price,status\n'
const row = (id: string, status = 'purchased') => `${id},gold,2024-03-01T12:34:56Z,499,${status}\n`

async function setUp() {
  const { till, account, account_id, store } = await createShop()
  const load = (csv: string, fileName?: string) =>
    till.purchases.import(account, { store_id: 'main', file: fileOf(HEADER, csv), fileName })
  const ids = async () => {
    const purchases = await collect(till.purchases.all(account, { store_id: 'main' }))
    return purchases.map(({ transaction_id }) => transaction_id)
  }
  const actions = async () => {
    const entries = await collect(till.operations.allAudit({ account_id }))
    return entries.map(({ action, subject }) => `${action} ${subject}`)
  }
  return { till, account, account_id, store, load, ids, actions }
}

describe('import records', () => {
  test('an import records its actor, time, file, counts and totals', async () => {
    const { till, account, load } = await setUp()
    await load(row('T-1', 'pending'))
    const csv = row('T-1') + row('T-2') + row('T-2') + row('T-3', 'refunded')

    const {
      import_id,
      ignored_columns: _,
      passed_over_reasons: __,
      unequal: ___,
      ...counts
    } = await load(csv, 'C:\\sales/mai.csv')

    const record = await till.imports.get(account, import_id)
    const { created_at, finished_at = '', ...rest } = record
    assert.deepEqual(rest, {
      import_id,
      store_id: 'main',
      actor: `key:${account.key_id}`,
      file_name: 'mai.csv',
      bytes: HEADER.length + csv.length,
      sha256: createHash('sha256').update(HEADER).update(csv).digest('hex'),
      ...counts,
    })
    assert.deepEqual([rest.rows, rest.added, rest.skipped, rest.updated], [4, 2, 1, 1])
    assert.ok(created_at <= finished_at, `${created_at} ${finished_at}`)
    const listed = await collect(till.imports.all(account, { store_id: 'main' }))
    assert.equal(listed.length, 2)
    assert.deepEqual(listed[1], record)
  })

  test('a recorded purchase prevents the undo of an earlier import until it is undone itself', async () => {
    const { till, account, account_id, load, ids } = await setUp()
    const { import_id } = await load(row('T-1', 'pending'))
    const purchase = { store_id: 'main', sku: 'gold', purchased_at: '2024-03-01T12:34:56Z' }
    const input = { ...purchase, transaction_id: 'T-1', price: 499 }
    await till.purchases.record(account, { ...input, status: 'purchased' })
    const undo = (id: string) => till.imports.undo(account, { import_id: id })
    const entries = await collect(till.operations.allAudit({ account_id }))
    const recorded = entries.find(({ action }) => action === 'purchases.record')
    const recording = String(recorded?.data?.import_id)

    await assert.rejects(undo(import_id), { code: 'undo_refused', message: /recorded purchase/ })
    const { layout, added, updated, totals } = await undo(recording)
    await undo(import_id)

    assert.deepEqual({ layout, added, updated }, { layout: '', added: 0, updated: 1 })
    assert.deepEqual(totals, [{ status: 'purchased', currency: 'USD', rows: 1, total: '499' }])
    assert.deepEqual(await ids(), [])
    const listed = await collect(till.imports.all(account, { store_id: 'main' }))
    assert.deepEqual(
      listed.map((each) => each.import_id),
      [import_id],
    )
  })

  test('the audit entries of an import and of its undo contain the store and the counts', async () => {
    const { till, account, account_id, store, load } = await setUp()
    const { import_id } = await load(row('T-1') + row('T-1'))
    await till.imports.undo(account, { import_id })

    const all = await collect(till.operations.allAudit({ account_id }))

    const entries = all.filter(({ subject }) => subject === import_id)
    const { project_id, store_id } = store
    const data = { rows: 2, added: 1, skipped: 1, updated: 0, passed_over: 0 }
    assert.deepEqual(
      entries.map((each) => [each.action, each.project_id, each.store_id, each.data]),
      [
        ['purchases.import', project_id, store_id, data],
        ['imports.undo', project_id, store_id, { rows: 2, added: 1, updated: 0 }],
      ],
    )
  })

  test('an undone import is marked, audited, and can be imported again', async () => {
    const { till, account, load, ids, actions } = await setUp()
    const { import_id } = await load(row('T-1') + row('T-2'))

    const undone = await till.imports.undo(account, { import_id })
    const again = await till.imports.undo(account, { import_id })

    assert.match(undone.undone_at ?? '', /Z$/)
    assert.deepEqual(again, undone)
    assert.deepEqual(await ids(), [])
    const entries = await actions()
    assert.equal(entries.filter((each) => each === `imports.undo ${import_id}`).length, 1)
    assert.equal((await load(row('T-2'))).added, 1)
  })

  test('an import that repeats an earlier one prevents its undo', async () => {
    const { till, account, load, ids, actions } = await setUp()
    const first = await load(row('T-1') + row('T-2'))
    const before = await actions()

    const second = await load(row('T-1') + row('T-2'))

    assert.deepEqual(await actions(), before)
    assert.equal((await till.imports.get(account, second.import_id)).skipped, 2)
    const { import_id } = first
    await assert.rejects(till.imports.undo(account, { import_id }), {
      code: 'undo_refused',
      message: /^2 rows of later imports .* repeat rows of this import: force removes these rows$/,
    })
    assert.deepEqual(await ids(), ['T-1', 'T-2'])
    await till.imports.undo(account, { import_id, force: true })
    assert.deepEqual(await ids(), [])
  })

  test('a refusal names the number of rows that a later import changed', async () => {
    const { till, account, load } = await setUp()
    const { import_id } = await load(row('T-1') + row('T-2'))
    await load(row('T-2', 'refunded'))

    await assert.rejects(till.imports.undo(account, { import_id, force: true }), {
      code: 'undo_refused',
      message:
        '1 row of the import was changed by a later import or recorded purchase; undo that one first',
    })
  })
})

test('a dry run and an empty file leave no record', async () => {
  const { till, account, load } = await setUp()
  const file = fileOf(HEADER, row('T-1'))

  await till.purchases.import(account, { store_id: 'main', file, dryRun: true })
  await load('')

  assert.deepEqual(await till.imports.list(account, { store_id: 'main' }), { imports: [] })
})

test('an import of an earlier version cannot be undone', async () => {
  const storage = createMemoryStorage()
  const { till, account, store } = await createShop({ storage })
  const old = await storage.openImport(store, 'imp_old')
  await old?.commit() // without details, as in earlier versions

  const undone = till.imports.undo(account, { import_id: 'imp_old', force: true })

  await assert.rejects(undone, { code: 'undo_refused', message: /earlier version/ })
})

test('a file name is cut to its last part and 255 characters', async () => {
  const { till, account, load } = await setUp()
  const nameOf = async (fileName: string) => {
    const { import_id } = await load(row('T-1'), fileName)
    return (await till.imports.get(account, import_id)).file_name
  }

  assert.equal(await nameOf('/home/me/a b.csv'), 'a b.csv')
  assert.equal(await nameOf(`${'\u{1F600}'.repeat(300)}.csv`), '\u{1F600}'.repeat(255))
  assert.equal(await nameOf('a\u0000\n\ud800.csv'), 'a\ufffd.csv')
  assert.equal(await nameOf(''), '')
})

test('unknown fields of an undo are refused', async () => {
  const { till, account } = await setUp()
  const request = { import_id: 'imp_1', forse: true }
  await assert.rejects(till.imports.undo(account, request), { code: 'invalid_request' })
})
