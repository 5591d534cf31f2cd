import { type Column, cellOf } from './columns.ts'
import type { Row } from './ids.ts'
import { decimalOf, type Money, numberOf, parseMoney } from './money.ts'

/** A column of amounts. */
export interface Amounts {
  readonly column: Column
  /** The decimal mark that the amounts prove. */
  readonly decimal: '.' | ',' | undefined
  /** Amounts like `1,500` that leave the mark open: one of each mark. */
  readonly unclear: readonly string[]
  /** The currency signs and codes, without ''. */
  readonly marks: readonly string[]
  /** Whether all rows of each order have the same amount, as a total of the order has. */
  readonly isOfOrder: boolean
  /** The amount of each row; undefined for an empty cell or another text. */
  readonly values: readonly (number | undefined)[]
}

type Candidate = { readonly column: Column; readonly score: number }

/** At most this many columns are compared. */
const MAX_COMPARED = 6

/** The amounts that may be the price, the best first. Those after the first may be it as well. */
export function* findAmounts(
  candidates: readonly Candidate[],
  rows: readonly Row[],
  {
    quantity,
    order,
    fees,
  }: {
    readonly quantity: Column | undefined
    readonly order: Column | undefined
    readonly fees: readonly Column[]
  },
): Generator<undefined, readonly Amounts[]> {
  const all: { readonly amounts: Amounts; readonly score: number }[] = []
  for (const { column, score } of candidates.slice(0, MAX_COMPARED)) {
    const read = readAmounts(column, rows)
    const isOfOrder = order !== undefined && isEqualInOrders(read, rows, order)
    all.push({ amounts: { ...read, isOfOrder }, score })
    yield
  }
  const quantities = quantity && readAmounts(quantity, rows).values
  const feeValues: Amounts['values'][] = []
  for (const fee of fees.slice(0, MAX_COMPARED)) {
    feeValues.push(readAmounts(fee, rows).values)
    yield
  }
  const scored = all.map(({ amounts, score }) => {
    const others = all.filter((other) => other.amounts !== amounts)
    const isUnit = others.some((other) => isProduct(other.amounts, amounts, quantities))
    const isRow = others.some((other) => isProduct(amounts, other.amounts, quantities))
    const isNet = others.some((other) =>
      feeValues.some((fee) => isWithoutFee(amounts, other.amounts, fee)),
    )
    const change =
      (isNet ? -3 : 0) + (isRow ? 3 : 0) - (isUnit ? 3 : 0) - (amounts.isOfOrder ? 3 : 0)
    return { amounts, score: score + change }
  })
  scored.sort((a, b) => b.score - a.score)
  const [best] = scored
  if (!best) return []
  const isRival = ({ amounts, score }: (typeof scored)[number]) =>
    score >= best.score - 2 && differ(amounts, best.amounts)
  return [
    best.amounts,
    ...scored
      .slice(1)
      .filter(isRival)
      .map(({ amounts }) => amounts),
  ]
}

function readAmounts(column: Column, rows: readonly Row[]): Omit<Amounts, 'isOfOrder'> {
  const decimals = new Map<'.' | ',', number>()
  const marks = new Set<string>()
  const unclear = new Map<string, string>()
  const parsed = rows.map((row): Money | undefined => {
    const money = parseMoney(cellOf(row, column.at))
    if (!money) return undefined
    const decimal = decimalOf(money.number)
    if (decimal === 'unclear') unclear.set(money.number.includes('.') ? '.' : ',', money.number)
    else if (decimal) decimals.set(decimal, (decimals.get(decimal) ?? 0) + 1)
    if (money.mark !== '') marks.add(money.mark)
    return money
  })
  const [decimal] = [...decimals].sort((a, b) => b[1] - a[1])[0] ?? []
  const values = parsed.map((money) => money && numberOf(money, decimal ?? '.'))
  return { column, decimal, unclear: [...unclear.values()], marks: [...marks], values }
}

/** Whether `total` is `unit` times the quantity in all rows, and another amount in some. */
function isProduct(
  total: Pick<Amounts, 'values'>,
  unit: Pick<Amounts, 'values'>,
  quantities: readonly (number | undefined)[] | undefined,
): boolean {
  if (!quantities || !differ(total, unit)) return false
  return total.values.every((value, i) => {
    const [price, quantity] = [unit.values[i], quantities[i]]
    if (value === undefined || price === undefined || quantity === undefined) return true
    return Math.abs(Math.abs(value) - Math.abs(price * quantity)) < 0.02
  })
}

/** Whether `net` is `gross` without the fee in all rows, and some rows have a fee. */
function isWithoutFee(
  net: Pick<Amounts, 'values'>,
  gross: Pick<Amounts, 'values'>,
  fees: readonly (number | undefined)[],
): boolean {
  if (!differ(net, gross)) return false
  return net.values.every((value, i) => {
    const rest = Math.abs(gross.values[i] ?? 0) - Math.abs(fees[i] ?? 0)
    return value === undefined || Math.abs(rest - Math.abs(value)) < 0.02
  })
}

/** Whether all rows of each order have the same amount: it is that of the order. */
function isEqualInOrders(
  { values }: Pick<Amounts, 'values'>,
  rows: readonly Row[],
  order: Column,
): boolean {
  const first = new Map<string, number | undefined>()
  let compared = 0
  for (const [i, row] of rows.entries()) {
    const id = cellOf(row, order.at)
    if (!first.has(id)) first.set(id, values[i])
    else if (first.get(id) !== values[i]) return false
    else compared++
  }
  return compared > 0
}

function differ(a: Pick<Amounts, 'values'>, b: Pick<Amounts, 'values'>): boolean {
  return a.values.some((value, i) => value !== b.values[i])
}
