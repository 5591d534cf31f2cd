import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Quota, Storage } from '../../../lib/storage/port.ts'
import { all } from '../../support/collect.ts'
import {
  insertAccounts,
  insertProjects,
  insertStores,
  MAIN,
  newProject,
  newStore,
} from '../fixtures/records.ts'
import { auditOf, newEntry, newIdempotencyRecord } from '../fixtures/writes.ts'
import type { OpenStorage } from './open.ts'

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

const projectsOf = (storage: Storage) => all((page) => storage.listProjects(account_id, page))
const storesOf = (storage: Storage) => all((page) => storage.listStores('prj_1', page))

export function describeQuotas(open: OpenStorage): void {
  test('concurrent insertions fill the quota of projects exactly', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    const quota: Quota = { account_id, projects: 5 }

    const kept = await keptOf(
      Array.from({ length: 12 }, (_, i) =>
        storage.insertProject(newProject(`new_${i}`), { audit: newEntry(), quota }),
      ),
    )

    assert.equal(kept, 3)
    assert.equal((await projectsOf(storage)).length, 5)
    assert.equal((await auditOf(storage)).length, 3)
    const foreign = newProject('prj_other', { account_id: 'acc_2' })
    const inserted = storage.insertProject(foreign, { quota: { account_id: 'acc_2', projects: 2 } })
    assert.equal(await inserted, 'inserted')
  })

  test('concurrent insertions fill the quota of stores exactly', async (t) => {
    const storage = await open(t)
    await insertStores(storage)
    const quota: Quota = { account_id, project_id: 'prj_1', stores: 6 }

    const kept = await keptOf(
      Array.from({ length: 12 }, (_, i) => storage.insertStore(newStore(`new_${i}`), { quota })),
    )

    assert.equal(kept, 4)
    assert.equal((await storesOf(storage)).length, 6)
    const side = newStore('of_prj_2', { project_id: 'prj_2' })
    const other: Quota = { account_id, project_id: 'prj_2', stores: 1 }
    assert.equal(await storage.insertStore(side, { quota: other }), 'inserted')
  })

  test('the bytes of all configurations of an account count, also in concurrent updates', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
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

  test('bytes are counted in UTF-8, and a smaller configuration frees bytes', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    const config = { text: 'ü\u{1F600}' }
    const bytes = Buffer.byteLength(JSON.stringify(config))
    const quota: Quota = { account_id, config_bytes: 2 * bytes }
    await storage.insertProject(newProject('prj_1', { config }), { quota })
    await storage.insertProject(newProject('prj_2', { config }), { quota })

    const grown = (text: string) =>
      storage.updateProject('prj_1', (project) => ({ ...project, config: { text } }), { quota })
    await assert.rejects(grown('ü\u{1F600}x'), EXCEEDED)
    assert.deepEqual((await storage.findProject('prj_1'))?.config, config)
    await grown('ü')
    await grown('ü\u{1F600}')
    await assert.rejects(grown('ü\u{1F600}x'), EXCEEDED)
  })

  test('an account above its quota can make changes that do not grow', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    await storage.insertProject(newProject('prj_3', { config: configOf(500) }))
    const quota: Quota = { account_id, projects: 1, config_bytes: 100 }
    const update = (bytes: number) =>
      storage.updateProject(
        'prj_3',
        (project) => ({ ...project, name: 'New', config: configOf(bytes) }),
        { quota },
      )

    await update(500)
    await assert.rejects(update(501), EXCEEDED)
    await update(400)

    assert.deepEqual((await storage.findProject('prj_3'))?.config, configOf(400))
    await assert.rejects(storage.insertProject(newProject('prj_4'), { quota }), EXCEEDED)
  })

  test('a refused insertion stores no idempotency record, and a repeat ignores the quota', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    const quota: Quota = { account_id, projects: 3 }
    const first = { idempotency: newIdempotencyRecord({ key: 'first' }), quota }
    const second = { idempotency: newIdempotencyRecord({ key: 'second' }), quota }
    await storage.insertProject(newProject('prj_3'), first)

    assert.equal(await storage.insertProject(newProject('prj_4'), first), 'repeated')
    await assert.rejects(storage.insertProject(newProject('prj_4'), second), EXCEEDED)

    assert.equal(await storage.findIdempotencyRecord(account_id, 'second'), undefined)
  })

  test('the error message names the quota and its value', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    const refused = (quota: Omit<Quota, 'account_id'>) =>
      storage.insertStore(newStore('new'), { quota: { account_id, project_id: 'prj_1', ...quota } })

    const stores = 'A project may have at most 0 stores'
    await assert.rejects(refused({ stores: 0 }), { ...EXCEEDED, message: stores })
    const bytes = 'The config and store_config of an account may have at most 5 bytes together'
    await assert.rejects(refused({ config_bytes: 5 }), { ...EXCEEDED, message: bytes })
    const projects = storage.insertProject(newProject('n'), { quota: { account_id, projects: 2 } })
    const message = 'An account may have at most 2 projects'
    await assert.rejects(projects, { ...EXCEEDED, message })
  })
}
