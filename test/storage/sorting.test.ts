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
    const sorting = createSorting(numbers)
    while (sorting.sorted < COUNT) {
      sorting.advance()
      const { sorted } = sorting
      assert.deepEqual(numbers.subarray(0, sorted), expected.subarray(0, sorted))
    }
    sorting.advance()
    assert.equal(sorting.sorted, COUNT)
  })
}
