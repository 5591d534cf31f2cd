import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Item } from '../../../lib/domain/item.ts'
import { catalogPages } from '../../../lib/storage/pages.ts'
import type { CatalogChanges, Storage } from '../../../lib/storage/port.ts'
import { AT, insertStores, MAIN, newItem, newProject, newStore, SIDE } from '../fixtures/records.ts'
import type { OpenStorage } from './open.ts'

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
  test('all changes of a catalog are written together', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    await storage.insertItem(newItem('gold', { metadata: { a: 1 } }))
    await storage.insertItem(newItem('gem'))
    const before = await storage.findCatalogState('prj_1')

    await storage.applyCatalog(
      await changesOf(storage, {
        project: newProject('prj_1', { name: 'Renamed' }),
        newStores: [newStore('new')],
        stores: [newStore('side', { status: 'disabled' })],
        newItems: [
          { ...newItem('ruby'), version: 1 },
          { ...newItem('old', { store_id: 'new' }), version: 1, archived_at: AT },
        ],
        items: [
          { id: 'itm_gold', version: 1, price: 999, description: 'Shiny' },
          { id: 'itm_gem', version: 1, archived_at: AT },
        ],
      }),
    )

    assert.notEqual(await storage.findCatalogState('prj_1'), before)
    assert.equal((await storage.findProject('prj_1'))?.name, 'Renamed')
    assert.equal((await storage.findStore('acc_1', 'side'))?.status, 'disabled')
    const gold = newItem('gold', { price: 999, description: 'Shiny', metadata: { a: 1 } })
    assert.deepEqual(await itemsIn(storage), [
      { ...gold, version: 2 },
      { ...newItem('gem'), version: 2, archived_at: AT },
      { ...newItem('ruby'), version: 1 },
    ])
    const { records } = await storage.listCatalogItems({ ...MAIN, store_id: 'new' }, { limit: 1 })
    assert.equal(records[0]?.archived_at, AT)
    assert.equal((await storage.findItem('itm_gold'))?.price, 999)
  })

  test('a thousand items and more keep their order, their stores and their text', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    const metadata = { 'a "b"\\': ['\u2028😀', 1e21, -0.5, null, true, {}], deep: { x: [[]] } }
    const odd = { display_name: '"\\n😀', description: "'\n\t", price: 2 ** 53 - 1, metadata }
    const newItems = Array.from({ length: 1_002 }, (_, i) => ({
      ...newItem(`item_${i}`, { ...odd, store_id: i < 1_001 ? 'main' : 'side' }),
      version: 1,
    }))
    await storage.applyCatalog(await changesOf(storage, { newItems }))

    const records = await itemsIn(storage)
    assert.deepEqual(records, newItems.slice(0, 1_001))
    const side = await storage.listCatalogItems(SIDE, { limit: 10 })
    assert.deepEqual(side.records, newItems.slice(1_001))

    const items = records.map(({ id }) => ({ id, version: 1, metadata: { ...metadata, id } }))
    await storage.applyCatalog(await changesOf(storage, { items }))
    const changed = await itemsIn(storage)
    assert.deepEqual(
      changed.map(({ metadata, version }) => [metadata, version]),
      items.map(({ metadata }) => [metadata, 2]),
    )
  })

  test('null restores an archived item, and another change leaves it archived', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    await storage.insertItem(newItem('gold'))
    const change = async (item: object) =>
      storage.applyCatalog(
        await changesOf(storage, { items: [{ id: 'itm_gold', version: 1, ...item }] }),
      )

    await change({ archived_at: AT })
    await change({ version: 2, price: 1 })
    assert.equal((await itemsIn(storage))[0]?.archived_at, AT)
    await change({ version: 3, archived_at: null })

    assert.deepEqual(await itemsIn(storage), [{ ...newItem('gold', { price: 1 }), version: 4 }])
  })

  const others: Record<string, (storage: Storage) => Promise<unknown>> = {
    'a new item': (storage) => storage.insertItem(newItem('late')),
    'a new store': (storage) => storage.insertStore(newStore('late')),
    'a change of the project': (storage) =>
      storage.updateProject('prj_1', (project) => ({ ...project, status: 'disabled' })),
    'a change of a store': (storage) =>
      storage.updateStore(SIDE, (store) => ({ ...store, is_sandbox: true })),
    'another catalog': async (storage) => {
      const items = [{ id: 'itm_gold', version: 1, price: 1 }]
      await storage.applyCatalog(await changesOf(storage, { items }))
    },
  }
  for (const [name, change] of Object.entries(others)) {
    test(`a catalog that was planned before ${name} is refused`, async (t) => {
      const storage = await open(t)
      await insertStores(storage)
      await storage.insertItem(newItem('gold'))
      const newItems = [{ ...newItem('ruby'), version: 1 }]
      const planned = await changesOf(storage, { newItems })

      await change(storage)

      await assert.rejects(storage.applyCatalog(planned), { code: 'catalog_changed' })
      assert.equal(await storage.findItem('itm_ruby'), undefined)
    })
  }

  test('a taken name or an old version undoes all changes', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    await storage.insertItem(newItem('gold'))
    const ruby = { ...newItem('ruby'), version: 1 }
    const taken = { newItems: [ruby, { ...newItem('gold', { id: 'itm_2' }), version: 1 }] }
    const old = { newItems: [ruby], items: [{ id: 'itm_gold', version: 7, price: 1 }] }

    for (const changes of [taken, old]) {
      const planned = await changesOf(storage, changes)
      await assert.rejects(storage.applyCatalog(planned), { code: 'catalog_changed' })
    }

    assert.deepEqual(await itemsIn(storage), [{ ...newItem('gold'), version: 1 }])
  })

  test('a catalog beyond the quota, or without authority, changes nothing', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    const planned = await changesOf(storage, { newStores: [newStore('new')] })
    const quota = { account_id: 'acc_1', project_id: 'prj_1', stores: 2 }

    await assert.rejects(storage.applyCatalog(planned, { quota }), { code: 'quota_exceeded' })
    const authority = { key_id: 'key_nobody' }
    await assert.rejects(storage.applyCatalog(planned, { authority }), {
      code: 'account_key_required',
    })

    assert.equal(await storage.findStore('acc_1', 'new'), undefined)
  })

  test('an unknown project has no state, and pages of items follow each other', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    for (const name of ['a', 'b', 'c']) await storage.insertItem(newItem(name))

    assert.equal(await storage.findCatalogState('prj_nobody'), undefined)
    const first = await storage.listCatalogItems(MAIN, { limit: 2 })
    assert.deepEqual(
      first.records.map(({ name }) => name),
      ['a', 'b'],
    )
    const after = first.next as string
    const rest = await storage.listCatalogItems(MAIN, { limit: 2, after })
    assert.deepEqual(rest, { records: [{ ...newItem('c'), version: 1 }] })
  })
}
