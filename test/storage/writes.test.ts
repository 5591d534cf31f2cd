// run: runtime
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { takeInventory } from '../../lib/storage/copy.ts'
import type { Storage, WriteOptions } from '../../lib/storage/port.ts'
import { testsOn } from '../support/databases.ts'
import { AT, insertShops, newItem, newStore } from '../support/storage/records.ts'
import { auditOf, LATER, newEntry, newIdempotencyRecord } from '../support/storage/writes.ts'

const test = testsOn(insertShops)

const CHANGES: Record<string, (storage: Storage, write: WriteOptions) => Promise<unknown>> = {
  insertStore: (storage, write) => storage.insertStore(newStore('more'), write),
  insertItem: (storage, write) => storage.insertItem(newItem('more'), write),
  updateItem: (storage, write) =>
    storage.updateItem('itm_gold', (item) => ({ record: { ...item, price: 1 } }), write),
  revokeTokens: (storage, write) =>
    storage.revokeTokens({ project_id: 'prj_1', user_id: '', at: 9 }, write),
}

test('a change is rolled back with its audit entry, and notifies when it is stored', async (storage) => {
  let writes = 0
  const end = storage.onWrite(() => writes++)
  // Is written after the entry, and fails.
  const idempotency = newIdempotencyRecord({ account_id: 'acc_none' })
  const before = await takeInventory(storage, AT)
  for (const [method, change] of Object.entries(CHANGES)) {
    await assert.rejects(change(storage, { audit: newEntry(), idempotency }), Error, method)
  }
  assert.deepEqual(await takeInventory(storage, AT), before)

  for (const [method, change] of Object.entries(CHANGES)) {
    const audit = newEntry({ subject: method })
    writes = 0
    await change(storage, { audit })
    assert.deepEqual((await auditOf(storage)).at(-1), audit)
    await setImmediate()
    assert.equal(writes, 1, method)
  }
  const entries = await auditOf(storage)
  const write = { audit: newEntry() }
  await storage.insertItem(newItem('gold', { id: 'itm_again' }), write)
  await storage.insertStore(newStore('main'), write)
  await storage.updateAccountKey('acc_1', 'key_none', {}, write)
  assert.deepEqual(await auditOf(storage), entries, 'of a call that changes nothing')
  await setImmediate()
  assert.equal(writes, 1)
  end()
})

test('an expired record is replaced by the next call with its key', async (storage) => {
  const first = newIdempotencyRecord()
  const next = newIdempotencyRecord({ created_at: LATER, expires_at: '2025' })
  for (const [name, idempotency] of Object.entries({ silver: first, ruby: next })) {
    const write = { idempotency, audit: newEntry() }
    assert.equal(await storage.insertItem(newItem(name), write), 'inserted')
    assert.deepEqual(await storage.findIdempotencyRecord('acc_1', 'once'), idempotency)
  }
})

test('fingerprints without the prefix are removed once', async (storage) => {
  const prints = ['new.1', 'old.2', 'new3']
  const records = prints.map((fingerprint) =>
    newIdempotencyRecord({ key: fingerprint, fingerprint }),
  )
  await storage.insertAudit(...records.map((idempotency) => ({ idempotency })))

  assert.equal(await storage.clearFingerprints('new.'), 2)
  assert.equal(await storage.clearFingerprints('new.'), 0)

  const found = prints.map((key) => storage.findIdempotencyRecord('acc_1', key))
  const left = (await Promise.all(found)).map((record) => record?.fingerprint)
  assert.deepEqual(left, ['new.1', '', ''])
})
