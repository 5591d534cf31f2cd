import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page, RecordPage, Storage } from '../../../lib/storage/port.ts'
import { all } from '../../support/collect.ts'
import {
  insertAccounts,
  insertProjects,
  newAccount,
  newKey,
  newProject,
  newStore,
} from '../fixtures/records.ts'
import { LATER, newIdempotencyRecord } from '../fixtures/writes.ts'
import type { OpenStorage } from './open.ts'

/** Names in an order that no other column has. */
const NAMES = ['e', 'a', 'd', 'b', 'c']

interface List {
  /** Inserts a record for each name. */
  readonly fill: (storage: Storage) => Promise<void>
  readonly read: (storage: Storage, page: Page) => Promise<RecordPage<object>>
  /** Reads the names of all records, in order. */
  readonly names: readonly string[]
  readonly nameOf: (record: never) => string
}

/** Each paged list of the contract. */
const LISTS: Record<string, List> = {
  listAccounts: {
    async fill(storage) {
      for (const name of NAMES) await storage.insertAccount(newAccount(name), newKey(name, name))
    },
    read: (storage, page) => storage.listAccounts(page),
    names: NAMES,
    nameOf: ({ account_id }: { account_id: string }) => account_id,
  },
  listAccountKeys: {
    async fill(storage) {
      await insertAccounts(storage)
      for (const name of NAMES) await storage.insertAccountKey(newKey('acc_1', name))
    },
    read: (storage, page) => storage.listAccountKeys('acc_1', page),
    names: ['hash-1', ...NAMES],
    nameOf: ({ hash }: { hash: string }) => hash,
  },
  listProjects: {
    async fill(storage) {
      await insertProjects(storage)
      for (const name of NAMES) await storage.insertProject(newProject(name))
    },
    read: (storage, page) => storage.listProjects('acc_1', page),
    names: ['prj_1', 'prj_2', ...NAMES],
    nameOf: ({ id }: { id: string }) => id,
  },
  listFormerPublicKeys: {
    async fill(storage) {
      await insertProjects(storage)
      for (const public_key of [...NAMES, 'last']) {
        await storage.rotatePublicKey('prj_1', { public_key, former_until: LATER })
      }
      await storage.rotatePublicKey('prj_2', { public_key: 'other', former_until: LATER })
    },
    read: (storage, page) => storage.listFormerPublicKeys('prj_1', page),
    names: ['pk_prj_1', ...NAMES],
    nameOf: ({ public_key }: { public_key: string }) => public_key,
  },
  listStores: {
    fill: insertNamedStores,
    read: (storage, page) => storage.listStores('prj_1', page),
    names: NAMES,
    nameOf: ({ store_id }: { store_id: string }) => store_id,
  },
  listStoreSummaries: {
    fill: insertNamedStores,
    read: (storage, page) => storage.listStoreSummaries('prj_1', page),
    names: NAMES,
    nameOf: ({ store_id }: { store_id: string }) => store_id,
  },
  listWatermarks: {
    async fill(storage) {
      await insertProjects(storage)
      for (const user_id of [...NAMES, '', '\u{1F600}', '\uFF5E']) {
        await storage.insertWatermark({ project_id: 'prj_1', user_id, not_after: 1 })
      }
    },
    read: (storage, page) => storage.listWatermarks('prj_1', page),
    names: ['', 'a', 'b', 'c', 'd', 'e', '\uFF5E', '\u{1F600}'],
    nameOf: ({ user_id }: { user_id: string }) => user_id,
  },
  listIdempotencyRecords: {
    async fill(storage) {
      await insertAccounts(storage)
      for (const key of [...NAMES, '\u{1F600}', '\uFF5E']) {
        await storage.insertAudit({ idempotency: newIdempotencyRecord({ key }) })
      }
    },
    read: (storage, page) => storage.listIdempotencyRecords('acc_1', page),
    names: ['a', 'b', 'c', 'd', 'e', '\uFF5E', '\u{1F600}'],
    nameOf: ({ key }: { key: string }) => key,
  },
}

async function insertNamedStores(storage: Storage): Promise<void> {
  await insertProjects(storage)
  for (const name of NAMES) await storage.insertStore(newStore(name))
  await storage.insertStore(newStore('other', { project_id: 'prj_2' }))
}

export function describePages(open: OpenStorage): void {
  for (const [method, { fill, read, names, nameOf }] of Object.entries(LISTS)) {
    test(`pages of any size list each record once, in order: ${method}`, async (t) => {
      const storage = await open(t)
      await fill(storage)

      for (const limit of [1, 2, names.length - 1, names.length, 1000]) {
        const found: string[] = []
        let after: string | undefined
        do {
          const page = await read(storage, after === undefined ? { limit } : { limit, after })
          assert.ok(page.records.length >= 1 && page.records.length <= limit)
          found.push(...page.records.map((record) => nameOf(record as never)))
          after = page.next
        } while (after !== undefined)
        assert.deepEqual(found, names)
      }
    })
  }

  test('a page ends at 1 MiB of configuration', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    const config = { text: 'x'.repeat(60_000) }
    for (let i = 0; i < 30; i++) {
      await storage.insertProject(newProject(`large_${i}`, { config }))
      await storage.insertStore(newStore(`large_${i}`, { store_config: config }))
    }

    for (const read of [
      (page: Page) => storage.listProjects('acc_1', page),
      (page: Page) => storage.listStores('prj_1', page),
    ]) {
      const { records, next } = await read({ limit: 1000 })
      assert.ok(records.length >= 10 && records.length <= 20, String(records.length))
      assert.ok(next)
      assert.ok((await all<object>(read)).length >= 30)
    }
  })

  test('a store summary has no configuration', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    const store_config = { secret: 'x' }
    await storage.insertStore(newStore('a', { is_sandbox: true, status: 'beta', store_config }))

    assert.deepEqual(await storage.listStoreSummaries('prj_1', { limit: 9 }), {
      records: [{ store_id: 'a', store_type: 'web', is_sandbox: true, status: 'beta' }],
    })
  })
}
