import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Storage } from '../../../lib/storage/port.ts'
import { all } from '../../support/collect.ts'
import { AT, insertProjects } from '../fixtures/records.ts'
import { newEntry } from '../fixtures/writes.ts'
import type { OpenStorage } from './open.ts'

export function describeSigningKeys(open: OpenStorage): void {
  const secret = () => Uint8Array.from({ length: 32 }, (_, index) => (index * 37) & 0xff)

  const key = (kid: string) => ({ kid, secret: secret(), created_at: AT })

  test('of concurrent first signing keys one is inserted, and none when there is a key', async (t) => {
    const storage = await open(t)
    const keys = ['k1', 'k2', 'k3'].map((kid) => ({
      kid,
      secret: new Uint8Array(32).fill(1),
      created_at: AT,
    }))

    await Promise.all(keys.map((key) => storage.insertFirstSigningKey(key)))

    const ring = await storage.listSigningKeys()
    assert.deepEqual(
      ring.map(({ kid }) => kid),
      ['k1'],
    )
  })

  test('signing keys are listed unchanged, oldest first', async (t) => {
    const storage = await open(t)
    assert.deepEqual(await storage.listSigningKeys(), [])

    for (const kid of ['c', 'a', 'b']) await storage.insertSigningKey(key(kid))

    const listed = await storage.listSigningKeys()
    assert.deepEqual(
      listed.map((each) => ({ ...each, secret: Uint8Array.from(each.secret) })),
      [key('c'), key('a'), key('b')],
    )
  })

  test('a rotation deletes keys by kid, and ignores an unknown kid', async (t) => {
    const storage = await open(t)
    for (const kid of ['a', 'b', 'c', "'"]) await storage.insertSigningKey(key(kid))

    assert.deepEqual(await storage.rotateSigningKeys(key('d'), () => []), [])
    const chosen = ["'", 'a', 'gone', 'a', '%']
    assert.deepEqual(await storage.rotateSigningKeys(key('e'), () => chosen), chosen)

    assert.deepEqual(await kidsOf(storage), ['b', 'c', 'd', 'e'])
    await storage.insertSigningKey(key('a'))
    assert.deepEqual(await kidsOf(storage), ['b', 'c', 'd', 'e', 'a'])
  })

  test('a rotation passes all keys to drop, the new one last', async (t) => {
    const storage = await open(t)
    for (const kid of ['b', 'a']) await storage.insertSigningKey(key(kid))

    await storage.rotateSigningKeys(key('new'), (keys) => {
      assert.deepEqual(
        keys.map((each) => ({ ...each, secret: Uint8Array.from(each.secret) })),
        [key('b'), key('a'), key('new')],
      )
      return ['b']
    })

    assert.deepEqual(await kidsOf(storage), ['a', 'new'])
  })

  test('concurrent rotations that drop all other keys leave one key', async (t) => {
    const storage = await open(t)
    await storage.insertSigningKey(key('old'))

    await Promise.all(
      ['a', 'b', 'c', 'd'].map((own) =>
        storage.rotateSigningKeys(key(own), (keys) =>
          keys.map(({ kid }) => kid).filter((kid) => kid !== own),
        ),
      ),
    )

    assert.equal((await kidsOf(storage)).length, 1)
  })

  test('a failed rotation changes neither the keys nor the audit log', async (t) => {
    const storage = await open(t)
    await storage.insertSigningKey(key('a'))
    const refuse = () => {
      throw new Error('refused')
    }

    const audit = newEntry()
    await assert.rejects(storage.rotateSigningKeys(key('b'), refuse, { audit }))

    assert.deepEqual(await kidsOf(storage), ['a'])
    assert.deepEqual((await storage.listAudit(undefined, { limit: 10 })).entries, [])
  })

  test('changing a returned secret does not change the stored one', async (t) => {
    const storage = await open(t)
    const inserted = key('a')
    await storage.insertSigningKey(inserted)

    inserted.secret.fill(0)
    const [found] = await storage.listSigningKeys()
    found?.secret.fill(0)

    const [stored] = await storage.listSigningKeys()
    assert.deepEqual(Uint8Array.from(stored?.secret ?? []), secret())
  })
}

export function describeWatermarks(open: OpenStorage): void {
  test('the higher watermark of a project and its user applies, and no watermark is lowered', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    assert.equal(await storage.findWatermark('prj_1', 'ann'), 0)

    await storage.insertWatermark({ project_id: 'prj_1', user_id: 'ann', not_after: 200 })
    await storage.insertWatermark({ project_id: 'prj_1', user_id: '', not_after: 100 })
    await storage.insertWatermark({ project_id: 'prj_1', user_id: 'ann', not_after: 150 })

    assert.equal(await storage.findWatermark('prj_1', 'ann'), 200)
    assert.equal(await storage.findWatermark('prj_1', 'bob'), 100)
    assert.equal(await storage.findWatermark('prj_2', 'ann'), 0)
    assert.equal((await all((page) => storage.listWatermarks('prj_1', page))).length, 2)

    await storage.insertWatermark({ project_id: 'prj_1', user_id: '', not_after: 300 })
    assert.equal(await storage.findWatermark('prj_1', 'ann'), 300)
  })

  test('a revocation raises the watermark above those it covers, or to its time', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
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
  })

  test('each of several concurrent revocations raises the watermark', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    const users = ['ann', '', 'ann', 'bob', '', 'ann', '']

    await Promise.all(
      users.map((user_id) => storage.revokeTokens({ project_id: 'prj_1', user_id, at: 100 })),
    )

    const { records } = await storage.listWatermarks('prj_1', { limit: 10 })
    const watermarks = records.map(({ not_after }) => not_after)
    assert.ok(Math.max(...watermarks) >= 102, String(watermarks))
    const others = { project_id: 'prj_1', user_id: 'ann', at: 100 }
    const before = await storage.findWatermark('prj_1', 'ann')
    await Promise.all([storage.revokeTokens(others), storage.revokeTokens(others)])
    assert.equal(await storage.findWatermark('prj_1', 'ann'), before + 2)
  })
}

async function kidsOf(storage: Storage): Promise<string[]> {
  return (await storage.listSigningKeys()).map(({ kid }) => kid)
}
