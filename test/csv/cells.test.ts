import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseSkus } from '../../lib/csv/skus.ts'
import { trimBlanks } from '../../lib/domain/blanks.ts'
import { readWith } from '../support/csv/layouts.ts'
import { read, shortOf } from '../support/purchase-file.ts'

const AT = '2026-05-01T10:00:00Z'
const BLANKS = [' ', '\t', '\u00a0', '\u2007', '\u202f', '\ufeff']
const COLUMNS = { transaction_id: 'id', sku: 'sku', purchased_at: 'at' }

test('cells are trimmed at both ends, and keep all other characters', () => {
  const outer = fc.string({ unit: fc.constantFrom(...BLANKS), maxLength: 4 })
  // Characters that String.prototype.trim would also remove, and others.
  const inner = fc.string({ unit: fc.constantFrom('a', 'é', '\u3000', '\u200b', '\n', '\u00a0') })
  const pattern = new RegExp(`^[${BLANKS.join('')}]+|[${BLANKS.join('')}]+$`, 'g')
  fc.assert(
    fc.property(outer, inner, outer, (before, text, after) => {
      assert.equal(trimBlanks(before + text + after), text.replace(pattern, ''))
    }),
  )
})

test('blanks around a cell or a column name do not make another purchase', () => {
  const expected = read(['transaction_id,sku,purchased_at,user_id,price', `T,gold,${AT},p 1,499`])
  assert.equal(expected.purchases.length, 1)
  for (const blank of BLANKS) {
    const around = (text: string) => `${blank}${text}${blank}`
    const lines = [
      ['transaction_id', 'sku', 'purchased_at', 'user_id', 'price'].map(around).join(','),
      ['T', 'gold', AT, 'p 1', '499'].map(around).join(','),
    ]
    assert.deepEqual(read(lines), expected)
  }
})

test('rows that tillkit exported are not trimmed', () => {
  const { purchases } = read([
    'transaction_id,sku,purchased_at,tillkit_export',
    `T ,gold,${AT},1`,
    `T ,gold,${AT},`,
  ])
  assert.deepEqual(
    purchases.map((each) => (each as { transaction_id: string }).transaction_id),
    ['T ', 'T'],
  )
})

test('words of a layout and SKUs of a map match trimmed cells', () => {
  const layout = {
    columns: { ...COLUMNS, status: 'state' },
    statuses: { ' Paid': 'purchased' },
    skip: { kind: ['fee '] },
  }
  const skus = parseSkus('vendor_sku,item\n" coin ", gold \n')
  const lines = ['id,sku,at,state,kind', `1, coin ,${AT}, paid,`, `2,coin,${AT},paid, Fee`]
  const { purchases, errors, passedOver } = readWith(layout, lines, { skus })
  assert.deepEqual([errors, passedOver], [[], 1])
  assert.deepEqual(
    purchases.map((each) => (each as { sku: string }).sku),
    ['gold'],
  )
})

test('a joined id whose first part is empty is missing, and later empty parts are left out', () => {
  const layout = {
    columns: { ...COLUMNS, transaction_id: ['order', 'line', 'sku'] },
    skip: { kind: ['fee'] },
  }
  const { purchases, errors, passedOver } = readWith(layout, [
    'order,line,sku,at,kind',
    `,,gold,${AT},`,
    ` ,1,gold,${AT},`,
    `,,,,fee`,
    `A,,gold,${AT},`,
    `A,2,gold,${AT},`,
    `A,2,,${AT},`,
  ])
  assert.deepEqual(errors.map(shortOf), ['2 order required', '3 order required', '7 sku required'])
  assert.equal(passedOver, 1)
  assert.deepEqual(
    purchases.map((each) => (each as { transaction_id: string }).transaction_id),
    ['A/gold', 'A/2/gold'],
  )
})

test('a rounded part of a joined id is an error', () => {
  const layout = { columns: { ...COLUMNS, transaction_id: ['id', 'sku'] } }
  const { errors } = readWith(layout, ['id,sku,at', `4.53e+15,gold,${AT}`, `4.53E+15,gold,${AT}`])
  assert.deepEqual(errors.map(shortOf), ['2 id invalid', '3 id invalid'])
})

test('a wrong cell is not also a missing one', () => {
  const layout = { columns: COLUMNS, date_format: 'DD/MM/YYYY', zone: 'UTC' }
  const { errors } = readWith(layout, ['id,sku,at', '1,gold,yesterday', '2,gold,'])
  assert.deepEqual(errors.map(shortOf), ['2 at invalid', '3 at required'])
})
