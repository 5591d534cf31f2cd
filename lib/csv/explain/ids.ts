import { type Column, cellOf } from './columns.ts'

export type Row = readonly string[]

/** The columns of the transaction id, and what to say of equal ids. */
export interface Ids {
  readonly columns: readonly Column[]
  /** How many rows have the id and the status of an earlier row. */
  readonly repeated: number
  /** How many of these differ from the earlier row in another cell. */
  readonly different: number
}

/**
 * Finds the columns whose cells are an id of their own in each row. Joins an id that several rows of
 * an order have with the SKU. `statusOf` tells a refund from its sale, which has the same id.
 */
export function* findIds(
  candidates: readonly { readonly column: Column; readonly score: number }[],
  sku: Column | undefined,
  rows: readonly Row[],
  statusOf: (row: Row) => string,
): Generator<undefined, Ids | undefined> {
  let best: Ids | undefined
  let highest = 0
  for (const { column, score } of candidates) {
    const ids = yield* count([column], rows, statusOf)
    // The detector has counted equal ids, but not the statuses.
    const unique = 1 - ids.repeated / Math.max(1, rows.length)
    const exact = score + 4 * unique - (4 * column.distinct) / column.filled
    if (exact > highest) [best, highest] = [ids, exact]
  }
  if (!best || !sku || best.repeated === 0 || best.columns[0]?.at === sku.at) return best
  const joined = yield* count([...best.columns, sku], rows, statusOf)
  return joined.repeated < best.repeated ? joined : best
}

/** How many rows are compared until others get a turn. */
const ROWS_AT_ONCE = 1_000

function* count(
  columns: readonly Column[],
  rows: readonly Row[],
  statusOf: (row: Row) => string,
): Generator<undefined, Ids> {
  const first = new Map<string, Row>()
  let repeated = 0
  let different = 0
  for (const [i, row] of rows.entries()) {
    if (i % ROWS_AT_ONCE === 0) yield
    const cells = columns.map(({ at }) => cellOf(row, at))
    if (cells[0] === '') continue
    const key = [statusOf(row), ...cells].join('\0')
    const earlier = first.get(key)
    if (earlier === undefined) first.set(key, row)
    else {
      repeated++
      if (earlier.some((_, at) => cellOf(earlier, at) !== cellOf(row, at))) different++
    }
  }
  return { columns, repeated, different }
}
