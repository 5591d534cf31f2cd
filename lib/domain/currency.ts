import type { TillError } from '../errors.ts'
import { invalidField } from './fields.ts'
import type { Project } from './project.ts'
import type { Store } from './store.ts'

// The currencies whose minor unit is not 1/100 (ISO 4217).
const EXPONENTS = new Map<string, number>([
  ...group(0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'),
  ...group(3, 'BHD IQD JOD KWD LYD OMR TND'),
  ...group(4, 'CLF UYW'),
])

function group(exponent: number, codes: string): [code: string, exponent: number][] {
  return codes.split(' ').map((code) => [code, exponent])
}

/** The number of decimals of a currency: 2 for USD, 0 for JPY. */
export function exponentOf(currency: string): number {
  return EXPONENTS.get(currency) ?? 2
}

// Thousands are separated by the other mark, a blank or an apostrophe. `0,500` has no thousands.
const GROUPS = {
  '.': /^[1-9]\d{0,2}([, \u00a0\u2007\u2009\u202f'’])\d{3}(?:\1\d{3})*$/,
  ',': /^[1-9]\d{0,2}([. \u00a0\u2007\u2009\u202f'’])\d{3}(?:\1\d{3})*$/,
}
const DIGITS = /^\d+$/

/**
 * Converts an amount (`4.99`, `1,234.50`) to units of `exponent` decimals. Returns undefined for
 * any other text, and for an amount with too many decimals. Never rounds.
 */
export function toMinorDigits(
  amount: string,
  exponent: number,
  decimal: keyof typeof GROUPS = '.',
): string | undefined {
  const at = amount.indexOf(decimal)
  const fraction = at < 0 ? '0' : amount.slice(at + 1)
  const whole = withoutGroups(at < 0 ? amount : amount.slice(0, at), decimal)
  if (whole === undefined || !DIGITS.test(fraction)) return undefined
  if (fraction.length > exponent && /[1-9]/.test(fraction.slice(exponent))) return undefined
  const digits = whole + fraction.slice(0, exponent).padEnd(exponent, '0')
  return digits.startsWith('0') ? digits.replace(/^0+(?=\d)/, '') : digits
}

function withoutGroups(whole: string, decimal: keyof typeof GROUPS): string | undefined {
  if (DIGITS.test(whole)) return whole
  const [, mark] = GROUPS[decimal].exec(whole) ?? []
  return mark && whole.replaceAll(mark, '')
}

/** Formats minor units for people: `499000` of USD is `4,990.00`. */
export function formatAmount(minorDigits: string, currency: string): string {
  const exponent = exponentOf(currency)
  const digits = minorDigits.padStart(exponent + 1, '0')
  const whole = BigInt(digits.slice(0, digits.length - exponent)).toLocaleString('en-US')
  return exponent === 0 ? whole : `${whole}.${digits.slice(-exponent)}`
}

const NAMED_CURRENCIES = 12

/**
 * Returns the error for a currency that the project does not allow. It limits what is sold from now
 * on, so it does not limit imports.
 */
export function currencyRefusal(
  project: Project | undefined,
  field: string,
  currency: unknown,
): TillError | undefined {
  const allowed = (project?.config.allowed_currencies as string[] | undefined) ?? []
  if (allowed.length === 0 || typeof currency !== 'string' || allowed.includes(currency)) {
    return undefined
  }
  const others = allowed.length - NAMED_CURRENCIES
  const more = others > 0 ? ` and ${others} more` : ''
  const named = allowed.slice(0, NAMED_CURRENCIES).join(', ')
  const message = `must be one of the project's allowed currencies: ${named}${more}`
  return invalidField(field, 'not_allowed', message)
}

/** Throws if the project does not allow the currency of a new store, or a changed currency. */
export function assertCurrency(
  project: Project | undefined,
  { store_config }: Pick<Store, 'store_config'>,
  before?: Store,
): void {
  const { currency } = store_config
  if (currency === before?.store_config.currency) return
  const refusal = currencyRefusal(project, 'store_config.currency', currency)
  if (refusal) throw refusal
}
