import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { AuditAction } from '../../../lib/domain/audit.ts'
import type { Item } from '../../../lib/domain/item.ts'
import { takeInventory } from '../../../lib/storage/copy.ts'
import type { CachedChange, Page, Storage, WriteOptions } from '../../../lib/storage/port.ts'
import { all } from '../../support/collect.ts'
import { assertUnchanged } from '../fixtures/mutate.ts'
import {
  AT,
  awkwardObject,
  insertAccounts,
  insertShops,
  insertStores,
  itemsOf,
  MAIN,
  newAccount,
  newItem,
  newKey,
  newProject,
  newStore,
} from '../fixtures/records.ts'
import { auditOf, LATER, newEntry, newIdempotencyRecord } from '../fixtures/writes.ts'
import type { OpenStorage } from './open.ts'

export function describeAudit(open: OpenStorage): void {
  test('every change writes its audit entry, in order', async (t) => {
    const storage = await open(t)
    const entry = (subject: string) => ({ audit: newEntry({ subject }) })
    await storage.insertAccount(newAccount('acc_1'), newKey('acc_1', 'hash-1'), entry('1'))
    await storage.insertAccountKey(newKey('acc_1', 'hash-b'), entry('2'))
    await storage.revokeAccountKey('acc_1', 'key_hash-b', AT, entry('3'))
    await storage.insertProject(newProject('prj_1'), entry('4'))
    await storage.updateProject('prj_1', (project) => ({ ...project }), entry('5'))
    const rotation = { public_key: 'pk_new', former_until: LATER }
    await storage.rotatePublicKey('prj_1', rotation, entry('6'))
    await storage.insertStore(newStore('main'), entry('7'))
    await storage.updateStore(MAIN, (store) => ({ ...store }), entry('8'))
    await storage.insertItem(newItem('gold'), entry('9'))
    const key = { kid: 'kid', secret: new Uint8Array(32), created_at: AT }
    await storage.rotateSigningKeys(key, () => [], entry('10'))
    await storage.revokeTokens({ project_id: 'prj_1', user_id: '', at: 1 }, entry('11'))
    const current = await storage.openImport(MAIN, 'imp_1')
    await current?.finish()
    await current?.commit(entry('12'))
    await storage.insertAudit(entry('13'), entry('14'))
    await storage.updateItem('itm_gold', (item) => ({ ...item, price: 599 }), entry('15'))

    const entries = await auditOf(storage)
    assert.deepEqual(
      entries.map(({ subject }) => subject),
      ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '11', '12', '13', '14', '15'],
    )
    assert.deepEqual(entries[8], newEntry({ subject: '9' }))
  })

  test('the newest entries of an account come first', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    const write = (subject: string, account_id = 'acc_1') =>
      storage.insertAudit({ audit: newEntry({ subject, account_id }) })
    for (const subject of ['1', '2', '3']) await write(subject)
    await write('other', 'acc_2')
    await write('4')

    const first = await storage.listRecentAudit('acc_1', { limit: 3 })
    assert.deepEqual(first.entries[0], newEntry({ subject: '4' }))
    await write('5')
    const after = first.next ?? assert.fail('no next page')
    const second = await storage.listRecentAudit('acc_1', { limit: 3, after })

    const subjects = [...first.entries, ...second.entries].map(({ subject }) => subject)
    assert.deepEqual(subjects, ['4', '3', '2', '1'])
    assert.equal(second.next, undefined)
    assert.deepEqual(await storage.listRecentAudit('acc_none', { limit: 3 }), { entries: [] })
  })

  test('the changes of an item come newest first, without its creation', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    const write = (action: AuditAction, subject = 'itm_gold') =>
      storage.insertAudit({ audit: newEntry({ action, subject }) })
    await write('item.create')
    await write('item.update')
    await write('item.update', 'itm_gem')
    await write('item.archive')
    await write('item.restore')

    const first = await storage.listItemAudit('itm_gold', { limit: 2 })
    const after = first.next ?? assert.fail('no next page')
    const second = await storage.listItemAudit('itm_gold', { limit: 2, after })

    const actions = [...first.entries, ...second.entries].map(({ action }) => action)
    assert.deepEqual(actions, ['item.restore', 'item.archive', 'item.update'])
    assert.equal(second.next, undefined)
  })

  test('each method that changes cached records writes its audit entry, and notifies', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    let writes = 0
    const end = storage.onWrite(() => writes++)

    for (const [index, [method, change]] of Object.entries(CHANGES).entries()) {
      await change(storage, { audit: newEntry({ subject: method }) })
      assert.equal((await auditOf(storage)).at(-1)?.subject, method)
      await setImmediate()
      assert.equal(writes, index + 1, method)
    }
    end()
  })

  test('a call that changes nothing writes no audit entry', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const write = { audit: newEntry() }
    let writes = 0
    const end = storage.onWrite(() => writes++)

    await storage.insertItem(newItem('gold', { id: 'itm_again' }), write)
    await storage.insertStore(newStore('main'), write)
    await storage.updateProject('prj_1', (project) => project, write)
    await storage.updateStore(MAIN, (store) => store, write)
    await storage.updateItem('itm_gold', (item) => item, write)
    await storage.updateItem('itm_none', () => assert.fail('asked'), write)
    await storage.updateProject('prj_none', (project) => project, write)
    await storage.updateStore({ account_id: 'acc_1', store_id: 'none' }, (store) => store, write)
    await storage.revokeAccountKey('acc_1', 'key_none', AT, write)
    const refused = storage.updateProject(
      'prj_1',
      () => {
        throw new Error('refused')
      },
      write,
    )
    await assert.rejects(refused)

    assert.deepEqual(await auditOf(storage), [])
    await setImmediate()
    assert.equal(writes, 0)
    end()
  })

  test('an entry keeps its data, and the one of an update is made from both versions', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const data = awkwardObject()
    const write = {
      audit: newEntry(),
      describe: (before: Item, after: Item) => {
        return { price: { old: before.price, new: after.price }, version: after.version }
      },
    }

    await storage.insertAudit({ audit: newEntry({ data }) })
    await storage.updateItem('itm_gold', (item) => ({ ...item, price: 599 }), write)
    await storage.insertItem(newItem('silver'), { audit: newEntry({ data: { price: 1 } }) })

    const [first, ...others] = await auditOf(storage)
    assertUnchanged(first, newEntry({ data }))
    assert.deepEqual(others, [
      newEntry({ data: { price: { old: 499, new: 599 }, version: 2 } }),
      newEntry({ data: { price: 1 } }),
    ])
  })

  test('the audit log is listed in pages, for all accounts or one', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    for (let i = 0; i < 5; i++) {
      const account_id = i % 2 === 0 ? 'acc_1' : 'acc_2'
      const audit = newEntry({ subject: String(i), account_id })
      await storage.insertAccountKey(newKey(account_id, `hash-${i}-new`), { audit })
    }

    const first = await storage.listAudit(undefined, { limit: 3 })
    assert.ok(first.next)
    const second = await storage.listAudit(undefined, { limit: 3, after: first.next })
    assert.equal(second.next, undefined)
    const subjects = [...first.entries, ...second.entries].map(({ subject }) => subject)
    assert.deepEqual(subjects, ['0', '1', '2', '3', '4'])
    const own = (await auditOf(storage, 'acc_2')).map(({ subject }) => subject)
    assert.deepEqual(own, ['1', '3'])
  })

  test('an idempotency record is stored with its insertion, and a repeat inserts nothing', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    const write = { idempotency: newIdempotencyRecord(), audit: newEntry() }

    assert.equal(await storage.insertItem(newItem('gold'), write), 'inserted')
    assert.equal(await storage.insertItem(newItem('gem'), write), 'repeated')
    assert.equal(await storage.insertStore(newStore('more'), write), 'repeated')
    assert.equal(await storage.insertProject(newProject('prj_9'), write), 'repeated')

    assert.deepEqual(await storage.findIdempotencyRecord('acc_1', 'once'), newIdempotencyRecord())
    assert.deepEqual(await itemsOf(storage, MAIN), [newItem('gold')])
    assert.equal(await storage.findProject('prj_9'), undefined)
    assert.equal((await auditOf(storage)).length, 1)
  })

  test('a repeat of an insertion is reported as repeated, not as taken', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    const write = { idempotency: newIdempotencyRecord() }
    await storage.insertItem(newItem('gold'), write)

    assert.equal(await storage.insertItem(newItem('gold'), write), 'repeated')
  })

  test('an insertion with a taken name stores no idempotency record', async (t) => {
    const storage = await open(t)
    await insertShops(storage)

    const again = newItem('gold', { id: 'itm_again' })
    assert.equal(await storage.insertItem(again, { idempotency: newIdempotencyRecord() }), 'taken')

    assert.equal(await storage.findIdempotencyRecord('acc_1', 'once'), undefined)
  })

  test('an idempotency record is unique by account and key, and replaces an expired one', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    await storage.insertItem(newItem('a'), { idempotency: newIdempotencyRecord() })
    const foreign = newIdempotencyRecord({ account_id: 'acc_2' })
    const other = newItem('b', { account_id: 'acc_2', project_id: 'prj_foreign' })
    assert.equal(await storage.insertItem(other, { idempotency: foreign }), 'inserted')

    const next = newIdempotencyRecord({ created_at: LATER, expires_at: '2024-03-03T12:34:56.789Z' })
    assert.equal(await storage.insertItem(newItem('c'), { idempotency: next }), 'inserted')

    assert.deepEqual(await storage.findIdempotencyRecord('acc_1', 'once'), next)
  })

  test('an account lists its own idempotency records only', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    const idempotencyRecords = ['b', 'a'].map((key) => newIdempotencyRecord({ key }))
    const foreign = newIdempotencyRecord({ account_id: 'acc_2' })
    await storage.insertAudit(
      ...[...idempotencyRecords, foreign].map((idempotency) => ({ idempotency })),
    )

    assert.deepEqual(await all((page) => storage.listIdempotencyRecords('acc_1', page)), [
      newIdempotencyRecord({ key: 'a' }),
      idempotencyRecords[0],
    ])
    assert.deepEqual(await all((page) => storage.listIdempotencyRecords('acc_2', page)), [foreign])
  })

  test('fingerprints are replaced in pages, and only changed ones are counted', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    const named = [1, 2, 3, 4, 5].map((i) =>
      newIdempotencyRecord({ key: `k"${i}`, fingerprint: `f${i}` }),
    )
    const foreign = newIdempotencyRecord({ account_id: 'acc_2', key: 'k', fingerprint: 'f6' })
    await storage.insertAudit(...[...named, foreign].map((idempotency) => ({ idempotency })))
    const seen: string[] = []
    const change = (fingerprint: string) => {
      seen.push(fingerprint)
      return fingerprint === 'f2' ? fingerprint : `new ${fingerprint}`
    }

    let updated = 0
    let page: Page | undefined = { limit: 2 }
    while (page) {
      const done = await storage.updateFingerprints(change, page)
      updated += done.updated
      page = done.next === undefined ? undefined : { limit: 2, after: done.next }
    }

    assert.deepEqual(seen.toSorted(), ['f1', 'f2', 'f3', 'f4', 'f5', 'f6'])
    assert.equal(updated, 5)
    const expected = ['new f1', 'f2', 'new f3', 'new f4', 'new f5']
    const own = named.map((each, i) => ({ ...each, fingerprint: expected[i] as string }))
    assert.deepEqual(await all((page) => storage.listIdempotencyRecords('acc_1', page)), own)
    assert.equal((await storage.findIdempotencyRecord('acc_2', 'k'))?.fingerprint, 'new f6')
  })

  test('of two concurrent insertions with one idempotency record, one succeeds', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    const write = { idempotency: newIdempotencyRecord() }

    const inserted = await Promise.all([
      storage.insertItem(newItem('a'), write),
      storage.insertItem(newItem('b'), write),
    ])

    assert.deepEqual(inserted.toSorted(), ['inserted', 'repeated'])
    assert.equal((await itemsOf(storage, MAIN)).length, 1)
  })
}

const KEY = { kid: 'kid', secret: new Uint8Array(32), created_at: AT }

/** Each method that makes a change with an audit entry. */
export const CHANGES: Record<
  CachedChange | 'rotateSigningKeys',
  (storage: Storage, write: WriteOptions) => Promise<unknown>
> = {
  insertAccount: (storage, write) =>
    storage.insertAccount(newAccount('acc_9'), newKey('acc_9', 'hash-9'), write),
  insertAccountKey: (storage, write) => storage.insertAccountKey(newKey('acc_1', 'hash-8'), write),
  revokeAccountKey: (storage, write) =>
    storage.revokeAccountKey('acc_1', 'key_hash-1', LATER, write),
  insertProject: (storage, write) => storage.insertProject(newProject('prj_9'), write),
  updateProject: (storage, write) =>
    storage.updateProject('prj_1', (project) => ({ ...project, name: 'New' }), write),
  rotatePublicKey: (storage, write) =>
    storage.rotatePublicKey('prj_1', { public_key: 'pk_9', former_until: LATER }, write),
  insertStore: (storage, write) => storage.insertStore(newStore('more'), write),
  updateStore: (storage, write) =>
    storage.updateStore(MAIN, (store) => ({ ...store, status: 'paused' }), write),
  insertItem: (storage, write) => storage.insertItem(newItem('more'), write),
  updateItem: (storage, write) =>
    storage.updateItem('itm_gold', (item) => ({ ...item, price: 1 }), write),
  rotateSigningKeys: (storage, write) => storage.rotateSigningKeys(KEY, () => ['old'], write),
  revokeTokens: (storage, write) =>
    storage.revokeTokens({ project_id: 'prj_1', user_id: '', at: 9 }, write),
  pseudonymizeWatermark: (storage, write) =>
    storage.pseudonymizeWatermark({ project_id: 'prj_1', user_id: 'ann' }, write),
  async applyCatalog(storage, write) {
    const state = (await storage.findCatalogState('prj_1')) ?? assert.fail('no project')
    const items = { newItems: [newItem('fresh')], items: [] }
    const changes = { project_id: 'prj_1', state, change_id: 'c', newStores: [], stores: [] }
    await storage.applyCatalog({ ...changes, ...items }, write)
  },
}

export function describeAtomicity(open: OpenStorage): void {
  for (const [method, change] of Object.entries(CHANGES)) {
    test(`a change is rolled back when its audit entry cannot be written: ${method}`, async (t) => {
      const storage = await open(t)
      await insertShops(storage)
      await storage.insertSigningKey({ ...KEY, kid: 'old' })
      const before = await takeInventory(storage, AT)
      const write = {
        audit: newEntry(),
        idempotency: newIdempotencyRecord({ account_id: 'acc_none' }),
      }

      await assert.rejects(change(storage, write))
      assert.deepEqual(await takeInventory(storage, AT), before)

      await change(storage, { audit: newEntry() })
      assert.notDeepEqual(await takeInventory(storage, AT), before)
    })
  }
}
