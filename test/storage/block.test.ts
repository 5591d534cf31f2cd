import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Block, createBlock, type NewEntry } from '../../lib/storage/sqlite/block.ts'
import { packRows } from '../../lib/storage/sqlite/packed-rows.ts'
import { newRow } from './fixtures/records.ts'

const SLICE = 300

test('a block returns each id once, with its line and purchase, and equal ids in their order', () => {
  const kinds = ['T', 'T-', 'T-é', 'T-\u{1F600}', `T-${'long'.repeat(70)}`]
  const ids = Array.from({ length: 4_000 }, (_, i) => {
    const number = (i * 7919) % 1_500
    return `${kinds[number % kinds.length]}${number}`
  })
  const block = createBlock()
  for (const use of ['first', 'second']) {
    add(block, ids)
    const entries = takeAll(block)

    const inOrder = entries.toSorted((a, b) => a.line - b.line)
    const expected = ids.map((transaction_id, i) => ({ transaction_id, line: i, purchase: i + 10 }))
    assert.deepEqual(inOrder, expected, use)
    assert.deepEqual([block.size, block.bytes], [0, 0])
    const latest = new Map<string, number>()
    for (const { transaction_id, line } of entries) {
      assert.ok(line > (latest.get(transaction_id) ?? -1), transaction_id)
      latest.set(transaction_id, line)
    }
  }
})

const orders: Record<string, (i: number) => string> = {
  'like those of Google Play': (i) => `GPA.${digits(i, 4)}-${digits(i * 31, 4)}-${digits(i, 4)}`,
  'of different lengths': (i) => String((i * 7919) % 4_001),
  'with a long common beginning': (i) => `${'https://'.repeat(9)}${digits(i, 6)}`,
  'that differ after 800 bytes': (i) => `${'\u{1F600}'.repeat(200)}${digits(i, 6)}`,
  'of sources in turn': (i) => `shop${i % 16}-${digits(i, 4)}`,
}

for (const [name, idOf] of Object.entries(orders)) {
  test(`ids ${name} are sorted`, () => {
    const block = createBlock()
    add(
      block,
      Array.from({ length: 4_000 }, (_, i) => idOf(i)),
    )
    const ids = takeAll(block).map(({ transaction_id }) => transaction_id)
    assert.deepEqual(ids, ids.toSorted())
  })
}

test('fewer ids are taken at once if they are long', () => {
  const block = createBlock()
  add(
    block,
    Array.from({ length: 1_000 }, (_, i) => digits(i, 6).repeat(40)),
  )
  block.take(1_000)
  const first = block.take(1_000).length
  assert.ok(first < 300)
  assert.equal(first + takeAll(block).length, 1_000)
})

const digits = (i: number, count: number) => String((i * 7919) % 10 ** count).padStart(count, '0')

function add(block: Block, ids: readonly string[]): void {
  for (let start = 0; start < ids.length; start += SLICE) {
    const rows = ids
      .slice(start, start + SLICE)
      .map((transaction_id, i) => newRow(start + i, { transaction_id }))
    block.add(packRows(1, rows, new Map([['gold', 1]])), start + 10)
  }
}

function takeAll(block: Block): NewEntry[] {
  const entries: NewEntry[] = []
  while (block.size > 0) entries.push(...block.take(700))
  return entries
}
