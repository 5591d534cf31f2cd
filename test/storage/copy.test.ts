import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type Account,
  copyStorage,
  createMemoryStorage,
  createTill,
  type Storage,
  type Till,
  TillError,
} from '../../lib/index.ts'
import { collect } from '../support/collect.ts'
import { createShop, fileOf } from '../support/till.ts'
import { fill, HEADER } from './fixtures/everything.ts'
import { purchasesIn } from './fixtures/imports.ts'
import { allPlaces, type Place } from './fixtures/places.ts'
import { MAIN } from './fixtures/records.ts'

const NEVER = '9999-01-01T00:00:00.000Z'

/** Makes the second insertion into a table fail. Returns the numbers of rows of all of them. */
function breakSecond(target: Storage, table: string): number[] {
  const { insertRows } = target
  const sizes: number[] = []
  target.insertRows = async (name, rows) => {
    if (name === table && sizes.push(rows.length) === 2) throw new Error('connection lost')
    await insertRows(name, rows)
  }
  return sizes
}

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
    { length: 12_000 },
    (_, i) => `t${(i * 7919) % 12_000},gold,1709296496,u,,,\n`,
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

let large: ReturnType<typeof createLarge> | undefined

const places = Object.entries(await allPlaces())

for (const [name, create] of places) {
  describe(`a copy into ${name}`, () => {
    test('has all records, and a copy of the copy is equal', async (t) => {
      const source = await createFilled()
      const target = await (await create(t)).open()

      const { counts, checksum } = await copyStorage(source, target)
      assert.deepEqual(counts, {
        ...{
          accounts: 2,
          account_keys: 6,
          key_uses: 2,
          projects: 2,
          former_public_keys: 4,
          stores: 2,
        },
        ...{ items: 6, imports: 10, purchases: 6, status_changes: 2, import_overlaps: 2 },
        ...{ erased_purchases: 4, signing_keys: 2, key_checks: 1, revocations: 4 },
        ...{ idempotency_records: 2, audit_entries: 47, webhook_endpoints: 2 },
      })
      const back = createMemoryStorage()
      assert.equal((await copyStorage(target, back)).checksum, checksum)
      assert.deepEqual(await target.check(), [])
    })

    test('leaves out expired idempotency records', async (t) => {
      const source = createMemoryStorage()
      const { account_id } = await createShop(createTill({ storage: source }))
      const old = '2024-03-01T00:00:00.000Z'
      const about = { account_id, fingerprint: 'f', answer: '{}', created_at: old }
      const kept = { ...about, key: 'b', expires_at: NEVER }
      const expired = { ...about, key: 'a', expires_at: old }
      await source.insertAudit({ idempotency: kept }, { idempotency: expired })
      const target = await (await create(t)).open()

      assert.equal((await copyStorage(source, target)).counts.idempotency_records, 1)
      assert.deepEqual(await target.findIdempotencyRecord(account_id, 'b'), kept)
    })

    test('of many rows reports its progress, and continues after the last block', async (t) => {
      large ??= createLarge()
      const { source, store } = await large
      const target = await (await create(t)).open()
      for (const table of ['purchases', 'idempotency_records']) {
        const sizes = breakSecond(target, table)
        await assert.rejects(copyStorage(source, target), { message: 'connection lost' })
        assert.deepEqual(sizes, [100, 2_000])
      }
      const reported: number[] = []

      const { counts } = await copyStorage(source, target, (step, kind, count) => {
        if (step === 'copying' && kind === 'idempotency_records') reported.push(count)
      })

      assert.deepEqual([counts.purchases, counts.idempotency_records], [12_000, 2_500])
      assert.equal(reported.at(-1), 2_500)
      assert.deepEqual(await purchasesIn(target, store), await purchasesIn(source, store))
      assert.deepEqual(await target.check(), [])
    })

    test('that was interrupted at any point is finished by the next one', async (t) => {
      const source = await createFilled()
      const target = await (await create(t)).open()
      const broken = new Error('the connection is lost')
      let left = 0
      const failing = { ...target } as Record<string, unknown>
      for (const method of ['insertRows', 'beginCopy', 'completeCopy', 'endCopy'] as const) {
        const work = target[method] as (...args: unknown[]) => Promise<unknown>
        failing[method] = async (...args: unknown[]) => {
          if (left-- <= 0) throw broken
          return work(...args)
        }
      }

      for (let allowed = 1; ; allowed += 3) {
        left = allowed
        try {
          await copyStorage(source, failing as never)
          break
        } catch (error) {
          assert.equal(error, broken)
          await assert.rejects(target.ping(), { message: /a copy that was not finished/ })
        }
      }
      await target.ping()
      const { checksum } = await copyStorage(source, target)
      assert.equal(checksum, (await copyStorage(source, createMemoryStorage())).checksum)
    })

    test('that was interrupted after its last row is finished by the next one', async (t) => {
      const source = await createFilled()
      const target = await (await create(t)).open()
      const broken = new Error('the connection is lost')
      const endCopy = () => Promise.reject(broken)

      await assert.rejects(copyStorage(source, { ...target, endCopy }), broken)
      const { checksum } = await copyStorage(source, target)

      assert.equal(checksum, (await copyStorage(source, createMemoryStorage())).checksum)
      assert.deepEqual(await target.check(), [])
    })

    test('fails without damage when another copy writes at the same time', async (t) => {
      const target = await (await create(t)).open()
      const { insertRows } = target
      target.insertRows = async (...args) => {
        await insertRows(...args)
        await insertRows(...args)
      }

      const copying = copyStorage(await createFilled(), target)
      await assert.rejects(copying, { code: 'storage_unavailable' })
    })

    test('is refused when the target changed since, and does not change it', async (t) => {
      const source = await createFilled()
      const target = await (await create(t)).open()
      await copyStorage(source, target)
      await createShop(createTill({ storage: target }), 'Late')
      await createShop(createTill({ storage: source }), 'Later')
      const before = await target.listAudit(undefined, { limit: 1000 })

      await assert.rejects(copyStorage(source, target), { code: 'invalid_request' })
      await assert.rejects(copyStorage(target, source), { code: 'invalid_request' })

      await target.ping()
      assert.deepEqual(await target.listAudit(undefined, { limit: 1000 }), before)
    })

    test('is refused when the target has its own signing keys or records', async (t) => {
      const source = await createFilled()
      const target = await (await create(t)).open()
      const till = createTill({ storage: target })
      for (const change of [() => till.operations.rotateSigningKeys(), () => createShop(till)]) {
        await change()
        await assert.rejects(copyStorage(source, target), { code: 'invalid_request' })
        await target.ping()
      }
    })

    test('fails when the source changes during the copy', async (t) => {
      const source = await createFilled()
      const target = await (await create(t)).open()
      const till = createTill({ storage: source })

      const copying = copyStorage(source, target, (step, kind) => {
        const isLast = step === 'copying' && kind === 'audit_entries'
        if (isLast) void till.accounts.create({ name: 'Late' })
      })
      await assert.rejects(copying, /instead of/)
    })
  })
}

type Status = 'pending' | 'purchased' | 'refunded'
const bytesOf = (...rows: [id: string, status: Status][]) =>
  Buffer.from(rows.map(([id, status]) => `${id},gold,1709296496,ann,499,USD,${status}\n`).join(''))

/** Makes imports of every kind. */
async function importAll(till: Till): Promise<Account> {
  const { account } = await createShop(till)
  const importFile = async (...parts: (Buffer | (() => Promise<void>))[]) => {
    const file = (async function* () {
      yield Buffer.from(HEADER)
      for (const part of parts) {
        if (typeof part === 'function') await part()
        else yield part
      }
    })()
    return (await till.purchases.import(account, { store_id: 'main', file })).import_id
  }
  const record = async (transaction_id: string, status: Status) => {
    const price = { price: 499, currency: 'USD' }
    const about = { sku: 'gold', purchased_at: '2024-03-01T12:34:56Z', user_id: 'ann', ...price }
    await till.purchases.record(account, { store_id: 'main', transaction_id, status, ...about })
  }
  await importFile(bytesOf(['t1', 'pending'], ['t2', 'purchased'], ['t3', 'purchased']))
  await record('r1', 'pending')
  await record('r2', 'pending')
  await record('t3', 'purchased') // skipped, which protects the first import
  await record('t2', 'refunded')
  await importFile(bytesOf(['t1', 'pending']))
  // Recorded during an import that changes it: its import is newer, but listed first.
  await importFile(
    bytesOf(['t1', 'purchased'], ['b1', 'pending']),
    () => record('during', 'pending'),
    bytesOf(['during', 'purchased'], ['r1', 'purchased'], ['r2', 'pending']),
  )
  const undone = await importFile(bytesOf(['c1', 'purchased'], ['b1', 'refunded']))
  await till.imports.undo(account, { import_id: undone })
  await importFile(bytesOf(['b1', 'purchased'], ['d1', 'purchased']))
  return account
}

/** Everything that the library tells about imports and purchases. */
async function stateOf(till: Till, account: Account) {
  const main = { store_id: 'main' }
  const imports = await collect(till.imports.all(account, main))
  const purchases = await collect(till.purchases.all(account, main))
  const recorded = [...new Set(purchases.map(({ import_id }) => import_id))]
  const shown = await Promise.all(recorded.map((id) => till.imports.get(account, id)))
  const of = await Promise.all(
    imports.map(({ import_id }) => till.purchases.list(account, { ...main, import_id })),
  )
  const owned = await till.purchases.owned(account, { ...main, user_id: 'ann' })
  return { imports, purchases, shown, of, owned }
}

async function undo(till: Till, account: Account, import_id: string, force: boolean) {
  try {
    return await till.imports.undo(account, { import_id, force })
  } catch (error) {
    if (error instanceof TillError) return error.message
    throw error
  }
}

/** Asserts that the rows of a copy are the same in pages of one row. */
async function assertPaged(storage: Storage): Promise<void> {
  for (const name of ['imports', 'purchases', 'status_changes', 'import_overlaps']) {
    const whole = await storage.readRows(name, { limit: 1000, now: '' })
    assert.ok(whole.length > 1)
    for (const [place, row] of whole.entries()) {
      const after = whole[place - 1]
      assert.deepEqual(await storage.readRows(name, { after, limit: 1, now: '' }), [row])
    }
  }
}

const tillOn = (storage: Storage) => createTill({ storage, now: () => 1_709_300_000_000 })

for (const [from, createSource] of places) {
  for (const [to, createTarget] of places.filter(([to]) => to !== from)) {
    test(`imports copied from ${from} to ${to} are listed, shown and undone as before`, async (t) => {
      const source = await (await createSource(t)).open()
      const target = await (await createTarget(t)).open()
      const [original, copied] = [tillOn(source), tillOn(target)]
      const account = await importAll(original)
      await copyStorage(source, target)
      assert.deepEqual(await stateOf(copied, account), await stateOf(original, account))

      await assertPaged(target)

      const imports = await source.readRows('imports', { limit: 100, now: '' })
      const ids = imports.map((row) => row[2] as string)
      assert.equal(ids.length, 9)
      const kinds = new Set<string>()
      // Each kind of refusal is met before everything is undone.
      for (const [force, order] of [
        [false, ids],
        [true, ids.toReversed()],
        [true, ids], // the import of a purchase that one changed may be the newer of the two
      ] as const) {
        for (const import_id of order) {
          const outcome = await undo(original, account, import_id, force)
          assert.deepEqual(await undo(copied, account, import_id, force), outcome)
          const text = typeof outcome === 'string' ? outcome : ''
          kinds.add(text.replace(/^.* (changed|repeat).*/, '$1'))
        }
        assert.deepEqual(await stateOf(copied, account), await stateOf(original, account))
      }
      assert.deepEqual([...kinds].toSorted(), ['', 'changed', 'repeat'])
      assert.deepEqual((await stateOf(copied, account)).purchases, [])
      assert.deepEqual(await target.check(), [])
    })
  }
}

// A new table or column belongs into a copy, or into one of these lists with a reason.

const NOT_COPIED: { readonly [table: string]: string } = {
  audit_archive: 'has rows only within a transaction',
  audit_pseudonym: 'has rows only within a transaction',
  cache_version: 'counts the changes of one file',
  purchase_changes: 'a source moves its rows into purchases before the copy',
  sqlite_sequence: 'is written by SQLite',
  tillkit_migrations: 'each database has its own',
  unfinished_copy: 'marks the target until the copy is finished',
  webhook_messages: 'the endpoint reads the entries of waiting messages again',
}

/** The state of one server or database. */
const OWN_COLUMNS: { readonly [table: string]: readonly string[] } = {
  audit: ['xid'],
  imports: ['owner', 'alive_at', 'undoes'],
  webhook_endpoints: ['read_seq', 'read_xid', 'started', 'started_by', 'holder', 'lease_until'],
}

type Row = { readonly [column: string]: unknown }

/** The rows of each table. */
async function tablesIn({ db, run }: Place): Promise<Map<string, readonly Row[]>> {
  const names = await run(
    db.startsWith('postgres:')
      ? 'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY name'
      : "SELECT name FROM sqlite_schema WHERE type = 'table'",
  )
  const tables = new Map<string, readonly Row[]>()
  for (const { name } of names) tables.set(String(name), await run(`SELECT * FROM ${name}`))
  return tables
}

for (const [name, create] of places) {
  test(`a copy has every row and column of ${name}`, async (t) => {
    const [from, to] = [await create(t), await create(t)]
    const [source, target] = [await from.open(), await to.open()]
    await fill(source)

    await copyStorage(source, target)

    const [given, copied] = [await tablesIn(from), await tablesIn(to)]
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
  })
}
