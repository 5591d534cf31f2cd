import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exponentOf, formatAmount, toMinorDigits } from '../../lib/domain/currency.ts'
import { parseMinorUnits } from '../../lib/domain/item.ts'
import { fc } from '../support/seeds.ts'

const amounts: readonly [amount: string, currency: string, digits: string | undefined][] = [
  ['-1,234.5', 'EUR', undefined],
  ['1 234.50', 'USD', '123450'],
  ["1'234'567.50", 'USD', '123456750'],
  ["1'234,567.50", 'USD', undefined],
  ['500.00', 'JPY', '500'],
  ['1.2', 'CLF', '12000'],
  ['0.00', 'USD', '0'],
  ['1.990', 'USD', '199'],
  ['1.999', 'USD', undefined],
  ['0.5', 'JPY', undefined],
  ['1,23.00', 'USD', undefined],
  ['1.234,50', 'USD', undefined],
  ['4,99', 'USD', undefined],
  ['.99', 'USD', undefined],
  ['1e3', 'USD', undefined],
  ['$4.99', 'USD', undefined],
  ['+4.99', 'USD', undefined],
  ['', 'USD', undefined],
]

test('amounts in major units are read exactly, or refused', () => {
  for (const [amount, currency, digits] of amounts) {
    assert.equal(toMinorDigits(amount, exponentOf(currency)), digits, `${amount} ${currency}`)
  }
})

test('an amount is the same after formatting and reading, whatever its size and currency', () => {
  const currency = fc.constantFrom('USD', 'JPY', 'KWD', 'CLF')
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 24n }), currency, (minor, code) => {
      const amount = formatAmount(String(minor), code)
      assert.equal(toMinorDigits(amount, exponentOf(code)), String(minor))
    }),
  )
})

test('exponents agree with ISO 4217, as Intl has it', () => {
  for (const code of ['JPY', 'KRW', 'VND', 'CLP', 'KWD', 'BHD', 'TND', 'USD', 'EUR', 'PLN']) {
    const format = new Intl.NumberFormat('en', { style: 'currency', currency: code })
    assert.equal(exponentOf(code), format.resolvedOptions().maximumFractionDigits, code)
  }
})

test('a price in minor units is digits alone, as long as it is exact', () => {
  assert.equal(parseMinorUnits('000499'), 499)
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 54n }), (amount) => {
      const exact = amount < 2n ** 53n ? Number(amount) : undefined
      assert.equal(parseMinorUnits(String(amount)), exact)
    }),
  )
})
