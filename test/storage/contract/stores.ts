import assert from 'node:assert/strict'
import { test } from 'node:test'
import { all } from '../../support/collect.ts'
import { append, assertUnchanged } from '../fixtures/mutate.ts'
import { awkwardObject, insertProjects, insertStores, MAIN, newStore } from '../fixtures/records.ts'
import type { OpenStorage } from './open.ts'

export function describeStores(open: OpenStorage): void {
  test('a store is found unchanged, including is_sandbox', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    const main = newStore('main', { store_config: awkwardObject() })
    const sandbox = newStore('sandbox', { is_sandbox: true, store_type: 'iap', status: 'paused' })

    assert.equal(await storage.insertStore(main), 'inserted')
    assert.equal(await storage.insertStore(sandbox), 'inserted')

    assertUnchanged(await storage.findStore('acc_1', 'main'), main)
    assertUnchanged(await storage.findStore('acc_1', 'sandbox'), sandbox)
  })

  test('a store_id is unique in its account, and a second insertion changes nothing', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    await storage.insertStore(newStore('main'))

    const again = newStore('main', { project_id: 'prj_2', store_type: 'custom' })
    assert.equal(await storage.insertStore(again), 'taken')

    assert.deepEqual(await storage.findStore('acc_1', 'main'), newStore('main'))
    assert.deepEqual(await all((page) => storage.listStores('prj_2', page)), [])
  })

  test('two accounts can use the same store_id, and each finds its own store', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    const foreign = newStore('main', { account_id: 'acc_2', project_id: 'prj_foreign' })

    assert.equal(await storage.insertStore(newStore('main')), 'inserted')
    assert.equal(await storage.insertStore(foreign), 'inserted')

    assert.deepEqual(await storage.findStore('acc_1', 'main'), newStore('main'))
    assert.deepEqual(await storage.findStore('acc_2', 'main'), foreign)
    assert.equal(await storage.findStore('acc_3', 'main'), undefined)
  })

  test('store ids are case-sensitive', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)

    assert.equal(await storage.insertStore(newStore('main')), 'inserted')
    assert.equal(await storage.insertStore(newStore('Main')), 'inserted')

    assert.deepEqual(await storage.findStore('acc_1', 'Main'), newStore('Main'))
    assert.equal(await storage.findStore('acc_1', 'MAIN'), undefined)
  })

  test('a project lists its own stores only, in order of creation', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    assert.deepEqual(await all((page) => storage.listStores('prj_1', page)), [])

    await storage.insertStore(newStore('c'))
    await storage.insertStore(newStore('other', { project_id: 'prj_2' }))
    await storage.insertStore(newStore('a'))

    assert.deepEqual(await all((page) => storage.listStores('prj_1', page)), [
      newStore('c'),
      newStore('a'),
    ])
  })

  test('changing a returned store does not change the stored one', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    const store = newStore('main', { store_config: { list: ['kept'] } })
    const expected = structuredClone(store)
    await storage.insertStore(store)

    append(store.store_config)
    append((await storage.findStore('acc_1', 'main'))?.store_config)
    append((await all((page) => storage.listStores('prj_1', page)))[0]?.store_config)

    assert.deepEqual(await storage.findStore('acc_1', 'main'), expected)
  })

  test('a store is replaced by the result of change', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    await storage.findStore('acc_1', 'main')
    const changed = newStore('main', { status: 'paused', store_config: { currency: 'EUR' } })

    const updated = await storage.updateStore(MAIN, (current) => {
      assert.deepEqual(current, newStore('main'))
      return changed
    })

    assert.deepEqual(updated, changed)
    assert.deepEqual(await storage.findStore('acc_1', 'main'), changed)
    assert.equal((await storage.findStore('acc_2', 'main'))?.status, 'active')
    const missing = { account_id: 'acc_1', store_id: 'none' }
    assert.equal(await storage.updateStore(missing, () => assert.fail('asked')), undefined)
  })
}
