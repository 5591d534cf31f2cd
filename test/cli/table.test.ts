import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WriteStream } from 'node:tty'
import { createOutput } from '../../cli/output.ts'

/** The lines of a table that is printed to a terminal, or to a pipe. */
function print(
  columns: number | 'pipe',
  ...table: Parameters<ReturnType<typeof createOutput>['table']>
) {
  const sent: string[] = []
  const write = (text: string) => sent.push(text)
  const stream = columns === 'pipe' ? { write } : { isTTY: true, columns, write }
  createOutput(stream as unknown as WriteStream, false).table(...table)
  return sent.join('').trimEnd().split('\n')
}

const PURCHASES = [
  { id: 'GPA.3345-1234', at: '2026-01-31T12:00:00.000Z', user: 'ann', price: 499 },
  { id: 'T-1', at: '2026-02-01T08:30:00.000Z', user: 'bob', price: 1299 },
]
const COLUMNS = ['id', 'at', 'user', 'price']
const YIELDING = { at: 'shorten', user: 'omit' } as const

test('a table is whole in a pipe, and where the terminal has room', () => {
  for (const columns of ['pipe', 52] as const) {
    assert.deepEqual(print(columns, PURCHASES, COLUMNS, YIELDING), [
      'id             at                        user  price',
      'GPA.3345-1234  2026-01-31T12:00:00.000Z  ann     499',
      'T-1            2026-02-01T08:30:00.000Z  bob    1299',
    ])
  }
})

test('a table on a narrow terminal shortens what may be, and no more than it must', () => {
  assert.deepEqual(print(45, PURCHASES, COLUMNS, YIELDING), [
    'id             at                 user  price',
    'GPA.3345-1234  2026-01-31T12:00…  ann     499',
    'T-1            2026-02-01T08:30…  bob    1299',
  ])
})

test('a table on a narrower one leaves out what may be, says so, and gives back its room', () => {
  assert.deepEqual(print(38, PURCHASES, COLUMNS, YIELDING), [
    'id             at                price',
    'GPA.3345-1234  2026-01-31T12:0…    499',
    'T-1            2026-02-01T08:3…   1299',
    '(no room for user: see --json)',
  ])
})

test('what people paste is whole on any terminal', () => {
  const [, first] = print(10, PURCHASES, COLUMNS, YIELDING)
  assert.equal(first, 'GPA.3345-1234  2026-01-31…    499')
})

test('a terminal that does not tell its width has 80 columns', () => {
  const rows = [{ id: 'acc_1', name: 'x'.repeat(100) }]
  const lines = print(0, rows, ['id', 'name'], { name: 'shorten' })
  assert.deepEqual(lines[1], `acc_1  ${'x'.repeat(72)}…`)
})

test('wide characters, emoji and combining marks keep the columns aligned', () => {
  const names = ['東京ゲーム', '👩‍👩‍👧 fam', 'Zoë', 'ｆｕｌｌ', '한국', '🇩🇪', '\u200b']
  const rows = names.map((name) => ({ name: name.normalize('NFD'), end: '|' }))
  // Columns, as terminals draw them.
  const widths = [10, 6, 3, 8, 4, 2, 0]
  const [, ...lines] = print('pipe', rows, ['name', 'end'])
  assert.deepEqual(
    lines,
    rows.map(({ name }, i) => `${name}${' '.repeat(10 - (widths[i] ?? 0))}  |`),
  )
  const cut = print(16, rows, ['name', 'end'], { name: 'shorten' })
  assert.deepEqual(cut, print('pipe', rows, ['name', 'end']))
  const long = [{ name: '東京ゲーム東京ゲーム', end: '|' }]
  assert.equal(print(16, long, ['name', 'end'], { name: 'shorten' })[1], '東京ゲーム…  |')
})

test('a table may have more rows than a call may have arguments', () => {
  const rows = Array.from({ length: 200_000 }, (_, i) => ({ i }))
  assert.equal(print('pipe', rows, ['i']).length, 200_001)
})
