import assert from 'node:assert/strict'
import type { Item } from '../../../lib/domain/item.ts'
import { catalogPages, pagesOf } from '../../../lib/storage/pages.ts'
import type { CatalogChanges, ItemSelection, Storage } from '../../../lib/storage/port.ts'
import { importRows } from '../fixtures/imports.ts'
import {
  AT,
  FOREIGN,
  insertShops,
  insertStores,
  itemsOf,
  MAIN,
  newItem,
  newProject,
  newRow,
  newStore,
  SIDE,
} from '../fixtures/records.ts'
import { type OpenStorage, testsOn } from './open.ts'

const archive = (storage: Storage, name: string) =>
  storage.updateItem(`itm_${name}`, (item) => ({ ...item, archived_at: AT }))
const restore = (storage: Storage, name: string) =>
  storage.updateItem(`itm_${name}`, ({ archived_at: _, ...item }) => item)
const setPrice = (storage: Storage, name: string, price: number) =>
  storage.updateItem(`itm_${name}`, (item) => ({ ...item, price }))

async function pagesIn(storage: Storage, items: ItemSelection, limit: number): Promise<string[]> {
  const pages: string[] = []
  for await (const page of pagesOf((page) => storage.listItems(items, page), limit)) {
    pages.push(page.items.map(({ name }) => name).join(''))
  }
  return pages
}

export function describeItems(open: OpenStorage): void {
  const test = testsOn(open, insertShops)

  test('a name is unique in its store, also when it is archived, and free in other stores', async (storage) => {
    const again = newItem('gold', { id: 'itm_again', display_name: 'Again' })
    assert.equal(await storage.insertItem(again), 'taken')
    await archive(storage, 'gold')
    assert.equal(await storage.insertItem(again), 'taken')
    const inserted = await Promise.all([
      storage.insertItem(newItem('new', { id: 'itm_1' })),
      storage.insertItem(newItem('new', { id: 'itm_2' })),
    ])

    assert.deepEqual(inserted.toSorted(), ['inserted', 'taken'])
    assert.deepEqual(await pagesIn(storage, MAIN, 9), ['goldgemnew'])
    assert.equal(await storage.findItem('itm_again'), undefined)
    assert.equal((await storage.findItemByName(SIDE, 'gold'))?.id, 'itm_side_gold')
    assert.equal((await storage.findItemByName(FOREIGN, 'gold'))?.id, 'itm_foreign_gold')
    const { added } = await importRows(storage, MAIN, 'imp_1', [newRow(1)])
    assert.equal(added, 1, 'of an archived item')
  })

  test('a list has all items, the active ones, or the archived ones', async (storage) => {
    for (const name of ['c', 'B', 'a', '_']) await storage.insertItem(newItem(name))
    for (const name of ['gold', 'B', 'a']) await archive(storage, name)
    const listed = async () => {
      const lists = [undefined, true, false].map((archived) =>
        pagesIn(storage, { ...MAIN, ...(archived !== undefined && { archived }) }, 2),
      )
      return Promise.all(lists)
    }

    assert.deepEqual(await listed(), [
      ['goldgem', 'cB', 'a_'],
      ['goldB', 'a'],
      ['gemc', '_'],
    ])
    await restore(storage, 'B')

    assert.deepEqual((await listed()).slice(1), [['golda'], ['gemc', 'B_']])
    const after = { limit: 9, after: 'itm_a' }
    const { items } = await storage.listItems({ ...MAIN, archived: false }, after)
    assert.deepEqual(items, [newItem('_')])
  })

  test('a list of an unknown store, or of one outside the given project, is refused', async (storage) => {
    const page = { limit: 9 }
    const own = await storage.listItems(MAIN, page)

    assert.deepEqual(await storage.listItems({ ...MAIN, project_id: 'prj_1' }, page), own)
    for (const change of [
      ...['prj_2', 'prj_foreign', 'prj_nobody'].map((project_id) => ({ project_id })),
      { store_id: 'none' },
    ]) {
      const refused = storage.listItems({ ...MAIN, ...change }, page)
      await assert.rejects(refused, { code: 'store_not_found' })
    }
  })

  test('a page ends at 1 MiB of text, and has at least one item', async (storage) => {
    const text = (length: number) => ({ metadata: { text: 'x'.repeat(length) } })
    const items = [
      ...['a', 'b', 'c', 'd'].map((name) => newItem(name, text(400_000))),
      ...['e', 'f'].map((name) => newItem(name, text(1_500_000))),
      ...['g', 'h', 'i'].map((name) => newItem(name, { description: 'x'.repeat(400_000) })),
    ]
    const store = { account_id: 'acc_1', store_id: 'large' }
    await storage.insertStore(newStore('large'))
    for (const item of items) await storage.insertItem({ ...item, store_id: 'large' })

    assert.deepEqual(await pagesIn(storage, store, 100), ['abc', 'de', 'f', 'ghi'])
    assert.equal((await storage.listItems(store, { limit: 2 })).next, 'itm_b')
  })

  test('the revision changes with each new or changed item of the store, and not otherwise', async (storage) => {
    const revisionOf = async (store: ItemSelection = MAIN) =>
      (await storage.listItems(store, { limit: 1 })).revision
    const revisions = new Set([await revisionOf()])
    for (const change of [
      () => setPrice(storage, 'gold', 1),
      () => setPrice(storage, 'gem', 1),
      () => setPrice(storage, 'gold', 2),
      () => setPrice(storage, 'gold', 1),
      () => archive(storage, 'gem'),
      () => storage.insertItem(newItem('silver')),
      () => storage.insertItem(newItem('copper')),
      () => restore(storage, 'gem'),
    ]) {
      await change()
      revisions.add(await revisionOf())
    }
    assert.equal(revisions.size, 9)

    const last = await revisionOf()
    await storage.updateItem('itm_gold', (item) => item)
    await storage.insertItem(newItem('gold', { id: 'itm_again' }))
    await storage.insertItem(newItem('d', { store_id: 'side' }))
    await setPrice(storage, 'side_gold', 9)
    assert.equal(await revisionOf(), last)
    assert.equal(await revisionOf({ ...MAIN, archived: false }), last)
    assert.notEqual(await revisionOf(SIDE), await revisionOf(FOREIGN))
  })
}

const NOTHING = { newStores: [], stores: [], newItems: [], items: [] }

/** Changes of `prj_1`, based on its current state. */
async function changesOf(
  storage: Storage,
  changes: Partial<CatalogChanges>,
): Promise<CatalogChanges> {
  const state = (await storage.findCatalogState('prj_1')) as string
  return { project_id: 'prj_1', state, change_id: 'itm_change', ...NOTHING, ...changes }
}

async function itemsIn(storage: Storage): Promise<Item[]> {
  const items: Item[] = []
  for await (const { records } of catalogPages(storage, MAIN)) items.push(...records)
  return items
}

export function describeCatalog(open: OpenStorage): void {
  const test = testsOn(open, async (storage) => {
    await insertStores(storage)
    await storage.insertItem(newItem('gold', { metadata: { a: 1 } }))
  })
  const gold = newItem('gold', { metadata: { a: 1 } })
  const apply = async (storage: Storage, changes: Partial<CatalogChanges>) =>
    storage.applyCatalog(await changesOf(storage, changes))

  test('all changes of a catalog are written together', async (storage) => {
    await storage.insertItem(newItem('gem'))
    const before = await storage.findCatalogState('prj_1')

    await apply(storage, {
      project: newProject('prj_1', { name: 'Renamed' }),
      newStores: [newStore('new')],
      stores: [newStore('side', { status: 'disabled' })],
      newItems: [newItem('ruby'), newItem('old', { store_id: 'new', archived_at: AT })],
      items: [
        { id: 'itm_gold', version: 1, price: 999, description: 'Shiny' },
        { id: 'itm_gem', version: 1, archived_at: AT },
      ],
    })

    assert.notEqual(await storage.findCatalogState('prj_1'), before)
    assert.equal((await storage.findProject('prj_1'))?.name, 'Renamed')
    assert.equal((await storage.findStore('acc_1', 'side'))?.status, 'disabled')
    const expected = [
      { ...gold, price: 999, description: 'Shiny', version: 2 },
      newItem('gem', { version: 2, archived_at: AT }),
      newItem('ruby'),
    ]
    assert.deepEqual(await itemsIn(storage), expected)
    assert.deepEqual(await itemsOf(storage, MAIN), expected)
    const { records } = await storage.listCatalogItems({ ...MAIN, store_id: 'new' }, { limit: 1 })
    assert.equal(records[0]?.archived_at, AT)
  })

  test('a thousand items and more keep their order, their stores and their text', async (storage) => {
    const metadata = { 'a "b"\\': ['\u2028😀', 1e21, -0.5, null, true, {}], deep: { x: [[]] } }
    const odd = { display_name: '"\\n😀', description: "'\n\t", price: 2 ** 53 - 1, metadata }
    const newItems = Array.from({ length: 1_002 }, (_, i) =>
      newItem(`item_${i}`, { ...odd, store_id: i < 1_001 ? 'main' : 'side' }),
    )
    await apply(storage, { newItems })

    const records = (await itemsIn(storage)).slice(1)
    assert.deepEqual(records, newItems.slice(0, 1_001))
    const side = await storage.listCatalogItems(SIDE, { limit: 10 })
    assert.deepEqual(side.records, newItems.slice(1_001))

    const items = records.map(({ id }) => ({ id, version: 1, metadata: { ...metadata, id } }))
    await apply(storage, { items })
    const changed = (await itemsIn(storage)).slice(1)
    assert.deepEqual(
      changed.map(({ metadata, version }) => [metadata, version]),
      items.map(({ metadata }) => [metadata, 2]),
    )
  })

  test('null restores an archived item, and another change leaves it archived', async (storage) => {
    const change = (item: object) =>
      apply(storage, { items: [{ id: 'itm_gold', version: 1, ...item }] })

    await change({ archived_at: AT })
    await change({ version: 2, price: 1 })
    assert.equal((await itemsIn(storage))[0]?.archived_at, AT)
    await change({ version: 3, archived_at: null })

    assert.deepEqual(await itemsIn(storage), [{ ...gold, price: 1, version: 4 }])
  })

  const others: Record<string, (storage: Storage) => Promise<unknown>> = {
    'a new item': (storage) => storage.insertItem(newItem('late')),
    'a new store': (storage) => storage.insertStore(newStore('late')),
    'a change of the project': (storage) =>
      storage.updateProject('prj_1', (project) => ({ ...project, status: 'disabled' })),
    'a change of a store': (storage) =>
      storage.updateStore(SIDE, (store) => ({ ...store, is_sandbox: true })),
    'another catalog': (storage) =>
      apply(storage, { items: [{ id: 'itm_gold', version: 1, price: 1 }] }),
  }
  test('a catalog is refused as a whole after another change, for a taken name or an old version', async (storage) => {
    const refuse = async (name: string, planned: CatalogChanges) =>
      assert.rejects(storage.applyCatalog(planned), { code: 'catalog_changed' }, name)
    const ruby = newItem('ruby')
    for (const [name, change] of Object.entries(others)) {
      const planned = await changesOf(storage, { newItems: [ruby] })
      await change(storage)
      await refuse(name, planned)
    }
    const taken = [ruby, newItem('gold', { id: 'itm_2' })]
    await refuse('a taken name', await changesOf(storage, { newItems: taken }))
    const items = [{ id: 'itm_gold', version: 7, price: 1 }]
    await refuse('an old version', await changesOf(storage, { newItems: [ruby], items }))

    assert.equal(await storage.findItem('itm_ruby'), undefined)
    assert.equal((await storage.findItem('itm_gold'))?.version, 2)
  })

  test('a catalog beyond the quota, or without authority, changes nothing', async (storage) => {
    const planned = await changesOf(storage, { newStores: [newStore('new')] })
    const quota = { account_id: 'acc_1', project_id: 'prj_1', stores: 2 }
    const authority = { key_id: 'key_nobody' }

    await assert.rejects(storage.applyCatalog(planned, { quota }), { code: 'quota_exceeded' })
    const refused = storage.applyCatalog(planned, { authority })
    await assert.rejects(refused, { code: 'account_key_required' })

    assert.equal(await storage.findStore('acc_1', 'new'), undefined)
  })
}
