import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Project } from '../../../lib/domain/project.ts'
import { all } from '../../support/collect.ts'
import { append, assertUnchanged, rename } from '../fixtures/mutate.ts'
import {
  AT,
  awkwardObject,
  insertAccounts,
  insertProjects,
  newProject,
} from '../fixtures/records.ts'
import { LATER, newEntry } from '../fixtures/writes.ts'
import type { OpenStorage } from './open.ts'

export function describeProjects(open: OpenStorage): void {
  test('a project is found unchanged by its id and by its public key', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    const project = newProject('prj_1', { config: awkwardObject() })

    await storage.insertProject(project)

    assertUnchanged(await storage.findProject('prj_1'), project)
    assertUnchanged(await storage.findProjectByPublicKey('pk_prj_1'), project)
  })

  test('an unknown id and an unknown public key find nothing', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    await storage.insertProject(newProject('prj_1'))

    assert.equal(await storage.findProject('pk_prj_1'), undefined)
    assert.equal(await storage.findProjectByPublicKey('prj_1'), undefined)
  })

  test('an account lists its own projects only, in order of creation', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    assert.deepEqual(await all((page) => storage.listProjects('acc_1', page)), [])

    await storage.insertProject(newProject('prj_c'))
    await storage.insertProject(newProject('prj_other', { account_id: 'acc_2' }))
    await storage.insertProject(newProject('prj_a'))

    const listed = await all((page) => storage.listProjects('acc_1', page))
    assert.deepEqual(listed, [newProject('prj_c'), newProject('prj_a')])
    assert.deepEqual(await all((page) => storage.listProjects('acc_3', page)), [])
  })

  test('an update replaces the changed fields, and resolves to the new project', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    await storage.insertProject(newProject('prj_1', { config: { old: true } }))
    await storage.insertProject(newProject('prj_2'))
    const change = {
      name: 'New',
      platform: 'ios',
      status: 'disabled',
      dlscheme: 'game',
      config: awkwardObject(),
    }

    const updated = await storage.updateProject('prj_1', (current) => ({ ...current, ...change }))

    assertUnchanged(updated, newProject('prj_1', change))
    assertUnchanged(await storage.findProject('prj_1'), newProject('prj_1', change))
    assert.deepEqual(await storage.findProject('prj_2'), newProject('prj_2'))
  })

  test('an updated project keeps its place in the list', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    await storage.insertProject(newProject('prj_1'))
    await storage.insertProject(newProject('prj_2'))

    await storage.updateProject('prj_1', (current) => ({ ...current, name: 'New' }))

    const names = (await all((page) => storage.listProjects('acc_1', page))).map(({ id, name }) => [
      id,
      name,
    ])
    assert.deepEqual(names, [
      ['prj_1', 'New'],
      ['prj_2', 'Game'],
    ])
  })

  test('an update of an unknown project resolves to undefined and does not call change', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)

    const updated = await storage.updateProject('prj_1', () => assert.fail('asked'))

    assert.equal(updated, undefined)
    assert.equal(await storage.findProject('prj_1'), undefined)
  })

  test('an error thrown by change is passed on, and nothing is written', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    await storage.insertProject(newProject('prj_1'))
    const refused = new Error('refused')

    const update = storage.updateProject('prj_1', () => {
      throw refused
    })

    await assert.rejects(update, refused)
    assert.deepEqual(await storage.findProject('prj_1'), newProject('prj_1'))
    await storage.updateProject('prj_1', (current) => ({ ...current, name: 'Later' }))
    assert.equal((await storage.findProject('prj_1'))?.name, 'Later')
  })

  test('none of a hundred concurrent updates is lost', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    await storage.insertProject(newProject('prj_1', { config: { seen: [] } }))
    const numbers = Array.from({ length: 100 }, (_, number) => number)

    const add = (number: number) =>
      storage.updateProject('prj_1', (current) => {
        const seen = [...(current.config.seen as number[]), number]
        return { ...current, config: { seen } }
      })
    await Promise.all(numbers.map(add))

    const seen = (await storage.findProject('prj_1'))?.config.seen as number[]
    assert.deepEqual(
      seen.toSorted((a, b) => a - b),
      numbers,
    )
  })

  test('changing a returned project does not change the stored one', async (t) => {
    const storage = await open(t)
    await insertAccounts(storage)
    const project = newProject('prj_1', { config: { list: ['kept'] } })
    const expected = structuredClone(project)
    const spoilProject = (found: Project | undefined) => {
      rename(found)
      append(found?.config)
    }
    await storage.insertProject(project)

    spoilProject(project)
    spoilProject(await storage.findProject('prj_1'))
    spoilProject(await storage.findProjectByPublicKey('pk_prj_1'))
    spoilProject((await all((page) => storage.listProjects('acc_1', page)))[0])
    spoilProject(await storage.updateProject('prj_1', (current) => ({ ...current })))
    await assert.rejects(
      storage.updateProject('prj_1', (current) => {
        spoilProject(current)
        throw new Error('refused')
      }),
    )

    assert.deepEqual(await storage.findProject('prj_1'), expected)
  })

  test('a key rotation of an unknown project writes no audit entry', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)

    await storage.rotatePublicKey(
      'prj_none',
      { public_key: 'pk_new', former_until: LATER },
      { audit: newEntry() },
    )

    assert.deepEqual(await all((page) => storage.listFormerPublicKeys('prj_1', page)), [])
    assert.deepEqual(await storage.listAudit(undefined, { limit: 10 }), { entries: [] })
  })

  test('a new public key finds the project, and the previous one becomes a former key', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    await storage.findProjectByPublicKey('pk_prj_1')

    const rotation = { public_key: 'pk_new', former_until: LATER }
    await storage.rotatePublicKey('prj_1', rotation)

    const project = newProject('prj_1', { public_key: 'pk_new' })
    assert.deepEqual(await storage.findProjectByPublicKey('pk_new'), project)
    assert.deepEqual(await storage.findProject('prj_1'), project)
    assert.equal(await storage.findProjectByPublicKey('pk_prj_1'), undefined)
    const former = { public_key: 'pk_prj_1', project_id: 'prj_1', expires_at: LATER }
    assert.deepEqual(await storage.findFormerPublicKey('pk_prj_1'), former)
    assert.equal(await storage.findFormerPublicKey('pk_new'), undefined)
    assert.deepEqual(await all((page) => storage.listFormerPublicKeys('prj_1', page)), [former])
    assert.deepEqual(await all((page) => storage.listFormerPublicKeys('prj_2', page)), [])
  })

  test('a former public key expires no later than the next one', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    await storage.rotatePublicKey('prj_1', { public_key: 'pk_2', former_until: LATER })
    await storage.rotatePublicKey('prj_2', { public_key: 'pk_b', former_until: LATER })
    await storage.findFormerPublicKey('pk_prj_1')

    await storage.rotatePublicKey('prj_1', { public_key: 'pk_3', former_until: AT })
    await storage.rotatePublicKey('prj_1', { public_key: 'pk_4', former_until: LATER })

    const expiries = ['pk_prj_1', 'pk_2', 'pk_3', 'pk_prj_2'].map(async (public_key) => {
      return (await storage.findFormerPublicKey(public_key))?.expires_at
    })
    assert.deepEqual(await Promise.all(expiries), [AT, AT, LATER, LATER])
  })
}
