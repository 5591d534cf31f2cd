import assert from 'node:assert/strict'
import type { Item } from '../../lib/domain/item.ts'
import type {
  CatalogChanges,
  ItemSelection,
  Storage,
  WriteOptions,
} from '../../lib/storage/port.ts'
import { catalogPages } from '../../lib/storage/sql/lists.ts'
import { testsOn } from '../support/databases.ts'
import {
  FOREIGN,
  insertShops,
  insertStores,
  MAIN,
  newItem,
  newStore,
  SIDE,
} from '../support/storage/records.ts'
import { openStorage } from '../support/till.ts'

const setPrice = (storage: Storage, name: string, price: number) =>
  storage.updateItem(`itm_${name}`, (item) => ({
    record: { ...item, price, version: item.version + 1 },
  }))

const test = testsOn(insertShops)

test('the revision changes with each new or changed item of the store, and not otherwise', async (storage) => {
  const revisionOf = async (store: ItemSelection = MAIN) =>
    (await storage.listItems(store, { limit: 1 })).revision
  const revisions = new Set([await revisionOf()])
  for (const change of [
    () => setPrice(storage, 'gold', 1),
    () => setPrice(storage, 'gem', 1),
    () => setPrice(storage, 'gold', 2),
    () => setPrice(storage, 'gold', 1),
    () => storage.insertItem(newItem('silver')),
  ]) {
    await change()
    revisions.add(await revisionOf())
  }
  assert.equal(revisions.size, 6)

  const last = await revisionOf()
  await storage.updateItem('itm_gold', (record) => ({ record }))
  await storage.insertItem(newItem('gold', { id: 'itm_again' }))
  await setPrice(storage, 'side_gold', 9)
  assert.equal(await revisionOf(), last)
  assert.equal(await revisionOf({ ...MAIN, archived: false }), last)
  assert.notEqual(await revisionOf(SIDE), await revisionOf(FOREIGN))
})

test('a database and its restored backup have other revisions after the same change', async (storage) => {
  const restored = await openStorage()
  await insertShops(restored)
  const revisionOf = async (from: Storage) => (await from.listItems(MAIN, { limit: 1 })).revision
  assert.equal(await revisionOf(restored), await revisionOf(storage))
  for (const each of [storage, restored]) await setPrice(each, 'gold', 1)
  assert.notEqual(await revisionOf(restored), await revisionOf(storage))
})

const NOTHING = { newStores: [], stores: [], newItems: [], items: [], entries: [] }

/** Changes of `prj_1`, based on its current state. */
async function changesOf(
  storage: Storage,
  changes: Partial<CatalogChanges>,
): Promise<CatalogChanges> {
  const state = (await storage.findCatalogState('prj_1')) as string
  return { project_id: 'prj_1', state, ...NOTHING, ...changes }
}

async function itemsIn(storage: Storage): Promise<Item[]> {
  const items: Item[] = []
  for await (const page of catalogPages((page) => storage.listItems(MAIN, page)))
    items.push(...page.items)
  return items
}

const testCatalog = testsOn(async (storage) => {
  await insertStores(storage)
  await storage.insertItem(newItem('gold', { metadata: { a: 1 } }))
})
const apply = async (storage: Storage, changes: Partial<CatalogChanges>) =>
  storage.applyCatalog(await changesOf(storage, changes))

testCatalog('a thousand items and more keep their order and their text', async (storage) => {
  const metadata = { 'a "b"\\': ['\u2028😀', 1e21, -0.5, null, true, {}], deep: { x: [[]] } }
  const odd = { display_name: '"\\n😀', description: "'\n\t", price: 2 ** 53 - 1, metadata }
  const newItems = Array.from({ length: 1_002 }, (_, i) =>
    newItem(`item_${i}`, { ...odd, store_id: i < 1_001 ? 'main' : 'side' }),
  )
  await apply(storage, { newItems })

  const records = (await itemsIn(storage)).slice(1)
  assert.deepEqual(records, newItems.slice(0, 1_001))
  const side = await storage.listItems(SIDE, { limit: 10 })
  assert.deepEqual(side.items, newItems.slice(1_001))

  const items = records.map((item) => ({
    ...item,
    version: 2,
    metadata: { ...metadata, id: item.id },
  }))
  await apply(storage, { items })
  assert.deepEqual((await itemsIn(storage)).slice(1), items)
})

testCatalog('a catalog is refused as a whole after another change', async (storage) => {
  const refuse = async (code: string, changes: CatalogChanges, write: WriteOptions = {}) =>
    assert.rejects(storage.applyCatalog(changes, write), { code })
  const newItems = [newItem('ruby')]
  for (const change of [
    () => storage.insertItem(newItem('late')),
    () => storage.insertStore(newStore('late')),
    () =>
      storage.updateProject('prj_1', (project) => ({ record: { ...project, status: 'disabled' } })),
    () => storage.updateStore(SIDE, (store) => ({ record: { ...store, is_sandbox: true } })),
    () => apply(storage, { items: [newItem('gold', { version: 2, price: 1 })] }),
  ]) {
    const planned = await changesOf(storage, { newItems })
    await change()
    await refuse('catalog_changed', planned)
  }
  const taken = [...newItems, newItem('gold', { id: 'itm_2' })]
  await refuse('catalog_changed', await changesOf(storage, { newItems: taken }))
  for (const version of [2, 7]) {
    const items = [newItem('gold', { version, price: 1 })]
    await refuse('catalog_changed', await changesOf(storage, { newItems, items }))
  }
  const newStores = await changesOf(storage, { newItems, newStores: [newStore('new')] })
  const quota = { account_id: 'acc_1', project_id: 'prj_1', stores: 2 }
  await refuse('quota_exceeded', newStores, { quota })

  assert.equal(await storage.findItem('itm_ruby'), undefined)
  assert.equal(await storage.findStore('acc_1', 'new'), undefined)
  assert.equal((await storage.findItem('itm_gold'))?.version, 2)
})
