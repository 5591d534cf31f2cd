import type { Amounts } from './amounts.ts'
import { type Column, cellOf, type Items, type Shop } from './columns.ts'
import { countOf, type Draft, MAX_NAMED, orOf } from './draft.ts'
import type { Ids, Row } from './ids.ts'
import { currencyOf, currencyOfName } from './money.ts'
import type { Statuses } from './statuses.ts'
import type { Concept } from './words.ts'

/** Writes the currency. Returns those of the amounts. */
export function writeCurrency(
  draft: Draft,
  { column, marks }: Amounts,
  currencies: Column | undefined,
  rows: readonly Row[],
  shop: Pick<Shop, 'currency'>,
): readonly string[] {
  if (currencies) {
    draft.columns.currency = currencies.name
    draft.use('currency', 'currencies', [currencies])
    const empty = rows.filter((row) => cellOf(row, currencies.at) === '').length
    if (empty > 0) {
      const question = `In which currency are the amounts without ${currencies.name} (${countOf(empty, 'row')})?`
      draft.ask('currency', question, nameOf(shop))
    }
    return [...(currencies.words?.keys() ?? [])].map((code) => code.toUpperCase())
  }
  const [mark = '', ...others] = marks
  const named = currencyOf(mark) ?? currencyOfName(column.name)
  if (named !== undefined && others.length === 0) {
    if (named !== shop.currency) draft.keys.currency = named
    return [named]
  }
  const sign = mark === '' ? '' : ` with the sign ${marks.join(', ')}`
  const question = `In which currency are the amounts of ${column.name}${sign}? The file does not name it.`
  draft.ask('currency', question, nameOf(shop))
  return shop.currency ? [shop.currency] : []
}

function nameOf({ currency }: Pick<Shop, 'currency'>): string {
  return currency
    ? `${currency}, the currency of the store`
    : 'none: give currency, because the store has none'
}

interface Known {
  readonly quantity: Column | undefined
  readonly sku: Column | undefined
  readonly rows: readonly Row[]
  readonly items: Items
  /** The most decimals of a currency of the file. */
  readonly digits: number
}

/**
 * Writes the column, the unit and the decimal mark of the price, and asks what its cells leave
 * open.
 */
export function writePrice(draft: Draft, price: Amounts, rivals: readonly Amounts[], known: Known) {
  const { column, decimal, unclear, isOfOrder } = price
  draft.columns.price = column.name
  const mark = rivals.find((each) => each.decimal)?.decimal
  writeUnit(draft, price, mark, known)
  draft.use('price', decimal === ',' ? 'amounts, decimal comma' : 'amounts', [column])
  const [sample] = unclear
  // Three digits after a mark are no decimals, unless the currency has three.
  const thousands = sample?.includes(',') ? '.' : ','
  const chosen = decimal ?? (sample ? (mark ?? thousands) : undefined)
  if (chosen) draft.keys.decimal = chosen
  if (sample && !decimal && !mark && (known.digits > 2 || unclear.length > 1)) {
    const question = `Has ${unclear.join(' or ')} of ${column.name} decimals, or thousands?`
    draft.ask('decimal', question, `the decimal mark is ${chosen}`)
  }
  const several = known.rows.filter((row) => {
    const cell = known.quantity ? cellOf(row, known.quantity.at) : '1'
    return !/^-?1([.,]0+)?$/.test(cell) && cell !== ''
  }).length
  const isUnit = several > 0 && !column.concepts.has('total') && !column.concepts.has('amount')
  const doubts = [
    ...(rivals.length > 0
      ? [
          `Which is the amount paid for the row: ${orOf([price, ...rivals].map((each) => each.column))}?`,
        ]
      : []),
    ...(isUnit
      ? [
          `${column.name} may be the price of one piece. A layout cannot multiply it, and the quantity is above 1 in ${countOf(several, 'row')}.`,
        ]
      : []),
    ...(isOfOrder ? [`${column.name} may be the amount of the whole order.`] : []),
  ]
  if (doubts.length > 0) draft.ask('columns.price', doubts.join(' '), column.name)
}

/** Decides whether amounts are in minor units, by the prices of the items. */
function writeUnit(
  draft: Draft,
  { column, decimal, unclear, marks, values }: Amounts,
  otherMark: string | undefined,
  { sku, rows, items, digits }: Known,
) {
  draft.keys.price_unit = 'major'
  const isWhole = decimal === undefined && unclear.length === 0
  if (!isWhole || digits === 0) return
  const factors = rows.flatMap((row, i) => {
    const price = sku ? items.skus.get(cellOf(row, sku.at)) : undefined
    return price && values[i] ? [values[i] / price] : []
  })
  const share = (factor: number) => factors.filter((each) => each === factor).length / rows.length
  const isMinor = column.concepts.has('minor') || share(1) > 0.5
  if (isMinor) draft.keys.price_unit = 'minor'
  const isProven = isMinor || share(1 / 10 ** digits) > 0.5 || marks.length > 0
  if (isProven || otherMark !== undefined) return
  const question = `Are the amounts of ${column.name} in major units (5 for 5.00), or in minor ones?`
  // The canonical format has minor units.
  if (column.name === 'price') draft.keys.price_unit = 'minor'
  draft.ask('price_unit', question, draft.keys.price_unit)
}

/** Asks for the price if no column is named as one. */
export function askPrice(draft: Draft, columns: readonly Column[]) {
  const hasCurrency = columns.some(({ kind }) => kind === 'currency')
  const amounts = columns.filter((column) => {
    const { kind, concepts, samples } = column
    if (draft.uses.has(column)) return false
    if (kind === 'money' || (hasCurrency && kind === 'count')) return true
    const isNamed = ['total', 'amount', 'price'].some((each) => concepts.has(each as Concept))
    return isNamed && samples.length > 0 && samples.every((cell) => /\d/.test(cell))
  })
  if (amounts.length === 0) return
  const question = `Which column is the amount paid for the row: ${orOf(amounts.slice(0, MAX_NAMED))}? The names do not say it.`
  draft.ask('columns.price', question, 'none: the purchases have no price')
}

interface Sales {
  /** The rows with an amount below zero. */
  readonly negative: readonly Row[]
  readonly rows: readonly Row[]
  readonly columns: readonly Column[]
  readonly status: Statuses | undefined
  readonly ids: Ids | undefined
  readonly statusOf: (row: Row) => string
}

/** Says what rows with amounts below zero are, and what refunds the layout does not read. */
export function writeNegative(draft: Draft, { negative, rows, columns, ...sales }: Sales) {
  const { status, ids, statusOf } = sales
  const word = (row: Row) => status?.known.get(cellOf(row, status.column.at))
  const unsaid = negative.filter((row) => !['refunded', 'cancelled'].includes(word(row) ?? ''))
  if (unsaid.length > 0) draft.keys.negative = 'refunded'
  const sold = rows.filter((row) => statusOf(row) === 'purchased')
  for (const column of columns) {
    const isDate = column.kind === 'date'
    const isAmount = column.kind === 'money' || column.kind === 'count'
    if (!(isAmount || isDate) || !column.concepts.has('refund') || draft.uses.has(column)) continue
    const some = sold.filter((row) => /[1-9]/.test(cellOf(row, column.at))).length
    if (some === 0) continue
    const found = isDate ? 'has a date' : 'is above 0'
    const remark = `${column.name} ${found}, but the row counts as purchased (${countOf(some, 'row')})`
    draft.remarks.push(remark)
  }
  const refunds = rows.filter((row) => statusOf(row) === 'refunded')
  // A file with the present statuses has one row for a refunded sale, and a positive amount.
  const hasEvents = negative.length > 0 || status?.column.concepts.has('type')
  if (!ids || refunds.length === 0 || !hasEvents) return
  const idOf = (row: Row) => ids.columns.map(({ at }) => cellOf(row, at)).join('\0')
  const soldIds = new Set(sold.map(idOf))
  const own = refunds.filter((row) => !soldIds.has(idOf(row))).length
  if (own === 0) return
  const question = `Do refunds have ids of their own? ${countOf(own, 'refund')} of the file would take back no sale.`
  draft.ask(unsaid.length > 0 ? 'negative' : 'statuses', question, 'refunded purchases')
}
