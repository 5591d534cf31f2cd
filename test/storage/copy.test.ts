import assert from 'node:assert/strict'
import {
  copyStorage,
  createMemoryStorage,
  createTill,
  type Storage,
  type Till,
} from '../../lib/index.ts'
import { testOnEach as test } from '../support/databases.ts'
import { newPlace, type Place, type Row } from '../support/place.ts'
import { fill, HEADER } from '../support/storage/everything.ts'
import { purchasesIn } from '../support/storage/imports.ts'
import { MAIN } from '../support/storage/records.ts'
import { createShop, fileOf } from '../support/till.ts'

const NEVER = '9999-01-01T00:00:00.000Z'

async function createFilled(): Promise<Storage> {
  const storage = createMemoryStorage()
  await fill(storage)
  return storage
}

/** A storage with an account, many purchases, and many idempotency records. */
async function createLarge() {
  const source = createMemoryStorage()
  const { till, account, account_id } = await createShop(createTill({ storage: source }))
  const rows = Array.from(
    { length: 4_000 },
    (_, i) => `t${(i * 7919) % 4_000},gold,1709296496,u,,,\n`,
  )
  const file = fileOf(HEADER + rows.join(''))
  await till.purchases.import(account, { store_id: 'main', file })
  const times = { created_at: '2024-03-02T00:00:00.000Z', expires_at: NEVER }
  const writes = Array.from({ length: 2500 }, (_, i) => {
    const key = `key_${String((i * 7919) % 2500).padStart(4, '0')}`
    const answer = '{"text":"\\"\\u2028"}'
    return { idempotency: { account_id, key, fingerprint: 'f', answer, ...times } }
  })
  await source.insertAudit(...writes)
  return { source, store: { ...MAIN, account_id } }
}

/** For tests that do not change it. */
let filled: ReturnType<typeof createFilled> | undefined

test('a copy of many rows reports its progress', async (t) => {
  const { source, store } = await createLarge()
  const target = await newPlace(t).storage()
  const reported: number[] = []

  const { counts } = await copyStorage(source, target, (step, kind, count) => {
    if (step === 'copying' && kind === 'idempotency_records') reported.push(count)
  })

  assert.deepEqual([counts.purchases, counts.idempotency_records], [4_000, 2_500])
  assert.deepEqual(reported, [100, 2_100, 2_500])
  assert.deepEqual(await purchasesIn(target, store), await purchasesIn(source, store))
  assert.deepEqual(await target.check(), [])
})

test('a copy that was interrupted at any step leaves a target that nobody can use', async (t) => {
  filled ??= createFilled()
  const source = await filled
  const broken = new Error('the connection is lost')
  for (const method of ['insertRows', 'completeCopy', 'endCopy'] as const) {
    const place = newPlace(t)
    const target = await place.storage()
    const failing = { ...target, [method]: () => Promise.reject(broken) }

    await assert.rejects(copyStorage(source, failing as never), broken)

    const unfinished = { code: 'storage_unavailable', message: /a copy that was not finished/ }
    await assert.rejects(target.ping(), unfinished)
    await assert.rejects(place.storage(), unfinished)
    await assert.rejects(copyStorage(source, target), { code: 'invalid_request' })
  }
})

test('a copy is refused when the target has own records or keys, and does not change it', async (t) => {
  const source = await createFilled()
  const [target, keyed] = [await newPlace(t).storage(), await newPlace(t).storage()]
  await copyStorage(source, target)
  await createShop(createTill({ storage: target }), 'Late')
  await createShop(createTill({ storage: source }), 'Later')
  await createTill({ storage: keyed }).operator.rotateSigningKeys()
  const before = await target.listAudit(undefined, { limit: 1000 })

  for (const [from, to] of [
    [source, target],
    [target, source],
    [source, keyed],
  ] as const) {
    await assert.rejects(copyStorage(from, to), { code: 'invalid_request' })
    await to.ping()
  }
  assert.deepEqual(await target.listAudit(undefined, { limit: 1000 }), before)
})

test('a copy fails when the source changes during the copy', async (t) => {
  const source = await createFilled()
  const target = await newPlace(t).storage()
  const till = createTill({ storage: source })

  const copying = copyStorage(source, target, (step, kind) => {
    const isLast = step === 'copying' && kind === 'audit_entries'
    if (isLast) void till.accounts.create({ name: 'Late' })
  })
  await assert.rejects(copying, /instead of/)
})

test('a copy keeps filled values and their undo, and the deliveries that wait', async (t) => {
  const source = createMemoryStorage()
  const shop = await createShop(createTill({ storage: source }))
  const { account } = shop
  const load = (till: Till, line: string) =>
    till.purchases.import(account, { store_id: 'main', file: fileOf(HEADER + line) })
  await load(shop.till, 't1,gold,1709296496,,,,\nt2,gold,1709296496,,,,\n')
  const { import_id } = await load(shop.till, 't1,gold,1709296496,,499,USD,\n')
  const sale = { store_id: 'main', sku: 'gold', purchased_at: '1709296496' }
  await shop.till.purchases.record(account, { ...sale, transaction_id: 't1', user_id: 'ann' })
  const [first, second] = [newPlace(t), newPlace(t)]

  const copy = await first.storage()
  await copyStorage(source, copy)
  const again = await second.storage()
  await copyStorage(copy, again)

  for (const storage of [copy, again]) {
    const till = createTill({ storage })
    const main = { store_id: 'main' }
    const { purchases } = await till.purchases.list(account, { ...main, undelivered: true })
    assert.deepEqual(
      purchases.map(({ transaction_id, price }) => [transaction_id, price]),
      [['t1', 499]],
    )
    const key = { ...main, transaction_id: 't1' }
    const { deliveries } = await till.purchases.deliver(account, key)
    assert.equal(deliveries[0]?.outcome, 'delivered')
    await till.imports.undo(account, { import_id, force: true })
    const { owned } = await till.purchases.owned(account, { ...main, user_id: 'ann' })
    assert.equal(owned.length, 1)
    const list = await till.purchases.list(account, key)
    assert.equal(list.purchases[0]?.price, undefined)
    assert.deepEqual(await storage.check(), [])
  }
})

// A new table or column belongs into a copy, or into one of these lists with a reason.

const NOT_COPIED: { readonly [table: string]: string } = {
  purchase_changes: 'a source moves its rows into purchases before the copy',
  sqlite_sequence: 'is written by SQLite',
  tillkit_migrations: 'each database has its own',
  unfinished_copy: 'marks the target until the copy is finished',
  webhook_sender: 'names a process that sends from the source',
  webhook_messages: 'the endpoint reads the entries of waiting messages again',
}

/** The state of one server or database. */
const OWN_COLUMNS: { readonly [table: string]: readonly string[] } = {
  audit: ['xid'],
  imports: ['owner', 'alive_at', 'undoes'],
  webhook_endpoints: ['read_seq', 'read_xid', 'started', 'started_by'],
}

/** The rows of each table. */
async function tablesIn({ isPostgres, run }: Place): Promise<Map<string, readonly Row[]>> {
  const names = await run(
    isPostgres
      ? 'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY name'
      : "SELECT name FROM sqlite_schema WHERE type = 'table'",
  )
  const tables = new Map<string, readonly Row[]>()
  for (const { name } of names) tables.set(String(name), await run(`SELECT * FROM ${name}`))
  return tables
}

test('a copy has every row and column that is not expired, and a copy of the copy is equal', async (t) => {
  const [from, to] = [newPlace(t), newPlace(t)]
  const [source, target] = [await from.storage(), await to.storage()]
  await fill(source)
  const given = await tablesIn(from)
  const { records: accounts } = await source.listAccounts({ limit: 1 })
  const { account_id = '' } = accounts[0] ?? {}
  const old = '2024-03-01T00:00:00.000Z'
  const about = { account_id, fingerprint: 'f', answer: '{}', created_at: old }
  await source.insertAudit({ idempotency: { ...about, key: 'expired', expires_at: old } })

  const { checksum, counts } = await copyStorage(source, target)

  assert.deepEqual([counts.accounts, counts.idempotency_records], [2, 2])
  assert.equal((await copyStorage(target, createMemoryStorage())).checksum, checksum)
  const copied = await tablesIn(to)
  assert.deepEqual([...copied.keys()], [...given.keys()])
  for (const [table, rows] of given) {
    if (table in NOT_COPIED) continue
    const own = OWN_COLUMNS[table] ?? []
    const textsOf = (all: readonly Row[] = []) =>
      all
        .map((row) => Object.entries(row).filter(([column]) => !own.includes(column)))
        .map((cells) => JSON.stringify(cells))
        .toSorted()
    assert.notEqual(rows.length, 0, `the fixture has no rows for ${table}`)
    for (const column of Object.keys(rows[0] as Row)) {
      const hasValue = own.includes(column) || rows.some((row) => row[column] !== null)
      assert.ok(hasValue, `the fixture has no values for ${table}.${column}`)
    }
    assert.deepEqual(textsOf(copied.get(table)), textsOf(rows), `of ${table}`)
  }
  for (const table of ['imports', 'purchases', 'status_changes', 'import_overlaps']) {
    const whole = await target.readRows(table, { limit: 1000, now: '' })
    for (const [place, row] of whole.entries()) {
      const page = { after: whole[place - 1], limit: 1, now: '' }
      assert.deepEqual(await target.readRows(table, page), [row])
    }
  }
})
