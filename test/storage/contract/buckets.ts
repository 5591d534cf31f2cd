import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OpenStorage } from './open.ts'

export function describeBuckets(open: OpenStorage): void {
  // Long enough to ignore the duration of the test.
  const HOUR = 3_600_000
  const hours = (waits: ReadonlyMap<string, number>) =>
    [...waits].sort().map(([bucket, wait]) => [bucket, Math.round(wait / HOUR)])

  test('a bucket adds up the costs of all calls, separately from other buckets', async (t) => {
    const storage = await open(t)
    const consume = (...costs: [string, number][]) =>
      storage.consumeBuckets(new Map(costs.map(([bucket, each]) => [bucket, each * HOUR])), 0)

    assert.deepEqual(hours(await consume(['b', 3], ['a', 2])), [
      ['a', 2],
      ['b', 3],
    ])
    assert.deepEqual(hours(await consume(['a', 5])), [['a', 7]])
    const many = await Promise.all([1, 2, 3, 4].map(() => consume(['c', 1], ['b', 1], ['d', 1])))
    assert.deepEqual(new Set(many.map((waits) => Math.round((waits.get('c') ?? 0) / HOUR))).size, 4)
    assert.deepEqual(hours(await consume(['b', 0], ['a', 0], ['d', 0])), [
      ['a', 7],
      ['b', 7],
      ['d', 4],
    ])
  })

  test('a bucket refills from the time of the previous call, and is deleted when full', async (t) => {
    const storage = await open(t)
    const consume = (bucket: string, cost: number, elapsed: number) =>
      storage.consumeBuckets(new Map([[bucket, cost * HOUR]]), elapsed * HOUR)

    assert.deepEqual(hours(await consume('a', 5, 3)), [['a', 2]])
    assert.deepEqual(hours(await consume('a', 5, 3)), [['a', 7]])
    assert.deepEqual(hours(await consume('b', 1, 3)), [['b', -2]])
    assert.deepEqual(hours(await consume('b', 1, 0)), [['b', 1]])
    assert.deepEqual(hours(await storage.consumeBuckets(new Map(), 0)), [])
  })
}
