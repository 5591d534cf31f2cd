import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type Account,
  copyStorage,
  createTill,
  type Storage,
  type Till,
  TillError,
} from '../../lib/index.ts'
import { collect } from '../support/collect.ts'
import { allTargets } from '../support/targets.ts'
import { createShop } from '../support/till.ts'

const HEADER = 'transaction_id,sku,purchased_at,user_id,price,currency,status\n'

const rowOf = (id: string, status: string) => `${id},gold,1709296496,ann,499,USD,${status}\n`
const bytesOf = (...rows: [id: string, status: string][]) =>
  Buffer.from(rows.map(([id, status]) => rowOf(id, status)).join(''))

/** Makes imports of every kind. */
async function fill(till: Till): Promise<Account> {
  const { account } = await createShop(till)
  const importFile = async (fileName: string, ...parts: (Buffer | (() => Promise<void>))[]) => {
    const file = (async function* () {
      yield Buffer.from(HEADER)
      for (const part of parts) {
        if (typeof part === 'function') await part()
        else yield part
      }
    })()
    const { import_id } = await till.purchases.import(account, { store_id: 'main', file, fileName })
    return import_id
  }
  const record = async (transaction_id: string, status: 'pending' | 'purchased' | 'refunded') => {
    const { purchase } = await till.purchases.record(account, {
      store_id: 'main',
      transaction_id,
      sku: 'gold',
      purchased_at: '2024-03-01T12:34:56Z',
      user_id: 'ann',
      price: 499,
      currency: 'USD',
      status,
    })
    assert.equal(purchase?.transaction_id, transaction_id)
  }
  await importFile('a.csv', bytesOf(['t1', 'pending'], ['t2', 'purchased'], ['t3', 'purchased']))
  await record('r1', 'pending')
  await record('r2', 'pending')
  await record('t3', 'purchased') // skipped, which protects a.csv
  await record('t2', 'refunded')
  await importFile('empty.csv', bytesOf(['t1', 'pending']))
  // Recorded during an import that changes it: its import is newer, but listed first.
  await importFile(
    'b.csv',
    bytesOf(['t1', 'purchased'], ['b1', 'pending']),
    () => record('during', 'pending'),
    bytesOf(['during', 'purchased'], ['r1', 'purchased'], ['r2', 'pending']),
  )
  const undone = await importFile('c.csv', bytesOf(['c1', 'purchased'], ['b1', 'refunded']))
  await till.imports.undo(account, { import_id: undone })
  await importFile('d.csv', bytesOf(['b1', 'purchased'], ['d1', 'purchased']))
  return account
}

/** Everything that the library tells about imports and purchases. */
async function stateOf(till: Till, account: Account) {
  const imports = await collect(till.imports.all(account, { store_id: 'main' }))
  const purchases = await collect(till.purchases.all(account, { store_id: 'main' }))
  const recorded = [...new Set(purchases.map(({ import_id }) => import_id))]
  const shown = await Promise.all(recorded.map((id) => till.imports.get(account, id)))
  const of = await Promise.all(
    imports.map(({ import_id }) => till.purchases.list(account, { store_id: 'main', import_id })),
  )
  const owned = await till.purchases.owned(account, { store_id: 'main', user_id: 'ann' })
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

const targets = (await allTargets()).filter(({ name }) => !name.includes('node:sqlite'))
for (const from of targets) {
  for (const to of targets.filter((each) => each !== from)) {
    describe(`imports copied from ${from.name} to ${to.name}`, {
      skip: from.skip || to.skip,
    }, () => {
      test('are listed, shown and undone as before', async (t) => {
        const [source, target] = [await from.open(t), await to.open(t)]
        const original = tillOn(source)
        const account = await fill(original)
        await copyStorage(source, target)
        const copied = tillOn(target)
        const state = await stateOf(original, account)
        assert.deepEqual(await stateOf(copied, account), state)

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
            kinds.add(
              typeof outcome === 'string' ? outcome.replace(/^.* (changed|repeat).*/, '$1') : '',
            )
          }
          assert.deepEqual(await stateOf(copied, account), await stateOf(original, account))
        }
        assert.deepEqual([...kinds].toSorted(), ['', 'changed', 'repeat'])
        assert.deepEqual((await stateOf(copied, account)).purchases, [])
        assert.deepEqual(await target.check(), [])
      })
    })
  }
}
