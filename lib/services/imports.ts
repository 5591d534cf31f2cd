import type { Layout, LayoutOptions } from '../csv/layout.ts'
import { createPurchaseParser } from '../csv/purchases.ts'
import type { NewPurchase, PurchaseRules, PurchaseStatus } from '../domain/purchase.ts'
import { type ErrorDetail, MAX_DETAILS, TillError } from '../errors.ts'
import type { PurchaseImport, StagedRows } from '../storage/port.ts'

/** What a file holds and what became of it. */
export interface ImportSummary {
  /** How the file was read: `canonical`, or a preset's name. */
  readonly layout: string
  /** The file's rows: added, skipped and updated together. */
  readonly rows: number
  readonly added: number
  /** Rows that were in the store already. */
  readonly skipped: number
  /** Rows that moved the status of a stored purchase on. */
  readonly updated: number
  /**
   * Rows that are none of this store's: those of a sandbox in a store that is none, or the reverse.
   */
  readonly passed_over: number
  /** The file's rows by status and currency. */
  readonly totals: readonly ImportTotal[]
  /** The columns that were not stored. */
  readonly ignored_columns: readonly string[]
}

export interface ImportTotal {
  readonly status: PurchaseStatus
  /** '' for rows without a price. */
  readonly currency: string
  readonly rows: number
  /** The sum of prices in minor units, as a string of digits. */
  readonly total: string
}

/** Takes a file's bytes into an import. */
export interface Loader {
  push(chunk: Uint8Array): Promise<void>
  /** Throws `invalid_purchases` when anything was wrong. */
  end(): Promise<ImportSummary>
  readonly rows: number
}

const MAX_CHUNK_BYTES = 32 * 1024
const SLICE_ROWS = 500

/** Stages the good rows slice by slice, and remembers what is wrong with the others. */
export function createLoader(
  staged: PurchaseImport,
  rules: PurchaseRules,
  options: LayoutOptions,
  onMistake: (mistake: ErrorDetail) => void = () => {},
): Loader {
  const mistakes = createMistakes(onMistake)
  const totals = createTotals()
  const counts = { rows: 0, added: 0, skipped: 0, updated: 0, passed_over: 0 }
  let layout: Layout | undefined
  let pending: NewPurchase[] = []

  const parser = createPurchaseParser(rules, options, {
    layout(found) {
      layout = found
    },
    purchase: (purchase) => void pending.push(purchase),
    passedOver: () => void counts.passed_over++,
    error: mistakes.add,
  })

  const take = ({ added, skipped, updated, conflicts, unknown }: StagedRows) => {
    counts.added += added
    counts.skipped += skipped
    counts.updated += updated
    const columns = layout?.columns ?? {}
    for (const line of unknown) mistakes.add({ line, column: columns.sku ?? 'sku', ...UNKNOWN_SKU })
    for (const { line, field } of conflicts) {
      mistakes.add({ line, column: columns[field] ?? field, ...CONFLICT })
    }
  }

  const stage = async () => {
    const slice = pending
    pending = []
    counts.rows += slice.length
    totals.add(slice)
    take(await staged.stage(slice))
  }

  return {
    get rows() {
      return counts.rows
    },
    async push(chunk) {
      if (!(chunk instanceof Uint8Array))
        throw new TypeError('the file must yield Uint8Array chunks')
      for (let start = 0; start < chunk.length; start += MAX_CHUNK_BYTES) {
        parser.push(chunk.subarray(start, start + MAX_CHUNK_BYTES))
        if (pending.length >= SLICE_ROWS) await stage()
      }
    },
    async end() {
      parser.end()
      await stage()
      take(await staged.finish())
      mistakes.assertNone()
      return {
        layout: layout?.name ?? '',
        ...counts,
        totals: totals.list(),
        ignored_columns: layout?.ignored ?? [],
      }
    },
  }
}

const UNKNOWN_SKU = { code: 'unknown_sku', message: 'names no item of this store' }
const CONFLICT = {
  code: 'transaction_conflict',
  message: 'differs from the purchase or the row before it that has this transaction_id',
}

/** The mistakes of a file: those of its first lines, and how many there are in all. */
function createMistakes(onMistake: (mistake: ErrorDetail) => void) {
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

interface Group {
  readonly status: PurchaseStatus
  readonly currency: string
  rows: number
  sum: number
  big: bigint
}

/** Counts and sums by status and currency, exactly. */
function createTotals() {
  const groups: Group[] = []

  const groupOf = (status: PurchaseStatus, currency: string): Group => {
    const found = groups.find((each) => each.status === status && each.currency === currency)
    if (found) return found
    const made = { status, currency, rows: 0, sum: 0, big: 0n }
    groups.push(made)
    return made
  }

  return {
    add(rows: readonly NewPurchase[]) {
      for (const { status, currency = '', price = 0 } of rows) {
        const group = groupOf(status, currency)
        group.rows++
        if (Number.isSafeInteger(group.sum + price)) {
          group.sum += price
        } else {
          group.big += BigInt(group.sum) + BigInt(price)
          group.sum = 0
        }
      }
    },
    list(): ImportTotal[] {
      return groups.map(({ status, currency, rows, sum, big }) => ({
        status,
        currency,
        rows,
        total: String(big + BigInt(sum)),
      }))
    },
  }
}
