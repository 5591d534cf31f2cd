import assert from 'node:assert/strict'
import { test } from 'node:test'
import { all } from '../../support/collect.ts'
import { rename } from '../fixtures/mutate.ts'
import { AT, insertAccounts, newAccount, newKey } from '../fixtures/records.ts'
import { LATER } from '../fixtures/writes.ts'
import type { OpenStorage } from './open.ts'

export function describeAccounts(open: OpenStorage): void {
  test('an account is found unchanged by its id and by the hash of its key', async (t) => {
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

  test('accounts are listed in order of creation, not of their ids', async (t) => {
    const storage = await open(t)
    assert.deepEqual(await all((page) => storage.listAccounts(page)), [])

    for (const id of ['acc_c', 'acc_a', 'acc_b']) {
      await storage.insertAccount(newAccount(id), newKey(id, `hash-${id}`))
    }

    const listed = await all((page) => storage.listAccounts(page))
    assert.deepEqual(listed, [newAccount('acc_c'), newAccount('acc_a'), newAccount('acc_b')])
  })

  test('changing a returned account does not change the stored one', async (t) => {
    const storage = await open(t)
    const account = newAccount('acc_1')
    await storage.insertAccount(account, newKey('acc_1', 'hash-1'))

    rename(account)
    rename(await storage.findAccount('acc_1'))
    rename(await storage.findAccountByKeyHash('hash-1'))
    rename((await all((page) => storage.listAccounts(page)))[0])

    assert.deepEqual(await storage.findAccount('acc_1'), newAccount('acc_1'))
  })

  test('each key of an account finds the account, with the id of the key', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    await storage.insertAccountKey(newKey('acc_1', 'hash-b'))

    const found = await storage.findAccountByKeyHash('hash-b')
    assert.deepEqual(found, { ...newAccount('acc_1'), key_id: 'key_hash-b' })
    assert.equal((await storage.findAccountByKeyHash('hash-1'))?.key_id, 'key_hash-1')
  })

  test('a revoked key finds nothing, stays in the list and cannot be revoked again', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    const key = newKey('acc_1', 'hash-b')
    await storage.insertAccountKey(key)
    await storage.findAccountByKeyHash('hash-b')

    assert.equal(await storage.revokeAccountKey('acc_1', 'key_hash-b', LATER), true)
    assert.equal(await storage.revokeAccountKey('acc_1', 'key_hash-b', AT), false)

    assert.equal(await storage.findAccountByKeyHash('hash-b'), undefined)
    const listed = await all((page) => storage.listAccountKeys('acc_1', page))
    assert.deepEqual(listed, [newKey('acc_1', 'hash-1'), { ...key, revoked_at: LATER }])
  })

  test('a key of another account and an unknown key cannot be revoked', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)

    assert.equal(await storage.revokeAccountKey('acc_1', 'key_hash-2', AT), false)
    assert.equal(await storage.revokeAccountKey('acc_1', 'key_none', AT), false)

    assert.equal((await storage.findAccountByKeyHash('hash-2'))?.account_id, 'acc_2')
  })
}
