import type { Purchase } from '../client/manage.ts'

// The currencies whose minor unit is not 1/100 (ISO 4217). Browsers have other digits for some.
const DIGITS: { readonly [digits: number]: string } = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
}

/** The number of decimals of a currency: 2 for USD, 0 for JPY. */
export function digitsOf(currency: string): number {
  const found = Object.entries(DIGITS).find(([, codes]) => codes.split(' ').includes(currency))
  return Number(found?.[0] ?? 2)
}

/** Formats minor units exactly, in the browser's locale: `499` of USD is `$4.99`. */
export function formatMoney(minor: string | number, currency: string): string {
  if (!currency) return `${formatCount(BigInt(minor))} minor units`
  const digits = digitsOf(currency)
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits }
  const format = new Intl.NumberFormat(undefined, { style: 'currency', currency, ...options })
  return format.format(toDecimal(String(minor), currency) as unknown as number)
}

/** `499` of USD is `4.99`. */
export function toDecimal(minor: string, currency: string): string {
  const digits = digitsOf(currency)
  const padded = minor.padStart(digits + 1, '0')
  const whole = padded.slice(0, padded.length - digits)
  return digits === 0 ? whole : `${whole}.${padded.slice(-digits)}`
}

/** The minor units of a decimal that a person typed: `4.99` or, where locales say so, `4,99`. */
export function toMinor(typed: string, currency: string): string | undefined {
  const digits = digitsOf(currency)
  const mark = (1.5).toLocaleString().charAt(1)
  const [whole = '', fraction = '', ...more] = typed.trim().replace(mark, '.').split('.')
  const isDecimal = /^\d+$/.test(whole) && /^\d*$/.test(fraction) && more.length === 0
  if (!isDecimal || fraction.length > digits) return undefined
  return (whole + fraction.padEnd(digits, '0')).replace(/^0+(?=\d)/, '')
}

/** The price of a purchase, which may have none. */
export function priceOf({ price, currency = '' }: Pick<Purchase, 'price' | 'currency'>): string {
  return price === undefined ? '–' : formatMoney(price, currency)
}

export function formatCount(count: number | bigint): string {
  return count.toLocaleString()
}

export function formatBytes(bytes: number): string {
  const [value, unit] = bytes < 1e6 ? [bytes / 1e3, 'kilobyte'] : [bytes / 1e6, 'megabyte']
  return value.toLocaleString(undefined, { style: 'unit', unit, maximumFractionDigits: 1 })
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
