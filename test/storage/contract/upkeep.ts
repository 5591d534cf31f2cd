import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AT, insertShops, MAIN, newRow, stage } from '../fixtures/records.ts'
import { LATER } from '../fixtures/writes.ts'
import type { OpenStorage } from './open.ts'

export function describeUpkeep(open: OpenStorage): void {
  test('a ping resolves, and a check finds no problem', async (t) => {
    const storage = await open(t)
    await insertShops(storage)
    const current = await storage.openImport(MAIN, 'imp_1')
    assert.ok(current)
    await stage(current, [newRow(2), newRow(3)])
    await current.commit()

    await storage.ping()
    assert.deepEqual(await storage.check(), [])
  })

  test('a copy starts in an empty storage, whose ping rejects until the copy ends', async (t) => {
    const storage = await open(t)
    assert.equal(await storage.beginCopy(AT), AT)
    await insertShops(storage)

    assert.equal(await storage.beginCopy(LATER), AT)
    await assert.rejects(storage.ping(), { code: 'storage_unavailable' })
    await storage.endCopy()

    await storage.ping()
    assert.equal(await storage.beginCopy(LATER), undefined)
    await storage.ping()
  })
}
