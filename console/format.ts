import type { Purchase, Store } from '../client/manage.ts'
import { exponentOf } from '../lib/domain/currency.ts'

/** The currency of prices without one; '' if the store has none. */
export function currencyOf({ store_config: { currency } }: Store): string {
  return typeof currency === 'string' ? currency : ''
}

/** Formats minor units exactly, in the browser's locale: `499` of USD is `$4.99`. */
export function formatMoney(minor: string | number, currency: string): string {
  if (!currency) return `${formatCount(BigInt(minor))} minor units`
  const digits = exponentOf(currency) // browsers have other digits for some currencies
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits }
  const format = new Intl.NumberFormat(undefined, { style: 'currency', currency, ...options })
  return format.format(toDecimal(String(minor), currency) as unknown as number)
}

/** `499` of USD is `4.99`. */
export function toDecimal(minor: string, currency: string): string {
  const digits = exponentOf(currency)
  const padded = minor.padStart(digits + 1, '0')
  const whole = padded.slice(0, padded.length - digits)
  return digits === 0 ? whole : `${whole}.${padded.slice(-digits)}`
}

/** The minor units of a decimal that a person typed: `4.99` or, where locales say so, `4,99`. */
export function toMinor(typed: string, currency: string): string | undefined {
  const digits = exponentOf(currency)
  const mark = (1.5).toLocaleString().charAt(1)
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d*))?$/.exec(typed.trim().replace(mark, '.')) ?? []
  if (whole === undefined || fraction.length > digits) return undefined
  return (whole + fraction.padEnd(digits, '0')).replace(/^0+(?=\d)/, '')
}

/** The price of a purchase, which may have none. */
export function priceOf({ price, currency = '' }: Pick<Purchase, 'price' | 'currency'>): string {
  return price === undefined ? '–' : formatMoney(price, currency)
}

export function formatCount(count: number | bigint): string {
  return count.toLocaleString()
}

/** `0.125` is `12.5%`, or with `exceptZero` `+12.5%`. */
export function formatShare(share: number, signDisplay: 'auto' | 'exceptZero' = 'auto'): string {
  const options = { style: 'percent', maximumFractionDigits: 1, signDisplay } as const
  return share.toLocaleString(undefined, options)
}

/** Formats an ISO 8601 time in the viewer's zone, or in UTC. */
export function formatTime(time: string, isUtc: boolean): string {
  const zone = isUtc ? { timeZone: 'UTC' } : {}
  const options = { dateStyle: 'medium', timeStyle: 'medium', ...zone } as const
  return new Date(time).toLocaleString(undefined, options) + (isUtc ? ' UTC' : '')
}

/** Formats a period of a summary: `2026-01` and `2026-01-31`, which are in UTC. */
export function formatPeriod(period: string): string {
  const isMonth = period.length === 7
  const date = new Date(isMonth ? `${period}-01` : period)
  const parts = isMonth ? { month: 'short', year: '2-digit' } : { month: 'short', day: 'numeric' }
  return date.toLocaleString(undefined, { ...parts, timeZone: 'UTC' } as Intl.DateTimeFormatOptions)
}

/** Formats a month in UTC: `October 2025`, or `October` in this year. */
export function formatMonth(time: number): string {
  const date = new Date(time)
  const isThisYear = date.getUTCFullYear() === new Date().getUTCFullYear()
  const year = isThisYear ? undefined : 'numeric'
  return date.toLocaleString(undefined, { month: 'long', year, timeZone: 'UTC' })
}

/** Formats days in UTC: `Oct 1 – 28, 2026`. */
export function formatDays(first: number, last: number): string {
  return new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' }).formatRange(
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
}
