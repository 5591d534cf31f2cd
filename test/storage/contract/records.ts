import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { pagesOf } from '../../../lib/storage/pages.ts'
import type { Page, RecordPage, Storage, WriteOptions } from '../../../lib/storage/port.ts'
import { all } from '../../support/collect.ts'
import { assertUnchanged, spoil } from '../fixtures/mutate.ts'
import {
  AT,
  awkwardObject,
  insertProjects,
  insertShops,
  itemsOf,
  MAIN,
  newAccount,
  newItem,
  newKey,
  newProject,
  newStore,
} from '../fixtures/records.ts'
import { auditOf, newEntry } from '../fixtures/writes.ts'
import { type OpenStorage, testsOn } from './open.ts'

const ODD = 'line\nline\ttab Stüdio 日本 \u{1F600} \u2028 \u007f \\ "quoted" \''
const signingKey = (kid: string) => ({ kid, secret: new Uint8Array(32).fill(7), created_at: AT })

type Change = <R extends object>(current: R) => R

interface Update {
  run(storage: Storage, change: Change, id?: string, write?: WriteOptions): Promise<unknown>
  /** Every read that returns the record. */
  readonly reads: readonly [Read, ...Read[]]
  readonly id: string
  /** A value for each field that an update may change. */
  readonly change: object
  /** The field with an object. */
  readonly config: string
}

type Read = (storage: Storage) => Promise<object | undefined>

const UPDATES: Record<string, Update> = {
  project: {
    run: (storage, change, id = 'prj_1', write = {}) => storage.updateProject(id, change, write),
    reads: [
      (storage) => storage.findProject('prj_1'),
      (storage) => storage.findProjectByPublicKey('pk_prj_1'),
      async (storage) => (await all((page) => storage.listProjects('acc_1', page)))[0],
    ],
    id: 'prj_1',
    change: {
      name: ODD,
      platform: 'ios',
      status: 'disabled',
      dlscheme: 'game',
      config: awkwardObject(),
    },
    config: 'config',
  },
  store: {
    run: (storage, change, store_id = 'main', write = {}) =>
      storage.updateStore({ account_id: 'acc_1', store_id }, change, write),
    reads: [
      (storage) => storage.findStore('acc_1', 'main'),
      (storage) => storage.findStore('acc_1', 'main', 'prj_1'),
      async (storage) => (await all((page) => storage.listStores('prj_1', page)))[0],
    ],
    id: 'main',
    change: { is_sandbox: true, status: 'paused', store_config: awkwardObject() },
    config: 'store_config',
  },
  item: {
    run: (storage, change, id = 'itm_gold', write = {}) => storage.updateItem(id, change, write),
    reads: [
      (storage) => storage.findItem('itm_gold'),
      (storage) => storage.findItemByName(MAIN, 'gold'),
      async (storage) => (await itemsOf(storage, MAIN))[0],
    ],
    id: 'itm_gold',
    change: {
      ...{ display_name: ODD, description: ODD, price: Number.MAX_SAFE_INTEGER },
      ...{ metadata: awkwardObject(), archived_at: AT },
    },
    config: 'metadata',
  },
}

/** Names in an order that no other column has. */
const NAMES = ['e', 'a', 'd', 'b', 'c']
const WIDE = ['\uFF5E', '\u{1F600}'] // in the order of their bytes, which is not that of UTF-16

interface List {
  insert(storage: Storage, name: string): Promise<unknown>
  read(storage: Storage, page: Page): Promise<RecordPage<object>>
  readonly nameOf: (record: never) => string
  readonly names: readonly string[]
}

/** A list of all records, one of an owner, and one that is ordered by names. */
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
  listWatermarks: {
    insert: (storage, user_id) => storage.revokeTokens({ project_id: 'prj_1', user_id, at: 1 }),
    read: (storage, page) => storage.listWatermarks('prj_1', page),
    names: [...NAMES.toSorted(), ...WIDE],
    nameOf: ({ user_id }: { user_id: string }) => user_id,
  },
}

export function describeRecords(open: OpenStorage): void {
  const test = testsOn(open, insertShops)

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

  for (const [what, { run, reads, id, change, config }] of Object.entries(UPDATES)) {
    test(`an update of the ${what} replaces its fields and changes no other, or writes nothing`, async (storage) => {
      const [read] = reads
      const before = await read(storage)
      const readAll = async () => [
        ...(await all((page) => storage.listProjects('acc_1', page))),
        ...(await all((page) => storage.listProjects('acc_2', page))),
        ...(await all((page) => storage.listStores('prj_1', page))),
        await storage.findStore('acc_2', 'main'),
        ...(await itemsOf(storage, MAIN)),
        await storage.findItem('itm_side_gold'),
        await storage.findItem('itm_foreign_gold'),
      ]
      const records = await readAll()
      const place = records.findIndex((each) => isDeepStrictEqual(each, before))
      const write = { audit: newEntry() }
      const error = new Error('refused')
      const refuse = (current: object) => {
        spoil(current)
        throw error
      }

      assert.deepEqual(await run(storage, (current) => current, id, write), before)
      assert.equal(await run(storage, () => assert.fail('asked'), 'none', write), undefined)
      await assert.rejects(run(storage, refuse, id, write), error)
      assert.deepEqual(await readAll(), records)
      assert.deepEqual(await auditOf(storage), [])

      const expected = { ...before, ...change, ...(what === 'item' && { version: 2 }) }
      const updated = await run(storage, (current) => {
        assert.deepEqual(current, before)
        return { ...current, ...change }
      })
      assertUnchanged(updated, expected)
      for (const read of reads) {
        spoil(await read(storage)) // may be cached
        assertUnchanged(await read(storage), expected)
      }
      assert.deepEqual(await readAll(), records.with(place, expected as never))

      const numbers = Array.from({ length: 20 }, (_, number) => number)
      const add = (number: number) =>
        run(storage, (current) => {
          const { seen = [] } = (current as Record<string, { seen?: number[] }>)[config] ?? {}
          return { ...current, [config]: { seen: [...seen, number] } }
        })
      await Promise.all(numbers.map(add))
      const found = (await read(storage)) as unknown as Record<string, { seen: number[] }>
      const seen = found[config]?.seen.toSorted((a, b) => a - b)
      assert.deepEqual(seen, numbers, 'a concurrent update is lost')
    })
  }

  test('pages of any size list each record once, in their order', async (storage) => {
    for (const [method, { insert, read, names, nameOf }] of Object.entries(LISTS)) {
      const wide = method === 'listWatermarks' ? WIDE : []
      for (const name of [...NAMES, ...wide]) await insert(storage, name)

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

  test('a page ends at 1 MiB of configuration, and a store summary has none', async (storage) => {
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
      assert.ok(records.length >= 10 && records.length <= 20, String(records.length))
      assert.ok(next)
      assert.ok((await all<object>(read)).length >= 30)
    }
    const { records } = await storage.listStoreSummaries('prj_2', { limit: 1 })
    const summary = { store_type: 'web', is_sandbox: false, status: 'active' }
    assert.deepEqual(records, [{ store_id: 'large_0', ...summary }])
  })
}

export function describeKeys(open: OpenStorage): void {
  const test = testsOn(open, insertProjects)

  const kidsOf = async (storage: Storage) => (await storage.listSigningKeys()).map(({ kid }) => kid)
  const rotate = (storage: Storage, kid: string, drop: (kids: string[]) => string[] = () => []) =>
    storage.rotateSigningKeys(signingKey(kid), (keys) => drop(keys.map(({ kid }) => kid)), {
      audit: newEntry(),
    })

  test('of concurrent first signing keys one is inserted, and none when there is a key', async (storage) => {
    const keys = ['k1', 'k2', 'k3'].map(signingKey)
    await Promise.all(keys.map((key) => storage.insertFirstSigningKey(key)))

    const kids = await kidsOf(storage)
    assert.equal(kids.length, 1)
    const [key] = await storage.listSigningKeys()
    assert.deepEqual(Uint8Array.from(key?.secret ?? []), signingKey('k').secret)
    await storage.insertFirstSigningKey(signingKey('k4'))
    assert.deepEqual(await kidsOf(storage), kids)
  })

  test('a rotation passes all keys to drop, the new one last, and deletes those it returns', async (storage) => {
    for (const kid of ['c', 'a', 'b', "'"]) await rotate(storage, kid)
    assert.deepEqual(await kidsOf(storage), ['c', 'a', 'b', "'"])
    const chosen = ["'", 'a', 'gone', 'a', '%']
    const dropped = await rotate(storage, 'd', (kids) => {
      assert.deepEqual(kids, ['c', 'a', 'b', "'", 'd'])
      return chosen
    })

    assert.deepEqual(dropped, chosen)
    await rotate(storage, 'a')
    assert.deepEqual(await kidsOf(storage), ['c', 'b', 'd', 'a'])
    const entries = (await auditOf(storage)).length
    await assert.rejects(
      rotate(storage, 'e', () => assert.fail('refused')),
      /refused/,
    )
    assert.deepEqual(await kidsOf(storage), ['c', 'b', 'd', 'a'])
    assert.equal((await auditOf(storage)).length, entries)
  })

  test('concurrent rotations that drop all other keys leave one key', async (storage) => {
    const only = (own: string) => rotate(storage, own, (kids) => kids.filter((kid) => kid !== own))
    await Promise.all(['a', 'b', 'c', 'd'].map(only))

    assert.equal((await kidsOf(storage)).length, 1)
  })
}

export function describeWatermarks(open: OpenStorage): void {
  const test = testsOn(open, insertProjects)

  test('a revocation raises the watermark above those it covers, or to its time', async (storage) => {
    const revoke = async (user_id: string, at: number) => {
      await storage.revokeTokens({ project_id: 'prj_1', user_id, at })
      const users = ['ann', 'bob', 'eve'] as const
      return Promise.all(users.map((user) => storage.findWatermark('prj_1', user)))
    }

    assert.deepEqual(await revoke('ann', 100), [100, 0, 0])
    assert.deepEqual(await revoke('ann', 100), [101, 0, 0])
    assert.deepEqual(await revoke('bob', 200), [101, 200, 0])
    assert.deepEqual(await revoke('ann', 50), [102, 200, 0])
    assert.deepEqual(await revoke('', 100), [201, 201, 201])
    assert.deepEqual(await revoke('ann', 100), [202, 201, 201])
    assert.deepEqual(await revoke('', 300), [300, 300, 300])
    assert.equal(await storage.findWatermark('prj_2', 'ann'), 0)

    // Of several at the same time, each raises it.
    const revokeAt100 = (user_id: string) =>
      storage.revokeTokens({ project_id: 'prj_1', user_id, at: 100 })
    await Promise.all(['ann', '', 'ann', 'bob', '', 'ann', ''].map(revokeAt100))
    const raised = await storage.findWatermark('prj_1', 'ann')
    assert.ok(raised >= 302, String(raised))
    await Promise.all([revokeAt100('ann'), revokeAt100('ann')])
    assert.equal(await storage.findWatermark('prj_1', 'ann'), raised + 2)
  })
}
