import { type ErrorDetail, MAX_DETAILS, TillError } from '../../errors.ts'

/** Is called with each mistake of a file. `sku` is the SKU that no item has. */
export type OnMistake = (mistake: ErrorDetail, sku?: string) => void

/** Collects the mistakes of a file. Counts all of them, but keeps only those of the first lines. */
export function createMistakes(onMistake: OnMistake, most = MAX_DETAILS) {
  let first: ErrorDetail[] = []
  let total = 0
  const lineOf = (mistake: ErrorDetail) => mistake.line ?? 0
  const cut = () => {
    first = first.sort((a, b) => lineOf(a) - lineOf(b)).slice(0, most)
  }
  return {
    add(mistake: ErrorDetail, sku?: string) {
      total++
      onMistake(mistake, sku)
      first.push(mistake)
      // The mistakes are not in the order of lines, because the storage finds some of them later
      // than the parser.
      if (first.length >= 20 * most) cut()
    },
    /** Throws the mistakes. `hint` says what the caller could do. */
    assertNone(hint?: string) {
      if (total === 0) return
      cut()
      const shown = total > most ? `, the first ${most} are listed` : ''
      const message = `${total} ${total === 1 ? 'mistake' : 'mistakes'} in the file${hint ? `; ${hint}` : ''}${shown}`
      throw new TillError('invalid_purchases', message, first, { total, most })
    },
  }
}
