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

// Thousands are separated by the other mark, a blank or an apostrophe.
const AMOUNTS = {
  '.': /^(\d+|\d{1,3}(?:([, \u00a0\u202f'’])\d{3})(?:\2\d{3})*)(?:\.(\d+))?$/,
  ',': /^(\d+|\d{1,3}(?:([. \u00a0\u202f'’])\d{3})(?:\2\d{3})*)(?:,(\d+))?$/,
}

/**
 * Converts an amount (`4.99`, `1,234.50`) to units of `exponent` decimals. Returns undefined for
 * any other text, and for an amount with too many decimals. Never rounds.
 */
export function toMinorDigits(
  amount: string,
  exponent: number,
  decimal: keyof typeof AMOUNTS = '.',
): string | undefined {
  const [, whole, mark = '', fraction = ''] = AMOUNTS[decimal].exec(amount) ?? []
  if (whole === undefined || /[1-9]/.test(fraction.slice(exponent))) return undefined
  const digits = whole.replaceAll(mark, '') + fraction.slice(0, exponent).padEnd(exponent, '0')
  return digits.replace(/^0+(?=\d)/, '')
}

/** Formats minor units for people: `499000` of USD is `4,990.00`. */
export function formatAmount(minorDigits: string, currency: string): string {
  const exponent = exponentOf(currency)
  const digits = minorDigits.padStart(exponent + 1, '0')
  const whole = BigInt(digits.slice(0, digits.length - exponent)).toLocaleString('en-US')
  return exponent === 0 ? whole : `${whole}.${digits.slice(-exponent)}`
}
