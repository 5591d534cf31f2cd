import { exponentOf } from '../../domain/currency.ts'
import { excerpt } from '../../errors.ts'
import { createColumnNames } from '../columns.ts'
import { type Amounts, findAmounts } from './amounts.ts'
import { type Column, cellOf, examineColumn, type Items, type Table } from './columns.ts'
import { candidatesFor, type Part } from './detectors.ts'
import { countOf, createDraft, type Draft, namesOf, orOf } from './draft.ts'
import { findIds, type Ids, type Row } from './ids.ts'
import type { Explanation } from './interface.ts'
import { currencyOf, currencyOfName, parseMoney } from './money.ts'
import { findStatuses, type Statuses } from './statuses.ts'
import { type Find, findTimes, type Times } from './times.ts'

/** What is known of the store. */
export interface Shop {
  readonly items: Items
  readonly currency?: string | undefined
}

/** What the columns of a file seem to be, and the layout that reads them. */
export type Proposal = Pick<Explanation, 'columns' | 'layout' | 'missing' | 'questions' | 'remarks'>

/** At most this many columns are compared as ids. */
const MAX_IDS = 4

/** Finds the layout of a table. Yields often, because this takes up to a second. */
export function* propose(table: Table, shop: Shop): Generator<undefined, Proposal> {
  const all: Column[] = []
  for (const at of table.header.keys()) {
    all.push(examineColumn(table, at, shop.items))
    yield
  }
  const names = createColumnNames(table.header)
  // A layout names columns: it cannot tell two of one name apart.
  const isNamed = ({ name }: Column) =>
    name !== '' && name.length <= 255 && !name.includes('\0') && names.find(name).length === 1
  const columns = all.filter(isNamed)
  const find: Find = (part: Part) => candidatesFor(part, columns, table.rows.length)
  const draft = createDraft()

  const [sku, otherSku] = find('sku')
  const rowsWithSku = sku
    ? table.rows.filter((row) => cellOf(row, sku.column.at) !== '')
    : table.rows
  const times = yield* findTimes(find, rowsWithSku)
  const status = findStatus(find, rowsWithSku)
  yield
  const isKnown = (row: Row) => !status || status.known.has(cellOf(row, status.column.at))
  const rows = rowsWithSku.filter(isKnown)
  const quantity = find('quantity')[0]?.column
  const statusOf = createStatusOf(status, [find('price')[0]?.column, quantity])
  const ids = yield* findIds(find('transaction_id').slice(0, MAX_IDS), sku?.column, rows, statusOf)
  yield
  const order = ids && ids.columns.length > 1 ? ids.columns[0] : undefined
  const fees = columns.filter(({ concepts, kind }) => concepts.has('fee') && kind === 'money')
  const amounts = yield* findAmounts(find('price'), rows, { quantity, order, fees })
  yield
  const missing = [
    ...(ids ? [] : [{ field: 'transaction_id' as const, reason: NO_ID }]),
    ...(sku ? [] : [{ field: 'sku' as const, reason: NO_SKU }]),
    ...('dates' in times ? [] : [{ field: 'purchased_at' as const, reason: noTime(times) }]),
  ]
  if (sku) {
    writeSku(draft, sku, otherSku, table.rows.length - rowsWithSku.length)
  }
  if (ids) writeIds(draft, ids)
  if (ids?.columns[0]?.concepts.size === 0) {
    const { name } = ids.columns[0]
    draft.ask(
      'columns.transaction_id',
      `Has ${name} the ids of the sales? Its cells all differ.`,
      name,
    )
  }
  if ('dates' in times) writeTimes(draft, times)
  const [user, otherUser] = find('user_id').map(({ column }) => column)
  if (user) {
    if (otherUser) draft.remarks.push(`${otherUser.name} may name the user as well`)
    draft.columns.user_id = user.name
    draft.use('user_id', 'ids', [user])
  }
  if (quantity) {
    draft.columns.quantity = quantity.name
    draft.use('quantity', 'whole numbers', [quantity])
  }
  if (status) writeStatus(draft, status)
  else askStatus(draft, columns)
  const [price] = amounts
  if (price) {
    const currencies = writeCurrency(draft, price, find('currency')[0]?.column, shop)
    const digits = Math.max(...(currencies.length > 0 ? currencies : ['USD']).map(exponentOf))
    const known = { quantity, sku: sku?.column, rows, items: shop.items, digits }
    writePrice(draft, price, amounts.slice(1), known)
  }
  const others = columns.filter(({ kind }) => kind === 'money')
  if (!price && others.length > 0) {
    const question = `Which column is the amount paid for the row: ${orOf(others.slice(0, MAX_NAMED))}? No name says it.`
    draft.ask('columns.price', question, 'none: the purchases have no price')
  }
  const refunds = rows.filter((row) => isBelowZero(row, price?.column, quantity))
  writeNegative(draft, refunds, { rows, status, ids, statusOf })
  const { columns: named, keys } = draft
  const complete = missing.length === 0
  return {
    columns: all.map((column) => {
      const { name, samples, kind } = column
      const { field, seems } = draft.uses.get(column) ?? { seems: KIND_NAMES[kind] }
      return { column: excerpt(name), ...(complete && field && { field }), seems, samples }
    }),
    ...(complete ? { layout: { columns: named, ...keys } } : { missing }),
    ...(complete ? draft.end() : { questions: [], remarks: [] }),
  }
}

const MAX_NAMED = 5

const NO_ID = 'no column has ids of orders or transactions'
const NO_SKU = 'no column has the SKUs or names of items'

function noTime(unread: readonly Column[]): string {
  const [first] = unread
  if (!first) return 'no column has times'
  return `${first.name} has times that a layout cannot read, like ${first.samples[0]}`
}

const KIND_NAMES: { readonly [K in Column['kind']]: string } = {
  empty: 'empty',
  email: 'e-mail addresses',
  clock: 'times of day',
  date: 'dates',
  zone: 'time zones',
  currency: 'currencies',
  count: 'whole numbers',
  money: 'amounts',
  code: 'codes',
  text: 'text',
}

/** The status column that knows most words. */
function findStatus(find: Find, rows: readonly Row[]): Statuses | undefined {
  for (const { column } of find('status')) {
    const found = findStatuses(column, rows)
    if (found) return found
  }
  return undefined
}

function isBelowZero(row: Row, ...columns: readonly (Column | undefined)[]): boolean {
  return columns.some((each) => each && parseMoney(cellOf(row, each.at))?.isNegative === true)
}

/** A function that tells the status of a row. Amounts below zero are refunds. */
function createStatusOf(status: Statuses | undefined, signed: readonly (Column | undefined)[]) {
  return (row: Row): string => {
    const word = status?.known.get(cellOf(row, status.column.at)) ?? 'purchased'
    return word === 'purchased' && isBelowZero(row, ...signed) ? 'refunded' : word
  }
}

/** Asks for the words of a column that is named as the status, if none of them is known. */
function askStatus(draft: Draft, columns: readonly Column[]) {
  const named = columns.find(
    ({ concepts, words, kind }) =>
      concepts.has('status') &&
      !concepts.has('shipping') &&
      words &&
      words.size > 1 &&
      (kind === 'text' || kind === 'code'),
  )
  if (!named) return
  const question = `Do the words of ${named.name} say which sales were refunded or cancelled: ${named.samples.join(', ')}?`
  draft.ask('statuses', question, 'none: all rows count as purchased')
}

type Scored = { readonly column: Column; readonly score: number }

function writeSku(
  draft: Draft,
  { column, score }: Scored,
  other: Scored | undefined,
  empty: number,
) {
  draft.columns.sku = column.name
  const known = Math.round(column.skus * column.distinct)
  const all = countOf(column.distinct, 'SKU')
  const seems = known > 0 ? `SKUs, ${known} of ${column.distinct} in the store` : 'SKUs of a vendor'
  draft.use('sku', column.names > column.skus ? 'names of items' : seems, [column])
  if (known < column.distinct) {
    const remark = `${column.name} has ${all}, of which ${column.distinct - known} are no items of the store: import with --skus`
    draft.remarks.push(remark)
  }
  if (empty > 0) {
    draft.keys.skip = { ...draft.keys.skip, [column.name]: [''] }
    draft.remarks.push(`${countOf(empty, 'row')} without ${column.name} will be passed over`)
  }
  if (column.skus >= 0.5 || !other || other.score < score - 2) return
  const question = `Which column names the item: ${orOf([column, other.column])}?`
  draft.ask('columns.sku', question, column.name)
}

function writeIds(draft: Draft, { columns, repeated, different }: Ids) {
  draft.columns.transaction_id = namesOf(columns)
  const seems = columns.length > 1 ? 'ids of orders, joined with the SKU' : 'ids'
  draft.use('transaction_id', seems, columns.slice(0, 1))
  if (repeated === 0) return
  if (different > 0) draft.keys.number_repeats = true
  const named = columns.map(({ name }) => name).join(' and ')
  const how =
    different === 0
      ? 'They equal the earlier rows in all cells.'
      : `In other cells, ${different.toLocaleString('en-US')} of them differ.`
  const question = `${countOf(repeated, 'row')} with the ${named} of an earlier row: are these further sales, or the same ones again? ${how}`
  const chosen = different > 0 ? 'further sales (number_repeats)' : 'the same sales'
  draft.ask('number_repeats', question, chosen)
}

function writeTimes(draft: Draft, { columns, dates, zone, rival }: Times) {
  const { date_format, other, needsZone } = dates
  draft.columns.purchased_at = namesOf(columns)
  draft.use('purchased_at', date_format ? `dates, ${date_format}` : 'times', columns)
  if (date_format !== undefined) draft.keys.date_format = date_format
  const [first] = columns
  if (other !== undefined) {
    const question = `Is ${first?.samples[0]} of ${first?.name} ${date_format} or ${other}? Both fit all rows.`
    draft.ask('date_format', question, `${date_format}`)
  }
  if (needsZone) {
    draft.keys.zone = zone ?? 'UTC'
    if (zone === undefined) {
      const question = `In which time zone are the times of ${first?.name}?`
      draft.ask('zone', question, 'UTC')
    }
  }
  if (rival && first) {
    const question = `Which time is that of the sale: ${orOf([first, rival])}?`
    draft.ask('columns.purchased_at', question, first.name)
  }
}

function writeStatus(draft: Draft, { column, known, unknown }: Statuses) {
  draft.columns.status = column.name
  draft.keys.statuses = Object.fromEntries(known)
  draft.use('status', 'words', [column])
  if (unknown.length === 0) return
  const words = unknown.map(([word]) => word)
  draft.keys.skip = {
    ...draft.keys.skip,
    [column.name]: [...(draft.keys.skip?.[column.name] ?? []), ...words],
  }
  const named = unknown.slice(0, MAX_NAMED).map(([word, rows]) => {
    const shown = word === '' ? 'the empty cell' : `"${excerpt(word)}"`
    return `${shown} (${countOf(rows, 'row')})`
  })
  const question = `What status do these words of ${column.name} mean: ${named.join(', ')}?`
  draft.ask('statuses', question, 'none: the rows are passed over')
}

/** Writes the currency. Returns those of the amounts. */
function writeCurrency(
  draft: Draft,
  { column, marks }: Amounts,
  currencies: Column | undefined,
  shop: Shop,
): readonly string[] {
  if (currencies) {
    draft.columns.currency = currencies.name
    draft.use('currency', 'currencies', [currencies])
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
  const chosen = shop.currency
    ? `${shop.currency}, the currency of the store`
    : 'none: give currency, because the store has none'
  draft.ask('currency', question, chosen)
  return shop.currency ? [shop.currency] : []
}

interface Known {
  readonly quantity: Column | undefined
  readonly sku: Column | undefined
  readonly rows: readonly Row[]
  readonly items: Items
  /** The most decimals of a currency of the file. */
  readonly digits: number
}

function writePrice(draft: Draft, price: Amounts, rivals: readonly Amounts[], known: Known) {
  const { column, decimal, isUnclear, isOfOrder } = price
  draft.columns.price = column.name
  const mark = rivals.find((each) => each.decimal)?.decimal
  writeUnit(draft, price, mark, known)
  draft.use('price', decimal === ',' ? 'amounts, decimal comma' : 'amounts', [column])
  const sample = column.samples.find((each) => /\d[.,]\d{3}(\D|$)/.test(each)) ?? ''
  // Three digits after a mark are no decimals, unless the currency has three.
  const thousands = /\d,\d{3}/.test(sample) ? '.' : ','
  const chosen = decimal ?? (isUnclear ? (mark ?? thousands) : undefined)
  if (chosen) draft.keys.decimal = chosen
  if (isUnclear && !decimal && !mark && known.digits > 2) {
    const question = `Has ${sample} of ${column.name} decimals, or thousands?`
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
  { column, decimal, isUnclear, marks, values }: Amounts,
  otherMark: string | undefined,
  { sku, rows, items, digits }: Known,
) {
  draft.keys.price_unit = 'major'
  const isWhole = decimal === undefined && !isUnclear
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
  draft.ask('price_unit', question, 'major')
}

/** Says what rows with amounts below zero are. */
function writeNegative(
  draft: Draft,
  negative: readonly Row[],
  {
    rows,
    status,
    ids,
    statusOf,
  }: {
    readonly rows: readonly Row[]
    readonly status: Statuses | undefined
    readonly ids: Ids | undefined
    readonly statusOf: (row: Row) => string
  },
) {
  const word = (row: Row) => status?.known.get(cellOf(row, status.column.at))
  const unsaid = negative.filter((row) => !['refunded', 'cancelled'].includes(word(row) ?? ''))
  if (unsaid.length > 0) draft.keys.negative = 'refunded'
  const refunds = rows.filter((row) => statusOf(row) === 'refunded')
  if (!ids || refunds.length === 0) return
  const idOf = (row: Row) => JSON.stringify(ids.columns.map(({ at }) => cellOf(row, at)))
  const sold = new Set(rows.filter((row) => statusOf(row) === 'purchased').map(idOf))
  const own = refunds.filter((row) => !sold.has(idOf(row))).length
  // In a file with the present statuses, a refunded sale has one row, and its amount is positive.
  if (own === 0 || negative.length === 0) return
  const question = `Are the rows with an amount below zero refunds (${negative.length.toLocaleString('en-US')})? Of the refunds, ${own.toLocaleString('en-US')} with an id of their own take back no sale.`
  draft.ask('negative', question, 'refunded purchases')
}
