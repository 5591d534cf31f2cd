import { exponentOf } from '../../domain/currency.ts'
import { excerpt } from '../../errors.ts'
import { createColumnNames } from '../columns.ts'
import { findAmounts } from './amounts.ts'
import { type Column, cellOf, examineColumn, type Shop, type Table } from './columns.ts'
import { candidatesFor, isStatusByName, type Part } from './detectors.ts'
import { createDraft } from './draft.ts'
import { findIds, type Ids, type Row } from './ids.ts'
import type { Explanation } from './interface.ts'
import { isBelowZero } from './money.ts'
import { findStatuses, type Statuses } from './statuses.ts'
import { writeTestOrders } from './test-orders.ts'
import { type Find, findTimes } from './times.ts'
import { askPrice, writeCurrency, writeNegative, writePrice } from './write-money.ts'
import { askStatus, writeIds, writeSku, writeStatus, writeTimes, writeUser } from './write-sale.ts'

/** The findings about each column of a file, and the layout that reads them. */
type Proposal = Pick<Explanation, 'columns' | 'layout' | 'missing' | 'questions' | 'remarks'>

/** At most this many columns are compared as ids, and as the status. */
const MAX_COMPARED = 4

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
  const quantity = find('quantity')[0]?.column
  const signed = [find('price')[0]?.column, quantity].filter((each) => each !== undefined)
  const isNegative = (row: Row) => signed.some(({ at }) => isBelowZero(cellOf(row, at)))
  const status = findStatus(find, rowsWithSku, isNegative)
  yield
  const isKnown = (row: Row) => !status || status.known.has(cellOf(row, status.column.at))
  const rows = rowsWithSku.filter(isKnown)
  const statuses = yield* readStatuses(rows, status, isNegative)
  const statusOf = (row: Row) => statuses.get(row) ?? ''
  const ids = yield* findIds(
    find('transaction_id').slice(0, MAX_COMPARED),
    sku?.column,
    rows,
    statusOf,
  )
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
    const empty = table.rows.length - rowsWithSku.length
    writeSku(draft, sku, otherSku, { empty, items: shop.items })
  }
  if (ids) writeIds(draft, ids)
  if ('dates' in times) writeTimes(draft, times)
  writeUser(draft, find('user_id'))
  if (quantity) {
    draft.columns.quantity = quantity.name
    draft.use('quantity', 'whole numbers', [quantity])
  }
  if (status) writeStatus(draft, status)
  askStatus(draft, columns.filter(isStatusByName), status?.column)
  const [price, ...rivals] = amounts
  if (price) {
    const currencies = writeCurrency(draft, price, find('currency')[0]?.column, rows, shop)
    const digits = Math.max(...(currencies.length > 0 ? currencies : ['USD']).map(exponentOf))
    const known = { quantity, sku: sku?.column, rows, items: shop.items, digits }
    writePrice(draft, price, rivals, known)
  } else askPrice(draft, columns)
  yield
  const negative = rows.filter((row) =>
    [price?.column, quantity].some((each) => each && isBelowZero(cellOf(row, each.at))),
  )
  writeNegative(draft, { negative, rows, columns, status, ids, statusOf })
  writeTestOrders(draft, columns, shop)
  const { columns: named, keys } = draft
  const complete = missing.length === 0
  return {
    columns: all.map((column) => {
      const { name, samples, kind } = column
      const { field, seems } = draft.uses.get(column) ?? { seems: KIND_NAMES[kind] }
      return { column: excerpt(name), ...(complete && field && { field }), seems, samples }
    }),
    ...(complete ? { layout: { columns: named, ...keys } } : { missing }),
    ...(complete ? draft.end() : { questions: [], remarks: refundsOf(ids, status) }),
  }
}

/** Says what a file without items or times can be imported for. */
function refundsOf(ids: Ids | undefined, status: Statuses | undefined): string[] {
  const [id] = ids?.columns ?? []
  if (!id || !status) return []
  return [`With --refunds-only, a layout with ${id.name} and ${status.column.name} is enough`]
}

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

/** The column with the most known words of a status, else one that has the name of a status. */
function findStatus(
  find: Find,
  rows: readonly Row[],
  isNegative: (row: Row) => boolean,
): Statuses | undefined {
  let named: Statuses | undefined
  for (const { column } of find('status').slice(0, MAX_COMPARED)) {
    const found = findStatuses(column, rows, isNegative)
    if (found && !found.isAssumed) return found
    if (isStatusByName(column)) named ??= found
  }
  return named
}

/** Tells the status of each row. Amounts below zero are refunds. */
function* readStatuses(
  rows: readonly Row[],
  status: Statuses | undefined,
  isNegative: (row: Row) => boolean,
): Generator<undefined, ReadonlyMap<Row, string>> {
  const found = new Map<Row, string>()
  for (const [i, row] of rows.entries()) {
    if (i % ROWS_AT_ONCE === 0) yield
    const word = status?.known.get(cellOf(row, status.column.at)) ?? 'purchased'
    found.set(row, word === 'purchased' && isNegative(row) ? 'refunded' : word)
  }
  return found
}

/** How many rows are read until others get a turn. */
const ROWS_AT_ONCE = 1_000
