const CURRENCIES = new Set(Intl.supportedValuesOf('currency'))

/** Whether a text is the code of a currency, in any case. */
export function isCurrency(text: string): boolean {
  return text.length === 3 && CURRENCIES.has(text.toUpperCase())
}

/** Signs and words that stand for one currency, in the form of `plainSign`. */
export const SIGNS: ReadonlyMap<string, string> = new Map([
  ['€', 'EUR'],
  ['£', 'GBP'],
  ['₩', 'KRW'],
  ['원', 'KRW'],
  ['₽', 'RUB'],
  ['руб', 'RUB'],
  ['₺', 'TRY'],
  ['tl', 'TRY'],
  ['zł', 'PLN'],
  ['₹', 'INR'],
  ['₪', 'ILS'],
  ['円', 'JPY'],
  ['元', 'CNY'],
  ['rp', 'IDR'],
  ['₫', 'VND'],
  ['r$', 'BRL'],
  ['us$', 'USD'],
  ['ca$', 'CAD'],
  ['c$', 'CAD'],
  ['a$', 'AUD'],
  ['au$', 'AUD'],
  ['nz$', 'NZD'],
  ['hk$', 'HKD'],
  ['mx$', 'MXN'],
  ['kč', 'CZK'],
])

/** Makes `Kr.` equal to `kr`, and the wide `￥` to `¥`. */
export function plainSign(mark: string): string {
  return mark.normalize('NFKC').toLowerCase().replace(/\.$/, '')
}
