import { type NewPurchase, PURCHASE_STATUSES, type PurchaseStatus } from '../domain/purchase.ts'

/**
 * Rows in two buffers, which one thread can transfer to another without a copy. `text` has the
 * cells that each row has for itself, and then each SKU and currency once. They are separated by
 * U+0000, which no cell contains.
 */
export interface PackedRows {
  readonly text: Uint8Array<ArrayBuffer>
  readonly numbers: Float64Array<ArrayBuffer>
}

const TEXTS_A_ROW = 3
const NUMBERS_A_ROW = 7
/** Stands for a missing price. */
const NO_PRICE = -1

export function packRows(rows: readonly NewPurchase[]): PackedRows {
  const texts: string[] = []
  const numbers = new Float64Array(rows.length * NUMBERS_A_ROW)
  const words = new Map<string, number>()
  let at = 0
  for (const row of rows) {
    texts.push(row.transaction_id, row.user_id ?? '', packObject(row.metadata))
    numbers[at++] = row.line
    numbers[at++] = row.purchased_at
    numbers[at++] = row.quantity
    numbers[at++] = row.price ?? NO_PRICE
    numbers[at++] = PURCHASE_STATUSES.indexOf(row.status)
    numbers[at++] = indexOf(words, row.sku)
    numbers[at++] = indexOf(words, row.currency ?? '')
  }
  const text = [...texts, ...words.keys()].join('\0')
  return { text: new TextEncoder().encode(text), numbers }
}

function indexOf(words: Map<string, number>, word: string): number {
  const known = words.get(word)
  if (known !== undefined) return known
  words.set(word, words.size)
  return words.size - 1
}

function packObject(object: object): string {
  for (const _ in object) return JSON.stringify(object)
  return ''
}

/** Returns the rows. All rows with the same SKU or currency share one string in memory. */
export function unpackRows({ text, numbers }: PackedRows): NewPurchase[] {
  const texts = new TextDecoder('utf-8', { ignoreBOM: true }).decode(text).split('\0')
  const count = numbers.length / NUMBERS_A_ROW
  const number = (at: number) => numbers[at] as number
  const word = (at: number) => texts[count * TEXTS_A_ROW + number(at)] as string
  const rows: NewPurchase[] = []
  for (let i = 0; i < count; i++) {
    const cell = i * TEXTS_A_ROW
    const at = i * NUMBERS_A_ROW
    const metadata = texts[cell + 2]
    rows.push({
      line: number(at),
      transaction_id: texts[cell] as string,
      sku: word(at + 5),
      purchased_at: number(at + 1),
      user_id: texts[cell + 1] || undefined,
      quantity: number(at + 2),
      price: number(at + 3) === NO_PRICE ? undefined : number(at + 3),
      currency: word(at + 6) || undefined,
      status: PURCHASE_STATUSES[number(at + 4)] as PurchaseStatus,
      metadata: metadata ? JSON.parse(metadata) : {},
    })
  }
  return rows
}
