import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'csv-parse/sync'
import { formatSkusTemplate, parseSkus } from '../../lib/csv/skus.ts'
import { formatRow, guard, unguard } from '../../lib/csv/write.ts'
import { fc } from '../support/seeds.ts'

const guarded: readonly [cell: string, written: string][] = [
  ['=cmd()', "'=cmd()"],
  ['+49 30', "'+49 30"],
  ['-x', "'-x"],
  ['@user', "'@user"],
  ["'=x", "''=x"],
  ['-4.99', '-4.99'],
  ['plain', 'plain'],
  ["it's", "it's"],
  ["'quoted'", "'quoted'"],
  ['', ''],
]

test('a cell that a spreadsheet would run is written with an apostrophe, and others as they are', () => {
  for (const [cell, written] of guarded) {
    assert.deepEqual([guard(cell), unguard(written)], [written, cell])
  }
})

test('every cell reads back unchanged, and csv-parse reads every row as it was written', () => {
  const cell = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.stringMatching(/^[=+\-@'",;\r\n\t a]*$/),
  )
  fc.assert(
    fc.property(fc.array(cell, { minLength: 2, maxLength: 5 }), (cells) => {
      const text = formatRow(cells.map(guard))
      const [row = []] = parse(text, { skip_empty_lines: false }) as string[][]
      assert.deepEqual(row.map(unguard), cells)
      assert.ok(row.every((each) => !/^[=@]/.test(each)))
    }),
  )
})

test('a template of a SKU map runs no formula in a spreadsheet, and names the same SKUs when it is read', () => {
  const skus = ['=1+1', '+a', '-b', '@c', "'=d", 'com.example.gold']
  const template = formatSkusTemplate(skus)
  assert.doesNotMatch(template, /^[=+\-@]/m)
  assert.deepEqual([...parseSkus(template.replaceAll('?', 'gold')).keys()], skus)
  assert.deepEqual([...parseSkus('vendor_sku,item\n=1+1,gold\n').keys()], ['=1+1'])
})
