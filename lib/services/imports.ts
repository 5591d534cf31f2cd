import { setImmediate } from 'node:timers/promises'
import type { Layout, LayoutOptions } from '../csv/layout.ts'
import { type CellMistake, createPurchaseParser } from '../csv/purchase-parser.ts'
import type { NewPurchase, PurchaseRules, PurchaseStatus } from '../domain/purchase.ts'
import type { ErrorDetail } from '../errors.ts'
import type { PurchaseImport, StagedRows } from '../storage/port.ts'
import { createBadRows, createMistakes } from './mistakes.ts'

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
  /** Throws `invalid_purchases` when anything was wrong; `push` does when the header was. */
  end(): Promise<ImportSummary>
  readonly rows: number
}

const PART_BYTES = 32 * 1024
const BAD_PART_BYTES = 2 * 1024
const MANY_BAD_ROWS = 100
const SLICE_ROWS = 500
// By the bytes of the file: `metadata` of `[{},{},…]` is 24 times as large once parsed.
const SLICE_BYTES = 128 * 1024
const LARGE_ROW_BYTES = 1024

/** Stages the good rows slice by slice, and remembers what is wrong with the others. */
export function createLoader(
  staged: PurchaseImport,
  rules: PurchaseRules,
  options: LayoutOptions,
  onMistake: (mistake: ErrorDetail) => void = () => {},
): Loader {
  const mistakes = createMistakes(onMistake)
  const badRows = createBadRows()
  const totals = createTotals()
  const counts = { rows: 0, added: 0, skipped: 0, updated: 0, passed_over: 0 }
  let layout: Layout | undefined
  let pending: NewPurchase[] = []
  let pendingBytes = 0
  /** Rows of the latest part that are not staged: bad ones, and those passed over. */
  let unstaged = 0
  let partBytes = PART_BYTES

  const tell = ({ line, field, code, message }: CellMistake & { readonly line: number }) =>
    mistakes.add({ line, column: layout?.columns[field] ?? field, code, message })

  const parser = createPurchaseParser(rules, options, {
    layout(found) {
      layout = found
    },
    purchase: (purchase) => void pending.push(purchase),
    badRow(row) {
      unstaged++
      if (badRows.add(row)) return
      for (const mistake of row.mistakes) tell({ line: row.purchase.line, ...mistake })
    },
    passedOver() {
      unstaged++
      counts.passed_over++
    },
    error(mistake) {
      unstaged++
      mistakes.add(mistake)
    },
  })

  const judge = (line: number, mistake: CellMistake) => {
    if (!badRows.judge(line, mistake)) tell({ line, ...mistake })
  }

  const take = ({ added, skipped, updated, conflicts, unknown }: StagedRows) => {
    counts.added += added
    counts.skipped += skipped
    counts.updated += updated
    for (const line of unknown) judge(line, { field: 'sku', ...UNKNOWN_SKU })
    for (const { line, field } of conflicts) judge(line, { field, ...CONFLICT })
  }

  const stage = async () => {
    const isLarge = pendingBytes >= SLICE_BYTES
    const areLargeRows = pendingBytes > LARGE_ROW_BYTES * pending.length
    const slice = areLargeRows ? pending.map(withOwnText) : pending
    pending = []
    pendingBytes = 0
    counts.rows += slice.length
    totals.add(slice)
    if (slice.length > 0) take(await staged.stage(slice))
    if (isLarge) await setImmediate() // large rows and bad ones take long: others have their turn
  }

  /** For what the storage finds wrong with them: with a bad row nothing is kept. */
  const stageBadRows = async () => {
    const rows = badRows.toStage()
    for (let start = 0; start < rows.length; start += SLICE_ROWS) {
      take(await staged.stage(rows.slice(start, start + SLICE_ROWS)))
    }
  }

  return {
    get rows() {
      return counts.rows
    },
    async push(chunk) {
      if (!(chunk instanceof Uint8Array))
        throw new TypeError('the file must yield Uint8Array chunks')
      for (let start = 0; start < chunk.length; ) {
        const part = chunk.subarray(start, start + partBytes)
        parser.push(part)
        start += part.length
        if (parser.isRefused) mistakes.assertNone()
        pendingBytes += part.length
        if (pending.length >= SLICE_ROWS || pendingBytes >= SLICE_BYTES) await stage()
        // 32 KiB have room for 11,000 bad rows: others have their turn in between.
        const isMostlyBad = unstaged >= MANY_BAD_ROWS
        if (isMostlyBad) await setImmediate()
        partBytes = isMostlyBad ? BAD_PART_BYTES : PART_BYTES
        unstaged = 0
      }
    },
    async end() {
      parser.end()
      await stage()
      await stageBadRows()
      take(await staged.finish())
      for (const mistake of badRows.mistakes()) tell(mistake)
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

/**
 * A row that keeps none of the file's text alive around it, which may be a megabyte of columns that
 * are not stored: a storage collects the rows of many slices.
 */
function withOwnText(row: NewPurchase): NewPurchase {
  const { transaction_id, user_id } = row
  return {
    ...row,
    transaction_id: ownText(transaction_id),
    user_id: user_id === undefined ? undefined : ownText(user_id),
  }
}

// V8 makes the concatenation a text of its own, and the slice a view of that.
function ownText(view: string): string {
  return ` ${view}`.slice(1)
}

const UNKNOWN_SKU = { code: 'unknown_sku', message: 'names no item of this store' }
const CONFLICT = {
  code: 'transaction_conflict',
  message: 'differs from a purchase, or a row, with the same transaction_id',
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
  // A file may name 17,576 currencies.
  const byCurrency = new Map<string, { [S in PurchaseStatus]?: Group }>()

  /** The group of the row before: most rows are of the same. */
  let latest: Group | undefined

  const groupOf = (status: PurchaseStatus, currency: string): Group => {
    if (latest?.status === status && latest.currency === currency) return latest
    latest = findGroup(status, currency)
    return latest
  }

  const findGroup = (status: PurchaseStatus, currency: string): Group => {
    const found = byCurrency.get(currency) ?? {}
    const known = found[status]
    if (known) return known
    const made = { status, currency, rows: 0, sum: 0, big: 0n }
    byCurrency.set(currency, Object.assign(found, { [status]: made }))
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
