import { trimBlanks } from '../domain/blanks.ts'
import { exponentOf, toMinorDigits } from '../domain/currency.ts'
import type { PurchaseCells, PurchaseField } from '../domain/purchase.ts'
import type { Format } from './format.ts'
import { plainSign, SIGNS } from './signs.ts'

/** An amount of a file: its digits with their marks, and the texts before and after them. */
interface Amount {
  readonly isNegative: boolean
  readonly number: string
  /** Currency signs or codes. */
  readonly marks: readonly string[]
}

const AMOUNT = /^(\D{0,16})(\d(?:.*\d)?)(\D{0,16})$/
const SIGN = /[+\-−]/ // U+2212 is the minus of some spreadsheets and locales
/** Invisible marks of the writing direction, as in `-4.99 ₪` of he-IL. */
const DIRECTIONS = /[\u061c\u200e\u200f]/g

const NO_MARKS: readonly string[] = []

function parseAmount(cell: string): Amount | undefined {
  if (isBare(cell)) return { isNegative: false, number: cell, marks: NO_MARKS }
  const [, before = '', number = '', after = ''] = AMOUNT.exec(cell.replace(DIRECTIONS, '')) ?? []
  if (number === '') return undefined
  // Accountants write `(4.99)`, and some programs `4.99-`.
  const isBracketed = before.includes('(') && after.includes(')')
  const [sign] = isBracketed ? ['-'] : (SIGN.exec(before + after) ?? ['+'])
  const withoutSign = (text: string) => text.replace(isBracketed ? /[()]/ : sign, '')
  const marks = [before, after].map((text) => trimBlanks(withoutSign(text))).filter(Boolean)
  return { isNegative: sign !== '+' && /[1-9]/.test(number), number, marks }
}

/** Whether an amount begins and ends with a digit. Nearly all do. */
function isBare(cell: string): boolean {
  return isDigit(cell, 0) && isDigit(cell, cell.length - 1)
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code >= 48 && code <= 57
}

/** Whether a price or a quantity is below zero. */
export function isNegative(cell: string): boolean {
  return cell !== '' && !isBare(cell) && parseAmount(cell)?.isNegative === true
}

const NEGATIVE = 'is negative: give its status, or skip it'
const WHOLE = /^[+\-−]?(\d+)(?:[.,]00?)?$/

type Row = Pick<PurchaseCells, 'status' | 'price' | 'quantity' | 'currency'>
type Wrong = (field: PurchaseField, code: string, message: string) => void

/** Whether a row may have a negative amount: files write refunds like that. */
export function isRefund({ status }: Pick<Row, 'status'>): boolean {
  return status === 'refunded' || status === 'cancelled'
}

/** Converts a quantity like `2.0`, or `-2` of a refund, to digits. Returns '' for a mistake. */
export function readQuantity(row: Row, wrong: Wrong): string {
  const { quantity } = row
  if (quantity === '1') return quantity
  const [, digits = quantity] = WHOLE.exec(quantity) ?? []
  if (!isNegative(quantity) || isRefund(row)) return digits
  wrong('quantity', 'negative', NEGATIVE)
  return ''
}

/**
 * Creates a function that converts the price of a row to digits in minor units. It drops a currency
 * sign or code, and the minus of a refund, and returns '' for a mistake. `fallback` is the currency
 * of rows without one.
 */
export function createPriceReader(
  { price_unit, decimal, isDecimalAssumed }: Format,
  fallback: string | undefined,
) {
  const isMajor = price_unit === 'major'
  const isDecimalStated = decimal !== undefined && !isDecimalAssumed

  return (row: Row, wrong: Wrong): string => {
    const refuse = (message: string, code = 'invalid') => {
      wrong('price', code, message)
      return ''
    }
    const isBelowZero = isNegative(row.price)
    if (isBelowZero && !isRefund(row)) return refuse(NEGATIVE, 'negative')
    // The canonical format has digits only, and a refund's minus.
    if (!isMajor && decimal === undefined) return isBelowZero ? row.price.slice(1) : row.price
    const currency = row.currency || fallback || ''
    const isCode = CODE.test(currency)
    const exponent = isMajor ? exponentOf(currency) : 0
    const amount = parseAmount(row.price)
    const other = isCode ? amount?.marks.find((mark) => !fits(mark, currency)) : undefined
    if (other && !DECIMAL_MARK.test(other)) {
      return refuse(`has a currency sign or code that is not one of ${currency}`)
    }
    const number = other ? '' : (amount?.number ?? '')
    const isComma = number.includes(',')
    // Of three decimals, `12,500` and `12.500` may be twelve or twelve thousand. Of fewer decimals,
    // three digits after a point are thousands: `15.000` IDR, `1.000` JPY.
    const isUnclear = exponent >= 3 ? isDecimalAssumed : !isComma
    if (!isDecimalStated && isUnclear && ONE_GROUP.test(number)) {
      const place = isDecimalAssumed ? 'the layout' : 'a layout'
      return refuse(`may have decimals or thousands: give decimal in ${place}`)
    }
    // Without a layout, a comma before three digits is unclear, unless the currency has no decimals.
    const isClear = decimal !== undefined || !isComma || exponent === 0 || number.includes('.')
    const digits = isClear ? toMinorDigits(number, exponent, decimal) : undefined
    return digits ?? refuse(isMajor ? expected(isCode, currency, decimal, isComma) : MINOR)
  }
}

const CODE = /^[A-Z]{3}$/
/** The point of `.99` is no currency sign. */
const DECIMAL_MARK = /^[.,]$/
const ONE_GROUP = /^\d{1,3}[.,]\d{3}$/
const MINOR = 'must be a whole amount in minor units, like 499 for 4.99'

function expected(isCode: boolean, currency: string, decimal = '.', isComma: boolean): string {
  const unit = isCode ? currency : 'its currency'
  const exponent = exponentOf(currency)
  const example = exponent === 0 ? '1234' : `1234${decimal}${'5'.padEnd(exponent, '0')}`
  const hint =
    isComma && decimal === '.' && exponent > 0 ? '; the decimal mark must be a point' : ''
  return `must be an amount that ${unit} can have, like ${example}${hint}`
}

const MAX_CURRENCIES = 200
const signs = new Map<string, ReadonlySet<string>>()

/** Whether a sign or code stands for a currency. The sign `$` stands for several. */
function fits(mark: string, currency: string): boolean {
  const known = signs.get(currency) ?? signsOf(currency)
  if (signs.size >= MAX_CURRENCIES) signs.clear()
  signs.set(currency, known)
  const sign = plainSign(mark)
  return known.has(sign) || SIGNS.get(sign) === currency
}

/** The code of a currency, its narrow sign (`$`), and its wide ones (`CA$`, `US$`). */
function signsOf(currency: string): ReadonlySet<string> {
  const of = (locale: string, currencyDisplay: 'narrowSymbol' | 'symbol') =>
    new Intl.NumberFormat(locale, { style: 'currency', currency, currencyDisplay })
      .formatToParts(0)
      .find(({ type }) => type === 'currency')?.value ?? ''
  const found = [of('en', 'narrowSymbol'), of('en', 'symbol'), of('en-CA', 'symbol')]
  return new Set([currency, ...found].map(plainSign))
}
