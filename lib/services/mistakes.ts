import type { BadRow, CellMistake } from '../csv/purchase-parser.ts'
import { type NewPurchase, PURCHASE_FIELDS, type PurchaseField } from '../domain/purchase.ts'
import { type ErrorDetail, MAX_DETAILS, TillError } from '../errors.ts'

/** Collects the mistakes of a file. Counts all of them, but keeps only those of the first lines. */
export function createMistakes(onMistake: (mistake: ErrorDetail) => void, most = MAX_DETAILS) {
  let first: ErrorDetail[] = []
  let total = 0
  const lineOf = (mistake: ErrorDetail) => mistake.line ?? 0
  const cut = () => {
    first = first.sort((a, b) => lineOf(a) - lineOf(b)).slice(0, most)
  }
  return {
    add(mistake: ErrorDetail) {
      total++
      onMistake(mistake)
      first.push(mistake)
      // The mistakes are not in the order of lines, because the storage finds some of them later
      // than the parser.
      if (first.length >= 20 * most) cut()
    },
    /** Throws the mistakes. `fitting_preset` is a preset that the caller could have chosen. */
    assertNone(fitting_preset?: string) {
      if (total === 0) return
      cut()
      const hint = fitting_preset ? `; its header fits the preset ${fitting_preset}` : ''
      const shown = total > most ? `, the first ${most} are listed` : ''
      const message = `${total} ${total === 1 ? 'mistake' : 'mistakes'} in the file${hint}${shown}`
      throw new TillError('invalid_purchases', message, first, total, most)
    },
  }
}

const MAX_BAD_ROWS = 1_000

/**
 * Keeps bad rows until the end of the file, and only then gives them to the storage. Otherwise the
 * storage would compare a later good row with a bad row of the same `transaction_id`, and report a
 * mistake in the good row.
 */
export function createBadRows() {
  const rows = new Map<number, WaitingRow>()

  return {
    /**
     * Adds a bad row. Returns false if there are 1,000 already. A row takes at most 4 KiB: it has
     * three strings of 255 characters, and its messages quote no cell.
     */
    add({ purchase, mistakes }: BadRow): boolean {
      if (rows.size >= MAX_BAD_ROWS) return false
      // If all compared fields are good, the storage compares the row with a stored purchase of its
      // id. Otherwise it gets the row without an id, and only checks that the SKU exists.
      const isComparable = mistakes.every(({ field }) => isBesideIdentity(field))
      const transaction_id = isComparable ? purchase.transaction_id : ''
      // Copies the row: its strings are slices that keep the file's text in memory.
      const row = structuredClone({ ...purchase, transaction_id, metadata: {} })
      rows.set(row.line, { ...row, mistakes: [...mistakes] })
      return true
    },
    /** Returns the bad rows, to add them after all good rows. */
    toAdd: (): NewPurchase[] => [...rows.values()],
    /** Adds a mistake that the storage found. Returns false if no bad row has this line. */
    addMistake(line: number, mistake: CellMistake): boolean {
      const row = rows.get(line)
      if (!row) return false
      const isKnown = row.mistakes.some(({ field }) => field === mistake.field)
      const isCertain = row.transaction_id !== '' || mistake.code === 'unknown_sku'
      if (!isKnown && isCertain) row.mistakes.push(mistake)
      return true
    },
    /** Yields all mistakes; those of one row in the order of the canonical columns. */
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
  /** '' if a compared field is bad. Without an id, the storage checks only the SKU. */
  readonly transaction_id: string
  readonly mistakes: CellMistake[]
}

function isBesideIdentity(field: PurchaseField): boolean {
  return field === 'purchased_at' || field === 'metadata'
}
