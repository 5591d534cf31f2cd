import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSorting } from '../../lib/storage/sqlite/sorting.ts'

const COUNT = 30_000

const orders: Record<string, (i: number) => number> = {
  random: (i) => (i * 7919) % COUNT,
  ascending: (i) => i,
  descending: (i) => COUNT - i,
  equal: () => 1,
}

for (const [name, order] of Object.entries(orders)) {
  test(`numbers in ${name} order are sorted step by step`, () => {
    const numbers = Float64Array.from({ length: COUNT }, (_, i) => order(i))
    const expected = numbers.toSorted()
    const { sortFirst } = createSorting(numbers)
    for (const count of [1, 100, 12_345]) {
      sortFirst(count)
      assert.deepEqual(numbers.subarray(0, count), expected.subarray(0, count))
    }
    sortFirst(COUNT + 1)
    assert.deepEqual(numbers, expected)
  })
}
