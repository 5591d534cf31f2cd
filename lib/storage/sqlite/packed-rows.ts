import type { JsonObject } from '../../domain/fields.ts'
import { type NewPurchase, PURCHASE_STATUSES, type PurchaseStatus } from '../../domain/purchase.ts'

/**
 * Rows of an import in a form that threads exchange cheaply: the texts of all rows in one string,
 * and their lengths with the other values in one array. Sending row objects would copy each property
 * of each row.
 */
export interface PackedRows {
  readonly text: string
  /** `NUMBERS` numbers for each row. A text length of -1 means that the row lacks this text. */
  readonly numbers: Float64Array<ArrayBuffer>
}

const NUMBERS = 10

/** Packs rows. `numbers.buffer` can be transferred. */
export function packRows(rows: readonly NewPurchase[]): PackedRows {
  const numbers = new Float64Array(rows.length * NUMBERS)
  let text = ''
  let at = 0
  const add = (part: string | undefined) => {
    numbers[at++] = part === undefined ? -1 : part.length
    if (part !== undefined) text += part
  }
  for (const row of rows) {
    numbers[at++] = row.line
    numbers[at++] = row.purchased_at
    numbers[at++] = row.quantity
    numbers[at++] = row.price ?? Number.NaN
    numbers[at++] = PURCHASE_STATUSES.indexOf(row.status)
    add(row.transaction_id)
    add(row.sku)
    add(row.user_id)
    add(row.currency)
    add(isEmpty(row.metadata) ? undefined : JSON.stringify(row.metadata))
  }
  return { text, numbers }
}

export function unpackRows({ text, numbers }: PackedRows): NewPurchase[] {
  const rows: NewPurchase[] = []
  let at = 0
  let start = 0
  const number = () => numbers[at++] as number
  const take = () => {
    const length = number()
    if (length < 0) return undefined
    start += length
    return text.slice(start - length, start)
  }
  while (at < numbers.length) {
    const line = number()
    const purchased_at = number()
    const quantity = number()
    const price = number()
    const status = PURCHASE_STATUSES[number()] as PurchaseStatus
    const transaction_id = take() as string
    const sku = take() as string
    const user_id = take()
    const currency = take()
    const metadata = take()
    rows.push({
      line,
      transaction_id,
      sku,
      purchased_at,
      user_id,
      quantity,
      price: Number.isNaN(price) ? undefined : price,
      currency,
      status,
      metadata: metadata === undefined ? EMPTY : JSON.parse(metadata),
    })
  }
  return rows
}

const EMPTY: JsonObject = {}

export function isEmpty(object: object): boolean {
  for (const _ in object) return false
  return true
}
