import type { Purchase, Store } from '../client/manage.ts'
import { exponentOf, toMinorDigits } from '../lib/domain/currency.ts'

/** The browser's language for numbers and times. Times are in the Gregorian calendar. */
const LOCALE = new Intl.Locale(Intl.DateTimeFormat().resolvedOptions().locale, {
  calendar: 'gregory',
})

/** The currency of prices without one; '' if the store has none. */
export function currencyOf({ store_config: { currency } }: Store): string {
  return typeof currency === 'string' ? currency : ''
}

/** The decimals of amounts. Without a currency, amounts are in minor units. */
export const digitsOf = (currency: string) => (currency ? exponentOf(currency) : 0)

/** Formats minor units exactly, in the browser's locale: `499` of USD is `$4.99`. */
export function formatMoney(minor: string | number, currency: string): string {
  if (!currency) return minor.toString() === '0' ? '0' : `${formatCount(BigInt(minor))} minor units`
  return formatMinor(minor, currency, { style: 'currency', currency })
}

/** `499` of USD is `4.99`, or in German `4,99`. */
export function toDecimal(minor: string, currency: string): string {
  return formatMinor(minor, currency, { useGrouping: false })
}

function formatMinor(
  minor: string | number,
  currency: string,
  options: Intl.NumberFormatOptions,
): string {
  const digits = digitsOf(currency) // browsers have other digits for some currencies
  const padded = String(minor).padStart(digits + 1, '0')
  const decimal = `${padded.slice(0, padded.length - digits)}.${padded.slice(padded.length - digits)}`
  const fixed = { minimumFractionDigits: digits, maximumFractionDigits: digits, ...options }
  return new Intl.NumberFormat(LOCALE, fixed).format(decimal as unknown as number)
}

/** Formats an amount shortly, for an axis: `1200000` of USD is `$12K`. */
export function formatShortMoney(minor: number, currency: string): string {
  const options = { style: 'currency', currency: currency || 'USD', notation: 'compact' } as const
  const major = minor / 10 ** exponentOf(currency)
  return new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 1, ...options }).format(major)
}

/** The minor units of an amount that a person typed as amounts are shown: `1,234.99`. */
export function toMinor(typed: string, currency: string): string | undefined {
  return toMinorDigits(parseNumber(typed.trim()), digitsOf(currency))
}

/** Replaces the digits and separators of the locale by those of JavaScript. */
function parseNumber(typed: string): string {
  const parts = new Intl.NumberFormat(LOCALE, { useGrouping: true }).formatToParts(1234567.5)
  const partOf = (type: string) => parts.find((part) => part.type === type)?.value ?? ''
  const digits = [...new Intl.NumberFormat(LOCALE, { useGrouping: false }).format(9876543210)]
  const plain = [...typed].map((each) => (digits.includes(each) ? 9 - digits.indexOf(each) : each))
  const [whole = '', ...rest] = plain.join('').replaceAll(/\s/g, ' ').split(partOf('decimal'))
  const groups = whole.split(partOf('group').replace(/\s/, ' '))
  // India has groups of two digits before the last one.
  const isGrouped = /^\d{1,3}(,\d{2,3})*,\d{3}$/.test(groups.join(','))
  return [isGrouped ? groups.join('') : whole, ...rest].join('.')
}

/** The price of a purchase, which may have none. */
export function priceOf({ price, currency = '' }: Pick<Purchase, 'price' | 'currency'>): string {
  return price === undefined ? '–' : formatMoney(price, currency)
}

/** `1,234`, or with a noun `1,234 rows`. */
export function formatCount(count: number | bigint, noun?: string): string {
  const number = count.toLocaleString(LOCALE)
  if (!noun) return number
  return `${number} ${Number(count) === 1 ? noun : `${noun}s`}`
}

/** `0.125` is `12.5%`, or with `exceptZero` `+12.5%`. */
export function formatShare(share: number, signDisplay: 'auto' | 'exceptZero' = 'auto'): string {
  const options = { style: 'percent', maximumFractionDigits: 1, signDisplay } as const
  return share.toLocaleString(LOCALE, options)
}

function formatDate(
  time: string | number,
  isUtc: boolean,
  options: Intl.DateTimeFormatOptions,
): string {
  return new Date(time).toLocaleString(LOCALE, { ...options, ...(isUtc && { timeZone: 'UTC' }) })
}

/** Formats an ISO 8601 time in the viewer's zone, or in UTC: `Jan 31, 3:42 PM`. */
export function formatTime(time: string, isUtc: boolean): string {
  const isThisYear = new Date(time).getFullYear() === new Date().getFullYear()
  const year = isThisYear ? undefined : 'numeric'
  const day = { year, month: 'short', day: 'numeric' } as const
  return (
    formatDate(time, isUtc, { ...day, hour: 'numeric', minute: '2-digit' }) + (isUtc ? ' UTC' : '')
  )
}

/** Formats an ISO 8601 time with its seconds and its zone. */
export function formatExactTime(time: string, isUtc: boolean): string {
  return formatDate(time, isUtc, { dateStyle: 'full', timeStyle: 'long' })
}

/** Formats a period of a summary: `2026-01` and `2026-01-31`, which are in UTC. */
export function formatPeriod(period: string): string {
  const isMonth = period.length === 7
  return formatDate(period, true, { month: 'short', [isMonth ? 'year' : 'day']: 'numeric' })
}

/** Formats a month in UTC: `October 2025`, or `October` in this year. */
export function formatMonth(time: number): string {
  const isThisYear = new Date(time).getUTCFullYear() === new Date().getUTCFullYear()
  return formatDate(time, true, { month: 'long', year: isThisYear ? undefined : 'numeric' })
}

/** Formats days in UTC: `Oct 1 – 28, 2026`. */
export function formatDays(first: number, last: number): string {
  return new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeZone: 'UTC' }).formatRange(
    first,
    last,
  )
}

/** The label of a field: `bundle_id` is `Bundle id`, and `created_at` is `Created`. */
export function labelOf(name: string): string {
  if (name === 'at') return 'Time'
  return name
    .replace(/_at$/, '')
    .replaceAll('_', ' ')
    .replace('sku', 'SKU')
    .replace(/^./, (letter) => letter.toUpperCase())
    .replace(/ url$/, ' URL')
    .replace(/^Api /, 'API ')
}
