import { type Comparison, type NewPurchase, PURCHASE_STATUSES } from '../../domain/purchase.ts'
import { metadataText } from '../recorded.ts'
import { userKey } from './user-key.ts'

/** The columns that hold each field of a row. An `…Ends` column says where a row's text ends. */
const COLUMNS_OF = {
  line: ['lines'],
  /** The `seq` of each item. */
  sku: ['items'],
  purchased_at: ['times'],
  quantity: ['quantities'],
  /** `NONE` if there is no price. */
  price: ['prices'],
  status: ['statuses'],
  /** `NONE` if the row has no end. */
  expires_at: ['ends'],
  /** The index of each row's currency in `currencies`. */
  currency: ['currencyIndexes'],
  /** The keys of the users in the table `purchase_users`; `NONE` if there is no user. */
  user_id: ['userKeys', 'userEnds'],
  transaction_id: ['idEnds'],
  metadata: ['metadataEnds'],
} as const satisfies Record<keyof NewPurchase, readonly string[]>

const COLUMNS = Object.values(COLUMNS_OF).flat()

/**
 * Rows of an import, by column. Threads exchange a few strings and one buffer cheaply. Sending row
 * objects would copy each property of each row.
 */
export interface PackedRows extends Readonly<Record<(typeof COLUMNS)[number], Numbers>> {
  readonly size: number
  /** The memory of all columns. */
  readonly buffer: ArrayBuffer
  /** The transaction ids of all rows, one after the other. */
  readonly ids: string
  /** Whether each transaction id is higher than the one before. */
  readonly isAscending: boolean
  /** The user ids of all rows. */
  readonly users: string
  /** The metadata of all rows as JSON. A row without metadata has no text. */
  readonly metadata: string
  /** The different values of the field `currency`. */
  readonly currencies: readonly (string | null)[]
  readonly comparison: Comparison
}

export type Numbers = Float64Array<ArrayBuffer>

/** Stands for a missing value in a column. */
export const NONE = Number.POSITIVE_INFINITY

/** Packs rows of a store. `items` has the `seq` of each SKU. `buffer` can be transferred. */
export function packRows(
  store: number,
  rows: readonly NewPurchase[],
  items: ReadonlyMap<string, number>,
  comparison: Comparison = 'all',
): PackedRows {
  const size = rows.length
  const bytes = size * Float64Array.BYTES_PER_ELEMENT
  const buffer = new ArrayBuffer(COLUMNS.length * bytes)
  const columns = Object.fromEntries(
    COLUMNS.map((name, i) => [name, new Float64Array(buffer, i * bytes, size)]),
  ) as Record<(typeof COLUMNS)[number], Numbers>
  const currencies = new Map<string | null, number>()
  let [ids, users, metadata] = ['', '', '']
  let isAscending = true
  let earlier = ''
  for (const [i, row] of rows.entries()) {
    isAscending &&= row.transaction_id > earlier
    earlier = row.transaction_id
    ids += row.transaction_id
    users += row.user_id ?? ''
    metadata += metadataText(row) ?? ''
    columns.lines[i] = row.line
    columns.items[i] = items.get(row.sku) as number
    columns.times[i] = row.purchased_at
    columns.quantities[i] = row.quantity
    columns.prices[i] = row.price ?? NONE
    columns.statuses[i] = PURCHASE_STATUSES.indexOf(row.status)
    columns.ends[i] = row.expires_at ?? NONE
    columns.currencyIndexes[i] = indexIn(currencies, row.currency ?? null)
    columns.userKeys[i] = row.user_id === undefined ? NONE : userKey(store, row.user_id)
    columns.idEnds[i] = ids.length
    columns.userEnds[i] = users.length
    columns.metadataEnds[i] = metadata.length
  }
  return {
    ...{ size, buffer, ids, isAscending, users, metadata, comparison },
    currencies: [...currencies.keys()],
    ...columns,
  }
}

/** The part of a text that belongs to row `i`. */
export function textAt(text: string, ends: Numbers, i: number): string {
  return text.slice(i === 0 ? 0 : ends[i - 1], ends[i])
}

/** The number of a value: how many other values were added before it. */
function indexIn<T>(known: Map<T, number>, value: T): number {
  const index = known.get(value) ?? known.size
  known.set(value, index)
  return index
}

export function doubled(numbers: Numbers): Numbers {
  const larger = new Float64Array(2 * numbers.length)
  larger.set(numbers)
  return larger
}
