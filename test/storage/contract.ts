import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { JsonObject } from '../../lib/domain/fields.ts'
import type { Project } from '../../lib/domain/project.ts'
import type { NewPurchase, Purchase } from '../../lib/domain/purchase.ts'
import type { PurchaseFilter } from '../../lib/domain/query.ts'
import type { PurchaseImport, Storage, StoreKey } from '../../lib/storage/port.ts'
import {
  describeAtomicity,
  describeBuckets,
  describeCredentials,
  describeItemPages,
  describeTrails,
  newEntry,
} from './contract-trails.ts'
import {
  AT,
  awkwardObject,
  FOREIGN,
  insertAccounts,
  insertProjects,
  insertShops,
  insertStores,
  itemsOf,
  MAIN,
  newAccount,
  newItem,
  newKey,
  newProject,
  newRow,
  newStore,
  SIDE,
  stage,
} from './fixtures/records.ts'

/** Opens an empty storage for one test, and closes it after. */
export type OpenStorage = (t: TestContext) => Promise<Storage>

interface SuiteOptions {
  /** The reason to pass over it. */
  readonly skip?: string | false
  /** Whether a write can fail halfway; true unless told. */
  readonly isDatabase?: boolean
}

/** The suite that every adapter passes. */
export function describeStorage(name: string, open: OpenStorage, options: SuiteOptions = {}): void {
  describe(name, { skip: options.skip ?? false }, () => {
    describe('accounts', () => describeAccounts(open))
    describe('projects', () => describeProjects(open))
    describe('stores', () => describeStores(open))
    describe('items', () => describeItems(open))
    describe('imports', () => describeImports(open))
    describe('imports of known transactions', () => describeRepeats(open))
    describe('imports side by side', () => describeTurns(open))
    describe('pages of purchases', () => describePages(open))
    describe('signing keys', () => describeSigningKeys(open))
    describe('credentials', () => describeCredentials(open))
    describe('pages of items', () => describeItemPages(open))
    describe('trails', () => describeTrails(open))
    if (options.isDatabase ?? true) describe('changes', () => describeAtomicity(open))
    describe('buckets', () => describeBuckets(open))
  })
}

function describeAccounts(open: OpenStorage): void {
  test('an account comes back unchanged, by its id and by the hash of its key', async (t) => {
    const storage = await open(t)
    const account = newAccount('acc_1', { name: 'Stüdio 日本 \u{1F600} \u2028 "quoted"' })

    await storage.insertAccount(account, newKey('acc_1', 'hash-1'))

    assert.deepEqual(await storage.findAccount('acc_1'), account)
    assert.deepEqual(await storage.findAccountByKeyHash('hash-1'), {
      ...account,
      key_id: 'key_hash-1',
    })
  })

  test('an unknown id and an unknown hash find nothing', async (t) => {
    const storage = await open(t)
    await storage.insertAccount(newAccount('acc_1'), newKey('acc_1', 'hash-1'))

    assert.equal(await storage.findAccount('acc_2'), undefined)
    assert.equal(await storage.findAccount('hash-1'), undefined)
    assert.equal(await storage.findAccountByKeyHash('hash-2'), undefined)
    assert.equal(await storage.findAccountByKeyHash('acc_1'), undefined)
  })

  test('accounts are listed in order of creation, whatever their ids', async (t) => {
    const storage = await open(t)
    assert.deepEqual(await storage.listAccounts(), [])

    for (const id of ['acc_c', 'acc_a', 'acc_b']) {
      await storage.insertAccount(newAccount(id), newKey(id, `hash-${id}`))
    }

    const listed = await storage.listAccounts()
    assert.deepEqual(listed, [newAccount('acc_c'), newAccount('acc_a'), newAccount('acc_b')])
  })

  test('changing an account outside does not change the stored one', async (t) => {
    const storage = await open(t)
    const account = newAccount('acc_1')
    await storage.insertAccount(account, newKey('acc_1', 'hash-1'))

    rename(account)
    rename(await storage.findAccount('acc_1'))
    rename(await storage.findAccountByKeyHash('hash-1'))
    rename((await storage.listAccounts())[0])

    assert.deepEqual(await storage.findAccount('acc_1'), newAccount('acc_1'))
  })
}

function describeProjects(open: OpenStorage): void {
  test('a project comes back unchanged, by its id and by its public key', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    const project = newProject('prj_1', { config: awkwardObject() })

    await storage.insertProject(project)

    assertUnchanged(await storage.findProject('prj_1'), project)
    assertUnchanged(await storage.findProjectByPublicKey('pk_prj_1'), project)
  })

  test('an unknown id and an unknown public key find nothing', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    await storage.insertProject(newProject('prj_1'))

    assert.equal(await storage.findProject('pk_prj_1'), undefined)
    assert.equal(await storage.findProjectByPublicKey('prj_1'), undefined)
  })

  test("an account's projects are listed in order of creation, without another's", async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    assert.deepEqual(await storage.listProjects('acc_1'), [])

    await storage.insertProject(newProject('prj_c'))
    await storage.insertProject(newProject('prj_other', { account_id: 'acc_2' }))
    await storage.insertProject(newProject('prj_a'))

    const listed = await storage.listProjects('acc_1')
    assert.deepEqual(listed, [newProject('prj_c'), newProject('prj_a')])
    assert.deepEqual(await storage.listProjects('acc_3'), [])
  })

  test('an update replaces the fields that changed, and resolves to the new project', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    await storage.insertProject(newProject('prj_1', { config: { old: true } }))
    await storage.insertProject(newProject('prj_2'))
    const change = {
      name: 'New',
      platform: 'ios',
      status: 'disabled',
      dlscheme: 'game',
      config: awkwardObject(),
    }

    const updated = await storage.updateProject('prj_1', (current) => ({ ...current, ...change }))

    assertUnchanged(updated, newProject('prj_1', change))
    assertUnchanged(await storage.findProject('prj_1'), newProject('prj_1', change))
    assert.deepEqual(await storage.findProject('prj_2'), newProject('prj_2'))
  })

  test('an updated project keeps its place in the list', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    await storage.insertProject(newProject('prj_1'))
    await storage.insertProject(newProject('prj_2'))

    await storage.updateProject('prj_1', (current) => ({ ...current, name: 'New' }))

    const names = (await storage.listProjects('acc_1')).map(({ id, name }) => [id, name])
    assert.deepEqual(names, [
      ['prj_1', 'New'],
      ['prj_2', 'Game'],
    ])
  })

  test('an update of an unknown project is undefined, and its change is not asked for', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)

    const updated = await storage.updateProject('prj_1', () => assert.fail('asked'))

    assert.equal(updated, undefined)
    assert.equal(await storage.findProject('prj_1'), undefined)
  })

  test('a change that throws passes through and changes nothing', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    await storage.insertProject(newProject('prj_1'))
    const refused = new Error('refused')

    const update = storage.updateProject('prj_1', () => {
      throw refused
    })

    await assert.rejects(update, refused)
    assert.deepEqual(await storage.findProject('prj_1'), newProject('prj_1'))
    await storage.updateProject('prj_1', (current) => ({ ...current, name: 'Later' }))
    assert.equal((await storage.findProject('prj_1'))?.name, 'Later')
  })

  test('of a hundred updates at once none is lost', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    await storage.insertProject(newProject('prj_1', { config: { seen: [] } }))
    const numbers = Array.from({ length: 100 }, (_, number) => number)

    const add = (number: number) =>
      storage.updateProject('prj_1', (current) => {
        const seen = [...(current.config.seen as number[]), number]
        return { ...current, config: { seen } }
      })
    await Promise.all(numbers.map(add))

    const seen = (await storage.findProject('prj_1'))?.config.seen as number[]
    assert.deepEqual(
      seen.toSorted((a, b) => a - b),
      numbers,
    )
  })

  test('changing a project outside does not change the stored one', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    const project = newProject('prj_1', { config: { list: ['kept'] } })
    const expected = structuredClone(project)
    const spoilProject = (found: Project | undefined) => {
      rename(found)
      append(found?.config)
    }
    await storage.insertProject(project)

    spoilProject(project)
    spoilProject(await storage.findProject('prj_1'))
    spoilProject(await storage.findProjectByPublicKey('pk_prj_1'))
    spoilProject((await storage.listProjects('acc_1'))[0])
    spoilProject(await storage.updateProject('prj_1', (current) => ({ ...current })))
    await assert.rejects(
      storage.updateProject('prj_1', (current) => {
        spoilProject(current)
        throw new Error('refused')
      }),
    )

    assert.deepEqual(await storage.findProject('prj_1'), expected)
  })
}

function describeStores(open: OpenStorage): void {
  test('a store comes back unchanged, a sandbox as a sandbox', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    const main = newStore('main', { store_config: awkwardObject() })
    const sandbox = newStore('sandbox', { is_sandbox: true, store_type: 'iap', status: 'paused' })

    assert.equal(await storage.insertStore(main), 'inserted')
    assert.equal(await storage.insertStore(sandbox), 'inserted')

    assertUnchanged(await storage.findStore('acc_1', 'main'), main)
    assertUnchanged(await storage.findStore('acc_1', 'sandbox'), sandbox)
  })

  test('a store_id is unique in its account: a second is false and leaves the first', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    await storage.insertStore(newStore('main'))

    const again = newStore('main', { project_id: 'prj_2', store_type: 'custom' })
    assert.equal(await storage.insertStore(again), 'taken')

    assert.deepEqual(await storage.findStore('acc_1', 'main'), newStore('main'))
    assert.deepEqual(await storage.listStores('prj_2'), [])
  })

  test('two accounts may each have a store of one id, and find their own', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    const foreign = newStore('main', { account_id: 'acc_2', project_id: 'prj_foreign' })

    assert.equal(await storage.insertStore(newStore('main')), 'inserted')
    assert.equal(await storage.insertStore(foreign), 'inserted')

    assert.deepEqual(await storage.findStore('acc_1', 'main'), newStore('main'))
    assert.deepEqual(await storage.findStore('acc_2', 'main'), foreign)
    assert.equal(await storage.findStore('acc_3', 'main'), undefined)
  })

  test('store ids differ by case', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)

    assert.equal(await storage.insertStore(newStore('main')), 'inserted')
    assert.equal(await storage.insertStore(newStore('Main')), 'inserted')

    assert.deepEqual(await storage.findStore('acc_1', 'Main'), newStore('Main'))
    assert.equal(await storage.findStore('acc_1', 'MAIN'), undefined)
  })

  test("a project's stores are listed in order of creation, without another's", async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    assert.deepEqual(await storage.listStores('prj_1'), [])

    await storage.insertStore(newStore('c'))
    await storage.insertStore(newStore('other', { project_id: 'prj_2' }))
    await storage.insertStore(newStore('a'))

    assert.deepEqual(await storage.listStores('prj_1'), [newStore('c'), newStore('a')])
  })

  test('changing a store outside does not change the stored one', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    const store = newStore('main', { store_config: { list: ['kept'] } })
    const expected = structuredClone(store)
    await storage.insertStore(store)

    append(store.store_config)
    append((await storage.findStore('acc_1', 'main'))?.store_config)
    append((await storage.listStores('prj_1'))[0]?.store_config)

    assert.deepEqual(await storage.findStore('acc_1', 'main'), expected)
  })
}

function describeItems(open: OpenStorage): void {
  test('an item comes back unchanged, with the greatest price there is', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    const item = newItem('gold', {
      display_name: 'Gold 日本 \u{1F600}',
      description: 'line\nline\ttab \u2028 \u007f \\ " \'',
      price: Number.MAX_SAFE_INTEGER,
      metadata: awkwardObject(),
    })

    assert.equal(await storage.insertItem(item), 'inserted')

    assertUnchanged(await storage.findItem('itm_gold'), item)
    assertUnchanged((await itemsOf(storage, MAIN))[0], item)
  })

  test('an unknown id finds nothing', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    await storage.insertItem(newItem('gold'))

    assert.equal(await storage.findItem('gold'), undefined)
  })

  test('a name is unique in its store: a second is false and leaves no trace', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    await storage.insertItem(newItem('gold'))

    const again = newItem('gold', { id: 'itm_again', display_name: 'Again' })
    assert.equal(await storage.insertItem(again), 'taken')

    assert.deepEqual(await itemsOf(storage, MAIN), [newItem('gold')])
    assert.equal(await storage.findItem('itm_again'), undefined)
  })

  test('of two that add one name at once, one succeeds', async (t) => {
    const storage = await open(t)
    await insertStores(storage)

    const inserted = await Promise.all([
      storage.insertItem(newItem('gold', { id: 'itm_1' })),
      storage.insertItem(newItem('gold', { id: 'itm_2' })),
    ])

    assert.deepEqual(inserted.toSorted(), ['inserted', 'taken'])
    assert.equal((await itemsOf(storage, MAIN)).length, 1)
  })

  test('other stores, also one of that id in another account, may have the name', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    const side = newItem('gold', { id: 'itm_side', store_id: 'side' })
    const foreign = newItem('gold', {
      id: 'itm_foreign',
      account_id: 'acc_2',
      project_id: 'prj_foreign',
    })

    assert.equal(await storage.insertItem(newItem('gold')), 'inserted')
    assert.equal(await storage.insertItem(side), 'inserted')
    assert.equal(await storage.insertItem(foreign), 'inserted')

    assert.deepEqual(await itemsOf(storage, MAIN), [newItem('gold')])
    assert.deepEqual(await itemsOf(storage, SIDE), [side])
    assert.deepEqual(await itemsOf(storage, FOREIGN), [foreign])
    assert.deepEqual(await storage.findItem('itm_foreign'), foreign)
  })

  test("a store's items are listed in order of creation, whatever their names", async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    assert.deepEqual(await itemsOf(storage, MAIN), [])

    for (const name of ['c', 'B', 'a', '_']) await storage.insertItem(newItem(name))

    const names = (await itemsOf(storage, MAIN)).map(({ name }) => name)
    assert.deepEqual(names, ['c', 'B', 'a', '_'])
  })

  test('changing an item outside does not change the stored one', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    const item = newItem('gold', { metadata: { list: ['kept'] } })
    const expected = structuredClone(item)
    await storage.insertItem(item)

    append(item.metadata)
    append((await storage.findItem('itm_gold'))?.metadata)
    append((await itemsOf(storage, MAIN))[0]?.metadata)

    assert.deepEqual(await storage.findItem('itm_gold'), expected)
    assert.deepEqual(await itemsOf(storage, MAIN), [expected])
  })
}

function describeImports(open: OpenStorage): void {
  test('rows come back as purchases, unchanged, what they lack still lacking', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const full = newRow(2, {
      transaction_id: 'tx 日本 \u{1F600} "quoted", comma',
      user_id: 'player',
      quantity: 1_000_000,
      price: Number.MAX_SAFE_INTEGER,
      currency: 'USD',
      status: 'refunded',
      metadata: awkwardObject(),
    })
    const before1970 = newRow(3, { purchased_at: -62_135_596_800_000 })
    const free = newRow(4, { price: 0, currency: 'EUR' })
    const current = await openImport(storage, MAIN, 'imp_1')

    const staged = await stage(current, [full, before1970, free])
    await current.commit()

    assert.deepEqual(staged, { added: 3, skipped: 0, updated: 0, conflicts: [] })
    const purchases = [full, before1970, free].map((row) => purchaseOf(row, 'imp_1'))
    assertUnchanged((await storage.listPurchases(MAIN, {}, { limit: 10 })).purchases, purchases)
  })

  test('staged rows are not seen before the commit, and all of them are after it', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const current = await openImport(storage, MAIN, 'imp_1')

    await stage(current, [newRow(2), newRow(3)])
    assert.deepEqual(await storage.listPurchases(MAIN, {}, { limit: 10 }), { purchases: [] })
    await stage(current, [newRow(4)])
    assert.deepEqual(await storage.listPurchases(MAIN, {}, { limit: 10 }), { purchases: [] })
    await current.commit()

    assert.deepEqual(await transactions(storage, MAIN), ['tx_2', 'tx_3', 'tx_4'])
  })

  test('rows whose sku names no item of this very store are named and left out', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await storage.insertItem(newItem('side_only', { store_id: 'side' }))
    const odd = ['side_only', 'GOLD', 'gol', '%', "gold' OR '1'='1", '"], "gold', '日本 \u{1F600}']
    const current = await openImport(storage, MAIN, 'imp_1')

    const rows = [newRow(2), ...odd.map((sku, index) => newRow(index + 3, { sku })), newRow(99)]
    const staged = await stage(current, rows)
    await current.commit()

    assert.deepEqual(staged.unknown, [3, 4, 5, 6, 7, 8, 9])
    assert.equal(staged.added, 2)
    assert.deepEqual(await transactions(storage, MAIN), ['tx_2', 'tx_99'])
  })

  test('ids in any order, in one slice or many, are added and told apart alike', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const current = await openImport(storage, MAIN, 'imp_1')
    const ids = Array.from({ length: 5000 }, (_, index) => `tx_${(index * 7919) % 5003}_é`)
    const rows = ids.map((transaction_id, index) => newRow(index + 2, { transaction_id }))
    const half = rows.length / 2

    const told = []
    for (const slice of [rows.slice(0, half), rows.slice(half), rows.slice(1000, 1500)]) {
      told.push(await current.stage(slice))
    }
    told.push(await current.finish())
    await current.commit()
    const added = told.reduce((sum, each) => sum + each.added, 0)
    const skipped = told.reduce((sum, each) => sum + each.skipped, 0)

    assert.deepEqual([added, skipped], [5000, 500])
    const pages = (await readPages(storage, MAIN, 1000)).flat()
    assert.deepEqual(
      pages.map(({ transaction_id }) => transaction_id),
      ids,
    )
  })

  const filters: readonly (readonly [filter: PurchaseFilter, lines: readonly number[]])[] = [
    [{}, [2, 3, 4, 5]],
    [{ user_id: 'ann' }, [2, 4]],
    [{ sku: 'gem' }, [3]],
    [{ status: 'refunded' }, [4]],
    [{ from: 2_000 }, [3, 4, 5]],
    [{ to: 4_000 }, [2, 3]],
    [{ from: 2_000, to: 4_000 }, [3]],
    [{ user_id: 'ann', status: 'refunded', sku: 'gold', from: 1, to: 9_000 }, [4]],
    [{ user_id: 'nobody' }, []],
  ]
  for (const [filter, lines] of filters) {
    test(`purchases are found by ${JSON.stringify(filter)}, on one page or many`, async (t) => {
      const storage = await open(t)
      await insertShops(storage)
      await importRows(storage, MAIN, 'imp_1', [
        newRow(2, { user_id: 'ann', purchased_at: 1_000 }),
        newRow(3, { user_id: 'bob', purchased_at: 2_000, sku: 'gem' }),
      ])
      await importRows(storage, MAIN, 'imp_2', [
        newRow(4, { user_id: 'ann', purchased_at: 4_000, status: 'refunded' }),
        newRow(5, { purchased_at: 5_000 }),
      ])
      await importRows(storage, SIDE, 'imp_3', [newRow(9, { user_id: 'ann', sku: 'gem' })])

      for (const limit of [1, 10]) {
        const pages = await readPages(storage, MAIN, limit, filter)
        const found = pages.flat().map(({ transaction_id }) => transaction_id)
        assert.deepEqual(
          found,
          lines.map((line) => `tx_${line}`),
        )
      }
    })
  }

  test('an abort leaves nothing, and its transactions can be imported anew', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const first = await openImport(storage, MAIN, 'imp_1')
    await stage(first, [newRow(2, { transaction_id: 'tx' })])

    await first.abort()
    assert.deepEqual(await transactions(storage, MAIN), [])

    const second = await openImport(storage, MAIN, 'imp_2')
    const row = newRow(2, { transaction_id: 'tx', sku: 'gem' })
    const staged = await stage(second, [row])
    await second.commit()
    assert.deepEqual(staged, { added: 1, skipped: 0, updated: 0, conflicts: [] })
    const { purchases } = await storage.listPurchases(MAIN, {}, { limit: 10 })
    assert.deepEqual(purchases, [purchaseOf(row, 'imp_2')])
  })

  test('an abort takes back twelve thousand rows and leaves what was there before', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importRows(storage, MAIN, 'imp_1', [newRow(2, { transaction_id: 'before' })])
    const current = await openImport(storage, MAIN, 'imp_2')
    const rows = Array.from({ length: 12_000 }, (_, number) => newRow(number + 2))
    assert.equal((await stage(current, rows)).added, 12_000)

    await current.abort()

    assert.deepEqual(await transactions(storage, MAIN), ['before'])
    const again = await importRows(storage, MAIN, 'imp_3', rows.slice(0, 5))
    assert.equal(again.added, 5)
  })

  test('an import of no rows ends, and adds nothing', async (t) => {
    const storage = await open(t)
    await insertShops(storage)

    await (await openImport(storage, MAIN, 'imp_1')).commit()
    await (await openImport(storage, MAIN, 'imp_2')).abort()
    const last = await openImport(storage, MAIN, 'imp_3')
    const staged = await stage(last, [])
    await last.commit()

    assert.deepEqual(staged, { added: 0, skipped: 0, updated: 0, conflicts: [] })
    assert.deepEqual(await transactions(storage, MAIN), [])
  })

  test('what others write during an import is seen at once and survives its abort', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const current = await openImport(storage, MAIN, 'imp_1')
    await stage(current, [newRow(2)])

    await storage.insertItem(newItem('sword'))
    await storage.insertStore(newStore('late'))
    await storage.updateProject('prj_1', (project) => ({ ...project, name: 'Renamed' }))
    assert.deepEqual(await storage.findItem('itm_sword'), newItem('sword'))
    await stage(current, [newRow(3)])
    await current.abort()

    assert.deepEqual(await storage.findItem('itm_sword'), newItem('sword'))
    assert.deepEqual(await storage.findStore('acc_1', 'late'), newStore('late'))
    assert.equal((await storage.findProject('prj_1'))?.name, 'Renamed')
    assert.deepEqual(await transactions(storage, MAIN), [])
  })

  test('changing a row or a purchase outside does not change the stored one', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const row = newRow(2, { metadata: { list: ['kept'] } })
    const expected = structuredClone(purchaseOf(row, 'imp_1'))
    const current = await openImport(storage, MAIN, 'imp_1')

    await stage(current, [row])
    append(row.metadata)
    await current.commit()
    append((await storage.listPurchases(MAIN, {}, { limit: 1 })).purchases[0]?.metadata)

    const { purchases } = await storage.listPurchases(MAIN, {}, { limit: 1 })
    assert.deepEqual(purchases, [expected])
  })
}

function describeRepeats(open: OpenStorage): void {
  test('an identical row is skipped, and the stored purchase stays as it is', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const rows = [newRow(2, { price: 499, currency: 'USD', user_id: 'player' }), newRow(3)]
    await importRows(storage, MAIN, 'imp_1', rows)

    const again = await importRows(storage, MAIN, 'imp_2', [...rows, newRow(4)])

    assert.deepEqual(again, { added: 1, skipped: 2, updated: 0, conflicts: [] })
    const { purchases } = await storage.listPurchases(MAIN, {}, { limit: 10 })
    assert.deepEqual(purchases, [
      ...rows.map((row) => purchaseOf(row, 'imp_1')),
      purchaseOf(newRow(4), 'imp_2'),
    ])
  })

  test('a row repeated within one file is skipped, in one slice and in the next', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const current = await openImport(storage, MAIN, 'imp_1')
    const repeated = (line: number) => newRow(line, { transaction_id: 'tx' })

    const first = await stage(current, [repeated(2), repeated(3)])
    const second = await stage(current, [repeated(4), newRow(5)])
    await current.commit()

    assert.deepEqual(first, { added: 1, skipped: 1, updated: 0, conflicts: [] })
    assert.deepEqual(second, { added: 1, skipped: 1, updated: 0, conflicts: [] })
    assert.deepEqual(await transactions(storage, MAIN), ['tx', 'tx_5'])
  })

  test('a status that has moved on is seen after the commit only', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importRows(storage, MAIN, 'imp_1', [
      newRow(2, { status: 'pending' }),
      newRow(3, { status: 'purchased' }),
    ])
    const current = await openImport(storage, MAIN, 'imp_2')

    const staged = await stage(current, [
      newRow(2, { status: 'purchased' }),
      newRow(3, { status: 'refunded' }),
    ])
    assert.deepEqual(staged, { added: 0, skipped: 0, updated: 2, conflicts: [] })
    assert.deepEqual(await statuses(storage, MAIN), ['pending', 'purchased'])
    await current.commit()

    assert.deepEqual(await statuses(storage, MAIN), ['purchased', 'refunded'])
  })

  test('a purchase that has moved on keeps its place, its import and its metadata', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const pending = newRow(2, { status: 'pending', metadata: { from: 'first' } })
    await importRows(storage, MAIN, 'imp_1', [pending, newRow(3)])

    const later = newRow(9, { ...pending, status: 'purchased', metadata: { from: 'second' } })
    await importRows(storage, MAIN, 'imp_2', [later])

    const { purchases } = await storage.listPurchases(MAIN, {}, { limit: 10 })
    assert.deepEqual(purchases, [
      { ...purchaseOf(pending, 'imp_1'), status: 'purchased' },
      purchaseOf(newRow(3), 'imp_1'),
    ])
  })

  test('an abort takes back the progress of statuses too', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importRows(storage, MAIN, 'imp_1', [newRow(2, { status: 'pending' })])
    const aborted = await openImport(storage, MAIN, 'imp_2')
    await stage(aborted, [newRow(2, { status: 'refunded' })])

    await aborted.abort()
    assert.deepEqual(await statuses(storage, MAIN), ['pending'])

    const third = await importRows(storage, MAIN, 'imp_3', [newRow(2, { status: 'cancelled' })])
    assert.equal(third.updated, 1)
    assert.deepEqual(await statuses(storage, MAIN), ['cancelled'])
  })

  test('a status may go all its way within one import, of stored rows and of new ones', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importRows(storage, MAIN, 'imp_1', [newRow(2, { status: 'pending' })])
    const step = (line: number, transaction_id: string, status: NewPurchase['status']) =>
      newRow(line, { transaction_id, status })
    const current = await openImport(storage, MAIN, 'imp_2')

    const first = await stage(current, [
      step(2, 'tx_2', 'purchased'),
      step(3, 'tx_new', 'pending'),
      step(4, 'tx_new', 'purchased'),
    ])
    const second = await stage(current, [
      step(5, 'tx_2', 'cancelled'),
      step(6, 'tx_new', 'refunded'),
      step(7, 'tx_new', 'pending'),
    ])
    await current.commit()

    assert.deepEqual(first, { added: 1, skipped: 0, updated: 2, conflicts: [] })
    assert.deepEqual(second, { added: 0, skipped: 1, updated: 2, conflicts: [] })
    assert.deepEqual(await statuses(storage, MAIN), ['cancelled', 'refunded'])
  })

  test('a status further back is skipped', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importRows(storage, MAIN, 'imp_1', [newRow(2, { status: 'refunded' })])

    const again = await importRows(storage, MAIN, 'imp_2', [newRow(2, { status: 'pending' })])

    assert.deepEqual(again, { added: 0, skipped: 1, updated: 0, conflicts: [] })
    assert.deepEqual(await statuses(storage, MAIN), ['refunded'])
  })

  const stored = { user_id: 'player', price: 499, currency: 'USD', quantity: 2 }
  const conflicts: { field: string; sent: Partial<NewPurchase> }[] = [
    { field: 'sku', sent: { ...stored, sku: 'gem' } },
    { field: 'user_id', sent: { ...stored, user_id: 'other' } },
    { field: 'user_id', sent: without(stored, 'user_id') },
    { field: 'price', sent: { ...stored, price: 500 } },
    { field: 'price', sent: without(stored, 'price', 'currency') },
    { field: 'currency', sent: { ...stored, currency: 'EUR' } },
    { field: 'quantity', sent: { ...stored, quantity: 3 } },
    { field: 'status', sent: { ...stored, status: 'cancelled' } },
  ]
  for (const { field, sent } of conflicts) {
    test(`a row that differs is a conflict: ${field} of ${JSON.stringify(sent)}`, async (t) => {
      const storage = await open(t)
      await insertShops(storage)
      const kept = newRow(2, { ...stored, transaction_id: 'tx', status: 'refunded' })
      await importRows(storage, MAIN, 'imp_1', [kept])
      const current = await openImport(storage, MAIN, 'imp_2')
      const other = newRow(7, { status: 'refunded', ...sent, transaction_id: 'tx' })

      const staged = await stage(current, [newRow(6), other, newRow(8)])
      await current.abort()

      assert.deepEqual(staged, {
        added: 2,
        skipped: 0,
        updated: 0,
        conflicts: [{ line: 7, field }],
      })
      const { purchases } = await storage.listPurchases(MAIN, {}, { limit: 10 })
      assert.deepEqual(purchases, [purchaseOf(kept, 'imp_1')])
    })
  }

  test('a row may conflict with one of the same file, in one slice and in the next', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const current = await openImport(storage, MAIN, 'imp_1')
    const row = (line: number, change: Partial<NewPurchase> = {}) =>
      newRow(line, { transaction_id: 'tx', ...change })

    const first = await stage(current, [row(2), row(3, { sku: 'gem' })])
    const second = await stage(current, [row(4, { quantity: 9 }), row(5)])

    assert.deepEqual(first.conflicts, [{ line: 3, field: 'sku' }])
    assert.deepEqual(second.conflicts, [{ line: 4, field: 'quantity' }])
    assert.equal(second.skipped, 1)
    await current.abort()
  })

  test('a status is judged by where this very import has left it', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importRows(storage, MAIN, 'imp_1', [newRow(2, { status: 'purchased' })])
    const current = await openImport(storage, MAIN, 'imp_2')

    await stage(current, [newRow(2, { status: 'refunded' })])
    const staged = await stage(current, [
      newRow(3, { transaction_id: 'tx_2', status: 'cancelled' }),
      newRow(4, { transaction_id: 'tx_2', status: 'refunded' }),
    ])

    assert.deepEqual(staged, {
      added: 0,
      skipped: 1,
      updated: 0,
      conflicts: [{ line: 3, field: 'status' }],
    })
    await current.abort()
  })

  test('a transaction is known to its own store only', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importRows(storage, MAIN, 'imp_1', [newRow(2)])

    const side = await importRows(storage, SIDE, 'imp_2', [newRow(2, { sku: 'gem' })])
    const foreign = await importRows(storage, FOREIGN, 'imp_3', [newRow(2, { quantity: 7 })])

    assert.deepEqual(side, { added: 1, skipped: 0, updated: 0, conflicts: [] })
    assert.deepEqual(foreign, { added: 1, skipped: 0, updated: 0, conflicts: [] })
    const { purchases } = await storage.listPurchases(MAIN, {}, { limit: 10 })
    assert.deepEqual(purchases, [purchaseOf(newRow(2), 'imp_1')])
    const { purchases: abroad } = await storage.listPurchases(FOREIGN, {}, { limit: 10 })
    assert.deepEqual(abroad, [purchaseOf(newRow(2, { quantity: 7 }), 'imp_3')])
  })
}

function describeTurns(open: OpenStorage): void {
  for (const ending of ['commit', 'abort'] as const) {
    test(`a store takes one import at a time: the next one after the ${ending}`, async (t) => {
      const storage = await open(t)
      await insertShops(storage)
      const first = await openImport(storage, MAIN, 'imp_1')

      assert.equal(await storage.openImport(MAIN, 'imp_2'), undefined)
      await stage(first, [newRow(2)])
      assert.equal(await storage.openImport(MAIN, 'imp_2'), undefined)
      await first[ending]()

      const second = await openImport(storage, MAIN, 'imp_2')
      assert.equal(await storage.openImport(MAIN, 'imp_3'), undefined)
      await second.abort()
    })
  }

  test('of five that open an import of one store at once, one gets it', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const ids = ['imp_1', 'imp_2', 'imp_3', 'imp_4', 'imp_5']

    const opened = await Promise.all(ids.map((id) => storage.openImport(MAIN, id)))

    const given = opened.filter((each) => each !== undefined)
    assert.equal(given.length, 1)
    await given[0]?.abort()
  })

  test('other stores import meanwhile, also one of that id in another account', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const main = await openImport(storage, MAIN, 'imp_1')
    const side = await openImport(storage, SIDE, 'imp_2')
    const foreign = await openImport(storage, FOREIGN, 'imp_3')

    await Promise.all([main, side, foreign].map((each) => stage(each, [newRow(2), newRow(3)])))
    await side.commit()
    await main.abort()
    assert.deepEqual(await transactions(storage, FOREIGN), [])
    await foreign.commit()

    assert.deepEqual(await transactions(storage, MAIN), [])
    assert.deepEqual(await transactions(storage, SIDE), ['tx_2', 'tx_3'])
    assert.deepEqual(await transactions(storage, FOREIGN), ['tx_2', 'tx_3'])
  })
}

function describePages(open: OpenStorage): void {
  for (const limit of [1, 2, 3, 6, 7]) {
    test(`pages of ${limit} hold every purchase once, in the order of import`, async (t) => {
      const storage = await open(t)
      await insertShops(storage)
      const rows = (...ids: string[]) =>
        ids.map((transaction_id, index) => newRow(index + 2, { transaction_id }))
      await importRows(storage, MAIN, 'imp_b', rows('z', 'm'))
      await (await openImport(storage, MAIN, 'imp_x')).abort()
      await importRows(storage, SIDE, 'imp_s', rows('side'))
      await importRows(storage, MAIN, 'imp_a', rows('y', 'm', 'b', 'a'))
      await importRows(storage, MAIN, 'imp_c', rows('c'))

      const pages = await readPages(storage, MAIN, limit)

      assert.deepEqual(
        pages.flat().map(({ transaction_id }) => transaction_id),
        ['z', 'm', 'y', 'b', 'a', 'c'],
      )
      assert.ok(pages.slice(0, -1).every((page) => page.length === limit))
      assert.equal(pages.length, Math.ceil(6 / limit))
    })
  }

  test('a store without purchases has one empty page', async (t) => {
    const storage = await open(t)
    await insertShops(storage)

    assert.deepEqual(await storage.listPurchases(MAIN, {}, { limit: 10 }), { purchases: [] })
  })

  test('what is imported while the pages are read comes at their end', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await importRows(storage, MAIN, 'imp_1', [newRow(2), newRow(3), newRow(4)])
    const first = await storage.listPurchases(MAIN, {}, { limit: 2 })

    await importRows(storage, MAIN, 'imp_2', [newRow(2, { transaction_id: 'late' })])
    const after = first.next ?? assert.fail('no next page')
    const second = await storage.listPurchases(MAIN, {}, { limit: 2, after })

    const ids = [...first.purchases, ...second.purchases].map((each) => each.transaction_id)
    assert.deepEqual(ids, ['tx_2', 'tx_3', 'tx_4', 'late'])
    assert.equal(second.next, undefined)
  })
}

function describeSigningKeys(open: OpenStorage): void {
  const secret = () => Uint8Array.from({ length: 32 }, (_, index) => (index * 37) & 0xff)
  const key = (kid: string) => ({ kid, secret: secret(), created_at: AT })

  test('of several first signing keys at once one is added, and none to a ring', async (t) => {
    const storage = await open(t)
    const keys = ['k1', 'k2', 'k3'].map((kid) => ({
      kid,
      secret: new Uint8Array(32).fill(1),
      created_at: AT,
    }))

    await Promise.all(keys.map((key) => storage.insertFirstSigningKey(key)))

    const ring = await storage.listSigningKeys()
    assert.deepEqual(
      ring.map(({ kid }) => kid),
      ['k1'],
    )
  })

  test('signing keys come back oldest first, byte for byte', async (t) => {
    const storage = await open(t)
    assert.deepEqual(await storage.listSigningKeys(), [])

    for (const kid of ['c', 'a', 'b']) await storage.insertSigningKey(key(kid))

    const listed = await storage.listSigningKeys()
    assert.deepEqual(
      listed.map((each) => ({ ...each, secret: Uint8Array.from(each.secret) })),
      [key('c'), key('a'), key('b')],
    )
  })

  test('signing keys are taken away by kid, and one that none has is passed over', async (t) => {
    const storage = await open(t)
    for (const kid of ['a', 'b', 'c', "'"]) await storage.insertSigningKey(key(kid))

    assert.deepEqual(await storage.rotateSigningKeys(key('d'), () => []), [])
    const chosen = ["'", 'a', 'gone', 'a', '%']
    assert.deepEqual(await storage.rotateSigningKeys(key('e'), () => chosen), chosen)

    assert.deepEqual(await kidsOf(storage), ['b', 'c', 'd', 'e'])
    await storage.insertSigningKey(key('a'))
    assert.deepEqual(await kidsOf(storage), ['b', 'c', 'd', 'e', 'a'])
  })

  test('a rotation chooses from all keys, the new one the last of them', async (t) => {
    const storage = await open(t)
    for (const kid of ['b', 'a']) await storage.insertSigningKey(key(kid))

    await storage.rotateSigningKeys(key('new'), (keys) => {
      assert.deepEqual(
        keys.map((each) => ({ ...each, secret: Uint8Array.from(each.secret) })),
        [key('b'), key('a'), key('new')],
      )
      return ['b']
    })

    assert.deepEqual(await kidsOf(storage), ['a', 'new'])
  })

  test('of rotations at once that drop all others, one key is left', async (t) => {
    const storage = await open(t)
    await storage.insertSigningKey(key('old'))

    await Promise.all(
      ['a', 'b', 'c', 'd'].map((own) =>
        storage.rotateSigningKeys(key(own), (keys) =>
          keys.map(({ kid }) => kid).filter((kid) => kid !== own),
        ),
      ),
    )

    assert.equal((await kidsOf(storage)).length, 1)
  })

  test('a rotation that fails leaves the ring and the audit log as they were', async (t) => {
    const storage = await open(t)
    await storage.insertSigningKey(key('a'))
    const refuse = () => {
      throw new Error('refused')
    }

    const audit = newEntry()
    await assert.rejects(storage.rotateSigningKeys(key('b'), refuse, { audit }))

    assert.deepEqual(await kidsOf(storage), ['a'])
    assert.deepEqual((await storage.listAudit(undefined, { limit: 10 })).entries, [])
  })

  test('changing a secret outside does not change the stored one', async (t) => {
    const storage = await open(t)
    const inserted = key('a')
    await storage.insertSigningKey(inserted)

    inserted.secret.fill(0)
    const [found] = await storage.listSigningKeys()
    found?.secret.fill(0)

    const [stored] = await storage.listSigningKeys()
    assert.deepEqual(Uint8Array.from(stored?.secret ?? []), secret())
  })
}

async function kidsOf(storage: Storage): Promise<string[]> {
  return (await storage.listSigningKeys()).map(({ kid }) => kid)
}

/** The purchase in the store `main` that a row becomes. */
function purchaseOf({ line: _, ...row }: NewPurchase, import_id: string): Purchase {
  return { store_id: 'main', import_id, ...row }
}

async function openImport(
  storage: Storage,
  store: StoreKey,
  import_id: string,
): Promise<PurchaseImport> {
  const opened = await storage.openImport(store, import_id)
  return opened ?? assert.fail('another import is under way')
}

async function importRows(
  storage: Storage,
  store: StoreKey,
  import_id: string,
  rows: readonly NewPurchase[],
) {
  const current = await openImport(storage, store, import_id)
  const staged = await stage(current, rows)
  await current.commit()
  return staged
}

/** The ids of a store's purchases, of which there are fewer than 1000. */
async function transactions(storage: Storage, store: StoreKey): Promise<string[]> {
  const { purchases } = await storage.listPurchases(store, {}, { limit: 1000 })
  return purchases.map(({ transaction_id }) => transaction_id)
}

async function statuses(storage: Storage, store: StoreKey): Promise<string[]> {
  const { purchases } = await storage.listPurchases(store, {}, { limit: 1000 })
  return purchases.map(({ status }) => status)
}

async function readPages(
  storage: Storage,
  store: StoreKey,
  limit: number,
  filter: PurchaseFilter = {},
): Promise<Purchase[][]> {
  const pages: Purchase[][] = []
  let next: string | undefined
  do {
    const page = await storage.listPurchases(
      store,
      filter,
      next ? { limit, after: next } : { limit },
    )
    pages.push(page.purchases)
    next = page.next
  } while (next && pages.length < 100)
  return pages
}

/** Also the order of keys in free-form objects, and that `__proto__` is one of them. */
function assertUnchanged(actual: unknown, expected: unknown): void {
  assert.deepEqual(actual, expected)
  assert.deepEqual(freeFormText(actual), freeFormText(expected))
}

function freeFormText(record: unknown): string[] {
  const records = (Array.isArray(record) ? record : [record]) as JsonObject[]
  return records.map(({ config, store_config, metadata }) =>
    JSON.stringify(config ?? store_config ?? metadata),
  )
}

function rename(record: { readonly name: string } | undefined): void {
  spoil(() => Object.assign(record ?? assert.fail('no record'), { name: 'spoilt' }))
}

function append(freeForm: JsonObject | undefined): void {
  const list = freeForm?.list as string[]
  spoil(() => list.push('spoilt'))
}

/** A record may be frozen: then no one can spoil it. */
function spoil(change: () => unknown): void {
  try {
    change()
  } catch (error) {
    assert.ok(error instanceof TypeError)
  }
}

function without<T extends object>(record: T, ...keys: (keyof T)[]): Partial<T> {
  const kept = Object.entries(record).filter(([key]) => !keys.includes(key as keyof T))
  return Object.fromEntries(kept) as Partial<T>
}
