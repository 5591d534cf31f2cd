import type { NewPurchase } from '../../domain/purchase.ts'
import { type ErrorDetail, MAX_DETAILS, TillError } from '../../errors.ts'

/** The sale of a row whose SKU no item has. */
export interface UnknownSale
  extends Pick<NewPurchase, 'quantity' | 'price' | 'currency' | 'status'> {
  /** The name of the product in the file, cut to 255 characters. */
  readonly title?: string | undefined
}

/** Is called with each mistake of a file. `sku` is the SKU that no item has, and `sale` its row. */
export type OnMistake = (mistake: ErrorDetail, sku?: string, sale?: UnknownSale) => void

/** Collects the mistakes of a file. Counts all of them, but keeps only those of the first lines. */
export function createMistakes(onMistake: OnMistake, most = MAX_DETAILS) {
  let first: ErrorDetail[] = []
  let total = 0
  const lineOf = (mistake: ErrorDetail) => mistake.line ?? 0
  const cut = () => {
    first = first.sort((a, b) => lineOf(a) - lineOf(b)).slice(0, most)
  }
  return {
    add(mistake: ErrorDetail, sku?: string, sale?: UnknownSale) {
      total++
      onMistake(mistake, sku, sale)
      first.push(mistake)
      // The mistakes are not in the order of lines, because the storage finds some of them later
      // than the parser.
      if (first.length >= 20 * most) cut()
    },
    /** Throws the mistakes. `hint` says what the caller could do. */
    assertNone(hint?: string) {
      if (total === 0) return
      cut()
      const shown = total > most ? `, the first ${most.toLocaleString('en')} are listed` : ''
      const count = total.toLocaleString('en')
      const message = `${count} ${total === 1 ? 'mistake' : 'mistakes'} in the file${hint ? `; ${hint}` : ''}${shown}`
      throw new TillError('invalid_purchases', message, first, { total, most })
    },
  }
}
