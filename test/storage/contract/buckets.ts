import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OpenStorage } from './open.ts'

export function describeBuckets(open: OpenStorage): void {
  // Long enough for what the test itself takes to make no difference.
  const HOUR = 3_600_000
  const hours = (waits: ReadonlyMap<string, number>) =>
    [...waits].sort().map(([bucket, wait]) => [bucket, Math.round(wait / HOUR)])

  test('a bucket adds up what all take from it, and the others are left alone', async (t) => {
    const storage = await open(t)
    const charge = (...charges: [string, number][]) =>
      storage.consumeBuckets(new Map(charges.map(([bucket, each]) => [bucket, each * HOUR])), 0)

    assert.deepEqual(hours(await charge(['b', 3], ['a', 2])), [
      ['a', 2],
      ['b', 3],
    ])
    assert.deepEqual(hours(await charge(['a', 5])), [['a', 7]])
    const many = await Promise.all([1, 2, 3, 4].map(() => charge(['c', 1], ['b', 1], ['d', 1])))
    assert.deepEqual(new Set(many.map((waits) => Math.round((waits.get('c') ?? 0) / HOUR))).size, 4)
    assert.deepEqual(hours(await charge(['b', 0], ['a', 0], ['d', 0])), [
      ['a', 7],
      ['b', 7],
      ['d', 4],
    ])
  })

  test('a bucket fills from the time on in which it was taken from, and is then forgotten', async (t) => {
    const storage = await open(t)
    const charge = (bucket: string, charge: number, elapsed: number) =>
      storage.consumeBuckets(new Map([[bucket, charge * HOUR]]), elapsed * HOUR)

    assert.deepEqual(hours(await charge('a', 5, 3)), [['a', 2]])
    assert.deepEqual(hours(await charge('a', 5, 3)), [['a', 7]])
    assert.deepEqual(hours(await charge('b', 1, 3)), [['b', -2]])
    assert.deepEqual(hours(await charge('b', 1, 0)), [['b', 1]])
    assert.deepEqual(hours(await storage.consumeBuckets(new Map(), 0)), [])
  })
}
