import type { BadRow, CellMistake } from '../csv/purchase-parser.ts'
import { type NewPurchase, PURCHASE_FIELDS, type PurchaseField } from '../domain/purchase.ts'
import { type ErrorDetail, MAX_DETAILS, TillError } from '../errors.ts'

/** The mistakes of a file: those of its first lines, and how many there are in all. */
export function createMistakes(onMistake: (mistake: ErrorDetail) => void) {
  let first: ErrorDetail[] = []
  let total = 0
  const lineOf = (mistake: ErrorDetail) => mistake.line ?? 0
  const cut = () => {
    first = first.sort((a, b) => lineOf(a) - lineOf(b)).slice(0, MAX_DETAILS)
  }
  return {
    add(mistake: ErrorDetail) {
      total++
      onMistake(mistake)
      first.push(mistake)
      // Those of the storage come later than those of the parser: sorted, now and then.
      if (first.length >= 20 * MAX_DETAILS) cut()
    },
    assertNone() {
      if (total === 0) return
      cut()
      const shown = total > MAX_DETAILS ? `, the first ${MAX_DETAILS} are listed` : ''
      const message = `${total} ${total === 1 ? 'mistake' : 'mistakes'} in the file${shown}`
      throw new TillError('invalid_purchases', message, first, total)
    },
  }
}

/**
 * Bad rows that wait for the end of the file, to be judged by the storage too. Staged in between,
 * they would be what the good rows of their transactions are compared with.
 */
export interface BadRows {
  /**
   * False when it is full: a file of nothing but mistakes must not fill the memory. A row takes 4 KiB
   * at most: three texts of 255 characters, and messages that quote no cell.
   */
  add(row: BadRow): boolean
  /** What to stage of them, after all good rows. */
  toStage(): NewPurchase[]
  /** Takes what the storage finds wrong with a row; false when the row is none of these. */
  judge(line: number, mistake: CellMistake): boolean
  /** All their mistakes, those of a row in the order of the canonical columns. */
  mistakes(): Iterable<CellMistake & { readonly line: number }>
}

const MAX_BAD_ROWS = 1_000

export function createBadRows(): BadRows {
  const rows = new Map<number, WaitingRow>()

  return {
    add({ purchase, mistakes }) {
      if (rows.size >= MAX_BAD_ROWS) return false
      // No row may be compared with what another lacks: of a vague one the SKU alone is judged.
      const isComparable = mistakes.every(({ field }) => isBesideIdentity(field))
      const transaction_id = isComparable ? purchase.transaction_id : ''
      // A clone, as its strings would keep the text of the file around them alive.
      const row = structuredClone({ ...purchase, transaction_id, metadata: {} })
      rows.set(row.line, { ...row, mistakes: [...mistakes] })
      return true
    },
    toStage: () => [...rows.values()],
    judge(line, mistake) {
      const row = rows.get(line)
      if (!row) return false
      const isKnown = row.mistakes.some(({ field }) => field === mistake.field)
      const isCertain = row.transaction_id !== '' || mistake.code === 'unknown_sku'
      if (!isKnown && isCertain) row.mistakes.push(mistake)
      return true
    },
    *mistakes() {
      const place = ({ field }: CellMistake) => PURCHASE_FIELDS.indexOf(field)
      for (const { line, mistakes } of rows.values()) {
        const ordered = mistakes.toSorted((a, b) => place(a) - place(b))
        for (const mistake of ordered) yield { line, ...mistake }
      }
    },
  }
}

interface WaitingRow extends NewPurchase {
  /** '' when the row is staged for its SKU alone. */
  readonly transaction_id: string
  readonly mistakes: CellMistake[]
}

function isBesideIdentity(field: PurchaseField): boolean {
  return field === 'purchased_at' || field === 'metadata'
}
