import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pagesOf } from '../../../lib/storage/pages.ts'
import type { ItemSelection, Storage } from '../../../lib/storage/port.ts'
import { append, assertUnchanged } from '../fixtures/mutate.ts'
import {
  AT,
  awkwardObject,
  FOREIGN,
  insertShops,
  insertStores,
  itemsOf,
  MAIN,
  newItem,
  newRow,
  SIDE,
  stage,
} from '../fixtures/records.ts'
import type { OpenStorage } from './open.ts'

export function describeItems(open: OpenStorage): void {
  test('an item is found unchanged, with the highest possible price', async (t) => {
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

  test('a name is unique in its store, and a second insertion changes nothing', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    await storage.insertItem(newItem('gold'))

    const again = newItem('gold', { id: 'itm_again', display_name: 'Again' })
    assert.equal(await storage.insertItem(again), 'taken')

    assert.deepEqual(await itemsOf(storage, MAIN), [newItem('gold')])
    assert.equal(await storage.findItem('itm_again'), undefined)
  })

  test('of two concurrent insertions of one name, one succeeds', async (t) => {
    const storage = await open(t)
    await insertStores(storage)

    const inserted = await Promise.all([
      storage.insertItem(newItem('gold', { id: 'itm_1' })),
      storage.insertItem(newItem('gold', { id: 'itm_2' })),
    ])

    assert.deepEqual(inserted.toSorted(), ['inserted', 'taken'])
    assert.equal((await itemsOf(storage, MAIN)).length, 1)
  })

  test('other stores can use the name, even one with the same id in another account', async (t) => {
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

  test('items are listed in order of creation, not of their names', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    assert.deepEqual(await itemsOf(storage, MAIN), [])

    for (const name of ['c', 'B', 'a', '_']) await storage.insertItem(newItem(name))

    const names = (await itemsOf(storage, MAIN)).map(({ name }) => name)
    assert.deepEqual(names, ['c', 'B', 'a', '_'])
  })

  test('changing a returned item does not change the stored one', async (t) => {
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

export function describeItemChanges(open: OpenStorage): void {
  test('an update replaces the item, adds 1 to its version and keeps its place', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const change = {
      display_name: 'New 日本',
      description: 'changed',
      price: Number.MAX_SAFE_INTEGER,
      metadata: awkwardObject(),
      archived_at: AT,
    }

    const updated = await storage.updateItem('itm_gold', (current) => {
      assert.deepEqual(current, newItem('gold'))
      return { ...current, ...change }
    })

    const expected = newItem('gold', { ...change, version: 2 })
    assertUnchanged(updated, expected)
    assertUnchanged(await storage.findItem('itm_gold'), expected)
    assertUnchanged(await storage.findItemByName(MAIN, 'gold'), expected)
    assert.deepEqual(await itemsOf(storage, MAIN), [expected, newItem('gem')])
    assert.equal((await storage.findItem('itm_side_gold'))?.version, 1)
    assert.equal((await storage.findItem('itm_foreign_gold'))?.version, 1)
  })

  test('an update that returns its argument changes nothing', async (t) => {
    const storage = await open(t)
    await insertShops(storage)

    const same = await storage.updateItem('itm_gold', (current) => current)

    assert.deepEqual(same, newItem('gold'))
    assert.deepEqual(await storage.findItem('itm_gold'), newItem('gold'))
    assert.equal(await storage.updateItem('itm_none', () => assert.fail('asked')), undefined)
  })

  test('an update that throws changes nothing, and its error is passed on', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const error = new Error('refused')

    const refused = storage.updateItem('itm_gold', () => {
      throw error
    })

    await assert.rejects(refused, error)
    assert.deepEqual(await storage.findItem('itm_gold'), newItem('gold'))
  })

  test('concurrent updates of one item run one after the other', async (t) => {
    const storage = await open(t)
    await insertShops(storage)

    await Promise.all(
      Array.from({ length: 20 }, () =>
        storage.updateItem('itm_gold', (item) => ({ ...item, price: item.price + 1 })),
      ),
    )

    assert.deepEqual(
      await storage.findItem('itm_gold'),
      newItem('gold', { price: 519, version: 21 }),
    )
  })

  test('changing the item of an update does not change the stored one', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const metadata = { list: ['kept'] }

    const updated = await storage.updateItem('itm_gold', (item) => ({ ...item, metadata }))
    append(metadata)
    append(updated?.metadata)

    assert.deepEqual((await storage.findItem('itm_gold'))?.metadata, { list: ['kept'] })
  })

  test('an item is found by its name in its own store only', async (t) => {
    const storage = await open(t)
    await insertShops(storage)

    assert.equal((await storage.findItemByName(SIDE, 'gold'))?.id, 'itm_side_gold')
    assert.equal((await storage.findItemByName(FOREIGN, 'gold'))?.id, 'itm_foreign_gold')
    assert.equal(await storage.findItemByName(MAIN, 'Gold'), undefined)
    assert.equal(await storage.findItemByName({ ...MAIN, store_id: 'none' }, 'gold'), undefined)
  })

  test('a list has all items, the active ones, or the archived ones', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    for (const name of ['a', 'b', 'c', 'd', 'e']) await storage.insertItem(newItem(name))
    for (const name of ['a', 'c', 'd']) await archive(storage, name)
    const namesOf = async (archived?: boolean, limit = 2) => {
      const names: string[] = []
      const selection = archived === undefined ? MAIN : { ...MAIN, archived }
      for await (const { items } of pagesOf((page) => storage.listItems(selection, page), limit)) {
        names.push(...items.map(({ name }) => name))
      }
      return names.join('')
    }

    assert.deepEqual(
      [await namesOf(), await namesOf(true), await namesOf(false)],
      ['abcde', 'acd', 'be'],
    )
    await storage.updateItem('itm_c', ({ archived_at: _, ...item }) => item)

    assert.deepEqual([await namesOf(true), await namesOf(false)], ['ad', 'bce'])
    assert.equal((await storage.findItem('itm_c'))?.archived_at, undefined)
    const after = await storage.listItems(
      { ...MAIN, archived: false },
      { limit: 9, after: 'itm_d' },
    )
    assert.deepEqual(
      after.items.map(({ name }) => name),
      ['e'],
    )
  })

  test('an archived item keeps its name, and imports accept it', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    await archive(storage, 'gold')

    const again = newItem('gold', { id: 'itm_again' })
    assert.equal(await storage.insertItem(again), 'taken')
    const current = (await storage.openImport(MAIN, 'imp_1')) ?? assert.fail()
    const { added } = await stage(current, [newRow(1), newRow(2, { sku: 'gem' })])
    await current.commit()

    assert.equal(added, 2)
  })

  test('copied items keep their versions and archives', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    const items = [newItem('a', { version: 7, archived_at: AT }), newItem('b', { version: 2 })]

    await storage.insertItems(items)
    await storage.updateItem('itm_b', (item) => ({ ...item, price: 1 }))

    assert.deepEqual(await itemsOf(storage, MAIN), [
      items[0],
      newItem('b', { price: 1, version: 3 }),
    ])
    assert.deepEqual(await storage.check(), [])
  })

  test('the revision changes with each changed item, and not otherwise', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const revisions = [await revisionOf(storage, MAIN)]
    const setPrice = (name: string, price: number) =>
      storage.updateItem(`itm_${name}`, (item) => ({ ...item, price }))
    for (const change of [
      () => setPrice('gold', 1),
      () => setPrice('gem', 1),
      () => setPrice('gold', 2),
      () => setPrice('gold', 1),
      () => archive(storage, 'gem'),
      () => storage.insertItem(newItem('silver')),
      () => storage.updateItem('itm_gem', ({ archived_at: _, ...item }) => item),
    ]) {
      await change()
      revisions.push(await revisionOf(storage, MAIN))
    }

    assert.equal(new Set(revisions).size, 8)
    await storage.updateItem('itm_gold', (item) => item)
    await setPrice('side_gold', 9)
    assert.equal(await revisionOf(storage, MAIN), revisions[7])
    assert.equal(await revisionOf(storage, { ...MAIN, archived: false }), revisions[7])
  })
}

async function archive(storage: Storage, name: string): Promise<void> {
  await storage.updateItem(`itm_${name}`, (item) => ({ ...item, archived_at: AT }))
}

export function describeItemPages(open: OpenStorage): void {
  test('a list of an unknown store, or of one outside the given project, is refused', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const page = { limit: 9 }
    const own = await storage.listItems(MAIN, page)

    assert.deepEqual(await storage.listItems({ ...MAIN, project_id: 'prj_1' }, page), own)
    assert.equal((await storage.findStore('acc_1', 'main', 'prj_1'))?.store_id, 'main')
    for (const project_id of ['prj_2', 'prj_foreign', 'prj_nobody']) {
      const foreign = storage.listItems({ ...MAIN, project_id }, page)
      await assert.rejects(foreign, { code: 'store_not_found' })
      assert.equal(await storage.findStore('acc_1', 'main', project_id), undefined)
    }
    const unknown = storage.listItems({ ...MAIN, store_id: 'none' }, page)
    await assert.rejects(unknown, { code: 'store_not_found' })
  })

  test('pages of any size list each item once, in order', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    const names = ['e', 'b', 'd', 'a', 'c']
    for (const name of names) {
      await storage.insertItem(newItem(name))
      await storage.insertItem(newItem(name, { id: `itm_side_${name}`, store_id: 'side' }))
    }

    for (const limit of [1, 2, 3, 4, 5, 6]) {
      const read: string[] = []
      let after: string | undefined
      do {
        const page = await storage.listItems(
          MAIN,
          after === undefined ? { limit } : { limit, after },
        )
        assert.ok(page.items.length <= limit)
        read.push(...page.items.map(({ name }) => name))
        after = page.next
      } while (after !== undefined)
      assert.deepEqual(read, names)
    }
  })

  test('the page with the last item has no next cursor', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    await storage.insertItem(newItem('a'))
    await storage.insertItem(newItem('b'))

    assert.equal((await storage.listItems(MAIN, { limit: 2 })).next, undefined)
    assert.equal((await storage.listItems(MAIN, { limit: 1 })).next, 'itm_a')
    assert.deepEqual((await storage.listItems(FOREIGN, { limit: 2 })).items, [])
  })

  test('a page ends at 1 MiB of text, and has at least one item', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    const long = { metadata: { text: 'x'.repeat(400_000) } }
    const longest = { metadata: { text: 'x'.repeat(1_500_000) } }
    const described = { description: 'x'.repeat(400_000) }
    await storage.insertItems([
      ...['a', 'b', 'c', 'd'].map((name) => newItem(name, long)),
      ...['e', 'f'].map((name) => newItem(name, longest)),
      ...['g', 'h', 'i'].map((name) => newItem(name, described)),
    ])

    const pages: string[] = []
    for (let after: string | undefined; ; ) {
      const page = await storage.listItems(MAIN, { limit: 100, ...(after && { after }) })
      pages.push(page.items.map(({ name }) => name).join(''))
      after = page.next
      if (after === undefined) break
    }

    assert.deepEqual(pages, ['abc', 'de', 'f', 'ghi'])
    assert.equal((await storage.listItems(MAIN, { limit: 2 })).next, 'itm_b')
  })

  test('insertItems keeps the order and does not change existing items', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    await storage.insertItem(newItem('b'))
    await storage.listItems(MAIN, { limit: 10 })

    const again = newItem('b', { display_name: 'Again' })
    await storage.insertItems([newItem('c'), again, newItem('a')])
    await storage.insertItems([])

    assert.deepEqual(await itemsOf(storage, MAIN), [newItem('b'), newItem('c'), newItem('a')])
  })

  test('the revision changes with each new item, and not otherwise', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    const revisions = [await revisionOf(storage, MAIN)]
    for (const name of ['a', 'b', 'c']) {
      await storage.insertItem(newItem(name))
      revisions.push(await revisionOf(storage, MAIN))
    }
    assert.equal(new Set(revisions).size, 4)

    await storage.insertItem(newItem('d', { store_id: 'side' }))
    await storage.insertItem(newItem('a', { id: 'itm_again' }))
    assert.equal(await revisionOf(storage, MAIN), revisions[3])
    assert.notEqual(await revisionOf(storage, SIDE), await revisionOf(storage, FOREIGN))
  })
}

async function revisionOf(storage: Storage, store: ItemSelection): Promise<string> {
  const { revision } = await storage.listItems(store, { limit: 1 })
  return revision
}
