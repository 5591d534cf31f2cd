import { trimBlanks } from '../../domain/blanks.ts'
import { isCurrency, plainSign, SIGNS } from '../signs.ts'

/** An amount of money as a file writes it. */
export interface Money {
  readonly isNegative: boolean
  /** The digits with their marks: `1.234,50`. */
  readonly number: string
  /** The currency's sign or code; '' if there is none. */
  readonly mark: string
}

const MONEY = /^(\D{0,12})(\d(?:[\d.,'’ \u00a0\u2009\u202f]{0,30}\d)?)(\D{0,12})$/
const SIGN = /[-−+()\s\u00a0\u202f\u200e\u200f]/g
const MARK = /^([a-z]{0,3}\p{Sc}|kr\.?|zł|tl|руб\.?|円|元|원|rs\.?|rm|rp|kč|ft|lei)$/iu

/** `KR-1001` and `RM1001` are ids, though kr and RM are money as well. */
const ID = /^\p{L}{2,3}(-\d+|\d{4,})$/u

/** Splits an amount. Returns undefined for other texts, such as `SQ1` and `30 pieces`. */
export function parseMoney(cell: string): Money | undefined {
  const [, before = '', number = '', after = ''] = MONEY.exec(cell) ?? []
  if (number === '') return undefined
  const signs = before + after
  const marks = [before, after].map((text) => trimBlanks(text.replace(SIGN, '')))
  const [mark = '', other] = marks.filter((each) => each !== '')
  if (other !== undefined || (mark !== '' && !MARK.test(mark) && !isCurrency(mark))) {
    return undefined
  }
  if (ID.test(cell)) return undefined
  const isNegative = /[-−]/.test(signs) || (before.includes('(') && after.includes(')'))
  return { isNegative: isNegative && /[1-9]/.test(number), number, mark }
}

/** Whether an amount is below zero. */
export function isBelowZero(cell: string): boolean {
  return /[-−(]/.test(cell) && parseMoney(cell)?.isNegative === true
}

/**
 * The decimal mark that an amount proves: `.` of `4.99`, `,` of `1.234,50`. Undefined for `499` and
 * `unclear` for `1,500`.
 */
export function decimalOf(number: string): '.' | ',' | 'unclear' | undefined {
  const marks = number.replace(/[^.,]/g, '')
  const last = marks.at(-1) as '.' | ',' | undefined
  if (last === undefined) return undefined
  const other = last === '.' ? ',' : '.'
  if (marks.includes(other)) return marks.indexOf(last) === marks.length - 1 ? last : undefined
  if (marks.length > 1) return other
  const [whole = '', fraction = ''] = number.split(last)
  const isGroup = fraction.length === 3 && whole.length <= 3 && !whole.startsWith('0')
  return isGroup ? 'unclear' : last
}

/** The value of an amount, to compare amounts with each other. */
export function numberOf({ number, isNegative }: Money, decimal: '.' | ','): number {
  const digits = number.replace(decimal === '.' ? /[^\d.]/g : /[^\d,]/g, '').replace(',', '.')
  return isNegative ? -Number(digits) : Number(digits)
}

/** The currency of a code, or of a sign that no other currency has; undefined for `$` and `¥`. */
export function currencyOf(mark: string): string | undefined {
  if (isCurrency(mark)) return mark.toUpperCase()
  return SIGNS.get(plainSign(mark))
}

/** Finds a currency in a column name: `Amount (EUR)`, `Betrag €`. */
export function currencyOfName(name: string): string | undefined {
  const inBrackets = /[(（[]([^)）\]]{1,4})[)）\]]/u.exec(name)?.[1]
  const last = name.split(/[^\p{L}]+/u).at(-1) ?? ''
  if (inBrackets !== undefined) return currencyOf(inBrackets)
  return /^[A-Z]{3}$/.test(last) && isCurrency(last) ? last : undefined
}
