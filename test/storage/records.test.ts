// run: runtime
import assert from 'node:assert/strict'
import type { JsonObject } from '../../lib/domain/json.ts'
import type { Page, RecordPage, Storage } from '../../lib/storage/port.ts'
import { pagesOf } from '../../lib/storage/sql/lists.ts'
import { all, collect } from '../support/collect.ts'
import { testsOn } from '../support/databases.ts'
import {
  AT,
  awkwardObject,
  insertProjects,
  insertShops,
  newAccount,
  newItem,
  newKey,
  newProject,
  newStore,
} from '../support/storage/records.ts'
import { newEntry } from '../support/storage/writes.ts'

const ODD = 'line\nline\ttab Stüdio 日本 \u{1F600} \u2028 \u007f \\ "quoted" \''
/** Compares the order of keys too, and treats `__proto__` as a normal key. */
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

const signingKey = (kid: string) => ({ kid, secret: new Uint8Array(32).fill(7), created_at: AT })

/** Names in an order that no other column has. */
const NAMES = ['e', 'a', 'd', 'b', 'c']

interface List {
  insert(storage: Storage, name: string): Promise<unknown>
  read(storage: Storage, page: Page): Promise<RecordPage<object>>
  readonly nameOf: (record: never) => string
  readonly names: readonly string[]
}

/** A list of all records, and one of an owner. */
const LISTS: Record<string, List> = {
  listAccounts: {
    insert: (storage, name) => storage.insertAccount(newAccount(name), newKey(name, name)),
    read: (storage, page) => storage.listAccounts(page),
    names: ['acc_1', 'acc_2', ...NAMES],
    nameOf: ({ account_id }: { account_id: string }) => account_id,
  },
  listAccountKeys: {
    insert: (storage, name) => storage.insertAccountKey(newKey('acc_1', `hash-${name}`)),
    read: (storage, page) => storage.listAccountKeys('acc_1', page),
    names: ['hash-1', ...NAMES.map((name) => `hash-${name}`)],
    nameOf: ({ hash }: { hash: string }) => hash,
  },
}

const test = testsOn(insertShops)

test('records with odd values are returned as they were inserted', async (storage) => {
  const account = newAccount('acc_9', { name: ODD })
  const project = newProject('prj_9', { name: ODD, config: awkwardObject() })
  const store = newStore('odd', { store_type: 'iap', store_config: awkwardObject() })
  const item = newItem('odd', { description: ODD, metadata: awkwardObject() })
  await storage.insertAccount(account, newKey('acc_9', 'hash-9'))
  await storage.insertProject(project)
  await storage.insertStore(store)
  await storage.insertItem(item)

  assert.deepEqual(await storage.findAccount('acc_9'), account)
  assertUnchanged(await storage.findProject('prj_9'), project)
  assertUnchanged(await storage.findStore('acc_1', 'odd'), store)
  assertUnchanged(await storage.findItem('itm_odd'), item)
})

test('pages of any size list each record once, in their order', async (storage) => {
  for (const [method, { insert, read, names, nameOf }] of Object.entries(LISTS)) {
    for (const name of NAMES) await insert(storage, name)

    for (const limit of [1, 2, names.length - 1, names.length, 1000]) {
      const found: string[] = []
      for await (const { records } of pagesOf((page) => read(storage, page), limit)) {
        assert.ok(records.length >= 1 && records.length <= limit)
        found.push(...records.map((record) => nameOf(record as never)))
      }
      assert.deepEqual(found, names, method)
    }
  }
})

test('a page of items ends at 512 KiB of text, and has at least one item', async (storage) => {
  const text = (length: number) => ({ metadata: { text: 'x'.repeat(length) } })
  const items = [
    ...['a', 'b', 'c', 'd'].map((name) => newItem(name, text(200_000))),
    ...['e', 'f'].map((name) => newItem(name, text(750_000))),
    ...['g', 'h', 'i'].map((name) => newItem(name, { description: 'x'.repeat(200_000) })),
  ]
  const store = { account_id: 'acc_1', store_id: 'large' }
  await storage.insertStore(newStore('large'))
  for (const item of items) await storage.insertItem({ ...item, store_id: 'large' })

  const pages = await collect(pagesOf((page) => storage.listItems(store, page), 100))
  const names = pages.map(({ items }) => items.map(({ name }) => name).join(''))
  assert.deepEqual(names, ['abc', 'de', 'f', 'ghi'])
  assert.equal((await storage.listItems(store, { limit: 2 })).next, 'itm_b')
})

test('a page ends at 128 KiB of configuration, and a store summary has none', async (storage) => {
  const config = { text: 'x'.repeat(60_000) }
  for (let i = 0; i < 30; i++) {
    await storage.insertProject(newProject(`large_${i}`, { account_id: 'acc_2', config }))
    const store = newStore(`large_${i}`, { project_id: 'prj_2', store_config: config })
    await storage.insertStore(store)
  }
  for (const read of [
    (page: Page) => storage.listProjects('acc_2', page),
    (page: Page) => storage.listStores('prj_2', page),
  ]) {
    const { records, next } = await read({ limit: 1000 })
    assert.ok(records.length >= 3 && records.length <= 4, String(records.length))
    assert.ok(next)
    assert.ok((await all<object>(read)).length >= 30)
  }
  const { records } = await storage.listStoreSummaries('prj_2', { limit: 1 })
  const summary = { store_type: 'web', is_sandbox: false, status: 'active' }
  assert.deepEqual(records, [{ store_id: 'large_0', ...summary }])
})

const testProjects = testsOn(insertProjects)

const kidsOf = async (storage: Storage) => (await storage.listSigningKeys()).map(({ kid }) => kid)
const rotate = (storage: Storage, kid: string, drop: (kids: string[]) => string[] = () => []) =>
  storage.rotateSigningKeys(signingKey(kid), (keys) => drop(keys.map(({ kid }) => kid)), {
    audit: newEntry(),
  })

testProjects('of concurrent first signing keys, one is inserted', async (storage) => {
  const keys = ['k1', 'k2', 'k3'].map(signingKey)
  await Promise.all(keys.map((key) => storage.insertFirstSigningKey(key)))

  const kids = await kidsOf(storage)
  assert.equal(kids.length, 1)
  const [key] = await storage.listSigningKeys()
  assert.deepEqual(Uint8Array.from(key?.secret ?? []), signingKey('k').secret)
  await storage.insertFirstSigningKey(signingKey('k4'))
  assert.deepEqual(await kidsOf(storage), kids)
})

testProjects('a rotation adds its key, and deletes those it chooses of all', async (storage) => {
  for (const kid of ['c', 'a', 'b', "'"]) await rotate(storage, kid)
  const chosen = ["'", 'a', 'gone', 'a', '%']
  const dropped = await rotate(storage, 'd', (kids) => {
    assert.deepEqual(kids, ['c', 'a', 'b', "'", 'd'])
    return chosen
  })
  assert.deepEqual(dropped, chosen)
  assert.deepEqual(await kidsOf(storage), ['c', 'b', 'd'])
  const failed = rotate(storage, 'e', () => assert.fail('refused'))
  await assert.rejects(failed, /refused/)
  assert.deepEqual(await kidsOf(storage), ['c', 'b', 'd'])

  const only = (own: string) => rotate(storage, own, (kids) => kids.filter((kid) => kid !== own))
  await Promise.all(['w', 'x', 'y', 'z'].map(only))
  assert.equal((await kidsOf(storage)).length, 1)
})

testProjects('each of concurrent revocations raises the watermark', async (storage) => {
  const revoke = (user_id: string) =>
    storage.revokeTokens({ project_id: 'prj_1', user_id, at: 100 })
  await revoke('')
  await Promise.all(['ann', 'ann', 'bob', 'ann'].map(revoke))
  const found = ['ann', 'bob', 'eve'].map((user) => storage.findWatermark('prj_1', user))
  assert.deepEqual(await Promise.all(found), [103, 101, 100])
  await revoke('')
  assert.equal(await storage.findWatermark('prj_1', 'eve'), 104)
})
