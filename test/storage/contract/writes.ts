import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import type { AuditAction } from '../../../lib/domain/audit.ts'
import type { Authority } from '../../../lib/domain/authority.ts'
import { takeInventory } from '../../../lib/storage/copy.ts'
import { pagesOf } from '../../../lib/storage/pages.ts'
import type {
  AuditPage,
  CachedChange,
  Page,
  Quota,
  Storage,
  WriteOptions,
} from '../../../lib/storage/port.ts'
import { all, collect } from '../../support/collect.ts'
import { openImport } from '../fixtures/imports.ts'
import {
  AT,
  insertProjects,
  insertShops,
  insertStores,
  itemsOf,
  MAIN,
  newAccount,
  newItem,
  newKey,
  newProject,
  newRow,
  newStore,
  SIDE,
} from '../fixtures/records.ts'
import { auditOf, LATER, newEntry, newIdempotencyRecord } from '../fixtures/writes.ts'
import { type OpenStorage, testsOn } from './open.ts'

/** Each method that writes an audit entry with its change. */
const CHANGES: Record<
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
  rotateSigningKeys: (storage, write) => {
    const key = { kid: 'kid', secret: new Uint8Array(32), created_at: AT }
    return storage.rotateSigningKeys(key, () => [], write)
  },
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

/** An import of one row. It aborts when its commit fails. */
async function importOne(storage: Storage, write: WriteOptions): Promise<void> {
  const current = await openImport(storage, MAIN, 'imp_1')
  await current.add([newRow(2)])
  await current.finish()
  try {
    await current.commit(write)
  } finally {
    await current.abort()
  }
}

async function subjectsOf(read: (page: Page) => Promise<AuditPage>, limit: number) {
  const pages = await collect(pagesOf(read, limit))
  return pages.map(({ entries }) => entries.map(({ subject }) => subject).join(''))
}

export function describeAudit(open: OpenStorage): void {
  const test = testsOn(open, insertShops)

  test('each change writes its audit entry and notifies, and is rolled back without the entry', async (storage) => {
    let writes = 0
    const end = storage.onWrite(() => writes++)
    const refused = {
      audit: newEntry(),
      idempotency: newIdempotencyRecord({ account_id: 'acc_none' }), // is written after the entry
    }
    const before = await takeInventory(storage, AT)
    for (const [method, change] of Object.entries(CHANGES)) {
      await assert.rejects(change(storage, refused), Error, method)
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
    await storage.revokeAccountKey('acc_1', 'key_none', AT, write)
    assert.deepEqual(await auditOf(storage), entries, 'of a call that changes nothing')
    await setImmediate()
    assert.equal(writes, 1)
    end()
  })

  test('the audit log is listed in pages: of an account, newest first, or of an item', async (storage) => {
    const write = (subject: string, account_id = 'acc_1', action: AuditAction = 'item.create') =>
      storage.insertAudit({ audit: newEntry({ subject, account_id, action }) })
    for (const subject of ['1', '2', '3']) await write(subject)
    const items = ['item.create', 'item.update', 'item.archive', 'item.restore'] as const
    for (const action of items) await write('g', 'acc_2', action)
    await write('4')

    const lists = await Promise.all([
      subjectsOf((page) => storage.listAudit('acc_1', page), 3),
      subjectsOf((page) => storage.listRecentAudit('acc_1', page), 3),
      subjectsOf((page) => storage.listItemAudit('g', page), 2),
    ])
    assert.deepEqual(lists, [
      ['123', '4'],
      ['432', '1'],
      ['gg', 'g'],
    ])
    const { entries } = await storage.listItemAudit('g', { limit: 9 })
    const actions = entries.map(({ action }) => action)
    assert.deepEqual(actions, ['item.restore', 'item.archive', 'item.update'])
  })
}

export function describeIdempotency(open: OpenStorage): void {
  const test = testsOn(open, insertStores)

  test('a repeat inserts nothing, whatever it would insert, and a taken name keeps no record', async (storage) => {
    const write = { idempotency: newIdempotencyRecord(), audit: newEntry() }
    const other = { idempotency: newIdempotencyRecord({ key: 'other' }) }
    const again = newItem('gold', { id: 'itm_again' })

    const both = ['gold', 'gold'].map((name) => storage.insertItem(newItem(name), write))
    assert.deepEqual((await Promise.all(both)).toSorted(), ['inserted', 'repeated'])
    assert.equal(await storage.insertItem(newItem('gem'), write), 'repeated')
    assert.equal(await storage.insertStore(newStore('more'), write), 'repeated')
    assert.equal(await storage.insertProject(newProject('prj_9'), write), 'repeated')
    assert.equal(await storage.insertItem(again, other), 'taken')

    assert.deepEqual(await storage.findIdempotencyRecord('acc_1', 'once'), newIdempotencyRecord())
    assert.equal(await storage.findIdempotencyRecord('acc_1', 'other'), undefined)
    assert.deepEqual(await itemsOf(storage, MAIN), [newItem('gold')])
    assert.equal(await storage.findProject('prj_9'), undefined)
    assert.equal((await auditOf(storage)).length, 1)
  })

  test('an expired record is replaced by the next call with its key', async (storage) => {
    const first = newIdempotencyRecord()
    const next = newIdempotencyRecord({ created_at: LATER, expires_at: '2025' })
    for (const [name, idempotency] of Object.entries({ gold: first, gem: next })) {
      const write = { idempotency, audit: newEntry() }
      assert.equal(await storage.insertItem(newItem(name), write), 'inserted')
      assert.deepEqual(await storage.findIdempotencyRecord('acc_1', 'once'), idempotency)
    }
  })

  test('fingerprints are replaced in pages, and only changed ones are counted', async (storage) => {
    const records = [1, 2, 3, 4, 5].map((i) =>
      newIdempotencyRecord({ key: `k"${i}`, fingerprint: `f${i}` }),
    )
    await storage.insertAudit(...records.map((idempotency) => ({ idempotency })))
    const change = (fingerprint: string) => (fingerprint === 'f2' ? 'f2' : `new ${fingerprint}`)

    const first = await storage.updateFingerprints(change, { limit: 3 })
    const after = first.next ?? assert.fail('it was all')
    const second = await storage.updateFingerprints(change, { limit: 3, after })

    assert.deepEqual([first.updated, second.updated, second.next], [2, 2, undefined])
    for (const record of records) {
      const expected = { ...record, fingerprint: change(record.fingerprint) }
      assert.deepEqual(await storage.findIdempotencyRecord('acc_1', record.key), expected)
    }
  })
}

const KEY: Authority = { key_id: 'key_hash-1' }
const TOKEN = { project_id: 'prj_1', user_id: 'ann', issued_under: 5, issued_at: 0 }
const STORE: Authority = { store: MAIN }

const revokeTokens = (storage: Storage, user_id: string, at: number, project_id = 'prj_1') =>
  storage.revokeTokens({ project_id, user_id, at })

const NO_KEY = 'account_key_required'
const NO_TOKEN = 'token_required'

/** The authorities that are refused after `revokeAll`. */
const REVOKED: readonly (readonly [what: string, Authority, code: string])[] = [
  ['a revoked account key', KEY, NO_KEY],
  ['a token of a user whose tokens were revoked', { token: TOKEN }, NO_TOKEN],
  ['a token of a revoked project', { token: { ...TOKEN, project_id: 'prj_2' } }, NO_TOKEN],
  ['a token of a disabled project', { token: { ...TOKEN, project_id: 'prj_3' } }, NO_TOKEN],
  ['a disabled store', STORE, 'store_inactive'],
]

async function revokeAll(storage: Storage): Promise<void> {
  await storage.revokeAccountKey('acc_1', 'key_hash-1', AT)
  await revokeTokens(storage, 'ann', 6)
  await revokeTokens(storage, '', 6, 'prj_2')
  await storage.insertProject(newProject('prj_3', { status: 'disabled' }))
  await storage.updateStore(MAIN, (store) => ({ ...store, status: 'disabled' }))
}

export function describeAuthority(open: OpenStorage): void {
  const test = testsOn(open, insertShops)

  test('no change is written with an authority that was revoked', async (storage) => {
    await storage.revokeAccountKey('acc_2', 'key_hash-2', AT)
    await revokeTokens(storage, 'bob', 9)
    await revokeTokens(storage, 'ann', 5)
    await storage.updateStore(SIDE, (store) => ({ ...store, status: 'disabled' }))
    for (const authority of [KEY, { token: TOKEN }, STORE, {}]) {
      await storage.verifyAuthority(authority)
    }

    await revokeAll(storage)
    const before = await takeInventory(storage, AT)
    for (const [what, authority, code] of REVOKED) {
      await assert.rejects(storage.verifyAuthority(authority), { code }, what)
      await assert.rejects(storage.insertAudit({ authority, audit: newEntry() }), { code }, what)
    }
    for (const [, authority, code] of REVOKED.slice(0, 2)) {
      const write = { authority, audit: newEntry() }
      const once = { ...write, idempotency: newIdempotencyRecord() }
      for (const [method, change] of Object.entries(CHANGES)) {
        await assert.rejects(change(storage, once), { code }, method)
        await assert.rejects(change(storage, write), { code }, method)
      }
      await assert.rejects(importOne(storage, write), { code })
    }
    assert.deepEqual(await takeInventory(storage, AT), before)
  })

  test('a key can revoke itself, and of two keys that revoke each other one succeeds', async (storage) => {
    for (const hash of ['a', 'b', 'c']) await storage.insertAccountKey(newKey('acc_1', hash))
    const revoke = (by: string, key: string) =>
      storage.revokeAccountKey('acc_1', `key_${key}`, LATER, { authority: { key_id: `key_${by}` } })

    assert.equal(await revoke('c', 'c'), true)
    const settled = await Promise.allSettled([revoke('a', 'b'), revoke('b', 'a')])

    assert.deepEqual(settled.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    const { records } = await storage.listAccountKeys('acc_1', { limit: 10 })
    assert.equal(records.filter(({ revoked_at }) => revoked_at).length, 2)
  })
}

const EXCEEDED = { code: 'quota_exceeded', kind: 'invalid' }
const account_id = 'acc_1'

/** Makes a configuration with this number of bytes as JSON. */
function configOf(bytes: number): { text: string } {
  return { text: 'x'.repeat(bytes - '{"text":""}'.length) }
}

/** Counts the fulfilled promises. The others must be rejected with `quota_exceeded`. */
async function keptOf(all: readonly Promise<unknown>[]): Promise<number> {
  const settled = await Promise.allSettled(all)
  for (const each of settled) {
    if (each.status === 'rejected') assert.equal(each.reason.code, 'quota_exceeded', each.reason)
  }
  return settled.filter(({ status }) => status === 'fulfilled').length
}

export function describeQuotas(open: OpenStorage): void {
  const test = testsOn(open, insertProjects)
  const projectsOf = (storage: Storage) => all((page) => storage.listProjects(account_id, page))
  const storesOf = (storage: Storage) => all((page) => storage.listStores('prj_1', page))

  test('concurrent insertions fill the quotas exactly, each for its own account or project', async (storage) => {
    const names = Array.from({ length: 12 }, (_, i) => `new_${i}`)
    const projects = { quota: { account_id, projects: 5 }, audit: newEntry() }
    const stores = { quota: { account_id, project_id: 'prj_1', stores: 4 } }

    const kept = [
      await keptOf(names.map((name) => storage.insertProject(newProject(name), projects))),
      await keptOf(names.map((name) => storage.insertStore(newStore(name), stores))),
    ]

    assert.deepEqual(kept, [3, 4])
    assert.equal((await projectsOf(storage)).length, 5)
    assert.equal((await storesOf(storage)).length, 4)
    assert.equal((await auditOf(storage)).length, 3)
    const project = newProject('prj_other', { account_id: 'acc_2' })
    const foreign = { quota: { account_id: 'acc_2', projects: 2 } }
    assert.equal(await storage.insertProject(project, foreign), 'inserted')
    const store = newStore('of_prj_2', { project_id: 'prj_2' })
    const other = { quota: { account_id, project_id: 'prj_2', stores: 1 } }
    assert.equal(await storage.insertStore(store, other), 'inserted')
  })

  test('the bytes of all configurations of an account count, also in concurrent updates', async (storage) => {
    await storage.insertStore(newStore('main'))
    // Each of the three records has {}.
    const quota: Quota = { account_id, config_bytes: 1000 + 2 * 2 }
    const config = configOf(1000)

    const kept = await keptOf([
      storage.updateProject('prj_1', (project) => ({ ...project, config }), { quota }),
      storage.updateProject('prj_2', (project) => ({ ...project, config }), { quota }),
      storage.updateStore(MAIN, (store) => ({ ...store, store_config: config }), { quota }),
    ])

    assert.equal(kept, 1)
    await assert.rejects(storage.insertProject(newProject('prj_3'), { quota }), EXCEEDED)
    await assert.rejects(storage.insertStore(newStore('side'), { quota }), EXCEEDED)
    assert.equal((await projectsOf(storage)).length, 2)
    assert.equal((await storesOf(storage)).length, 1)
  })

  test('bytes are counted in UTF-8, and an account above its quota can make changes that do not grow', async (storage) => {
    const sized = { text: 'ü\u{1F600}' }
    const config_bytes = 2 * Buffer.byteLength(JSON.stringify(sized)) + 2 * 2
    await storage.insertProject(newProject('prj_3', { config: sized }))
    const update = (id: string, config: { text: string }, quota: Partial<Quota>) =>
      storage.updateProject(id, (project) => ({ ...project, config }), {
        quota: { account_id, ...quota },
      })
    await storage.insertProject(newProject('prj_4', { config: sized }), {
      quota: { account_id, config_bytes },
    })

    const grown = { text: 'ü\u{1F600}x' }
    await assert.rejects(update('prj_3', grown, { config_bytes }), EXCEEDED)
    await update('prj_3', { text: 'ü' }, { config_bytes })
    await update('prj_3', sized, { config_bytes })
    await assert.rejects(update('prj_3', grown, { config_bytes }), EXCEEDED)
    assert.deepEqual((await storage.findProject('prj_3'))?.config, sized)

    const below = { projects: 1, config_bytes: 100 }
    await storage.updateProject('prj_4', (project) => ({ ...project, config: configOf(500) }))
    await update('prj_4', configOf(500), below)
    await assert.rejects(update('prj_4', configOf(501), below), EXCEEDED)
    await update('prj_4', configOf(400), below)
    const quota = { account_id, ...below }
    await assert.rejects(storage.insertProject(newProject('prj_5'), { quota }), EXCEEDED)
  })
}
