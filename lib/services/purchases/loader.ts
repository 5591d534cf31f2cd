import { setImmediate } from 'node:timers/promises'
import type { Layout, LayoutOptions } from '../../csv/layout.ts'
import { createPurchaseParser } from '../../csv/purchase-parser.ts'
import { copyText } from '../../csv/text.ts'
import {
  type ImportSummary,
  type ImportTotal,
  MAX_TOTALS,
  othersOf,
  type PassedOver,
} from '../../domain/import.ts'
import { formatInstant } from '../../domain/instant.ts'
import { ambiguousOrder } from '../../domain/order.ts'
import type {
  NewPurchase,
  PurchaseField,
  PurchaseRules,
  PurchaseStatus,
} from '../../domain/purchase.ts'
import { countUnequal, type UnequalCount } from '../../domain/repeat.ts'
import type { PurchaseImport, RowOutcomes } from '../../storage/port.ts'
import { fileTurns } from '../../turns.ts'
import { createMistakes, type OnMistake } from './mistakes.ts'
import { createPassedOver } from './passed-over.ts'

interface LoaderOptions {
  /** The account whose turns the loader uses. */
  readonly owner: string
  readonly layout: LayoutOptions
  readonly onMistake?: OnMistake | undefined
  /** Whether rows fill what the stored purchases lack. */
  readonly mayFill: boolean
  /** Whether the caller may see the stored values from which rows differ. */
  readonly showsStored?: boolean
  /** Throws if the import may not add this many rows. */
  readonly assertAdded?: (added: number) => void
  /** Is called before the rows with the layout of the file. */
  readonly onLayout?: (layout: Layout) => void
  /** Is called with the transaction id of each row that is passed over. */
  readonly onLeftOut?: (transaction_id: string) => void
  readonly maxMistakes?: number | undefined
  readonly signal?: AbortSignal | undefined
}

// In a turn of its account, the loader parses chunks of the file until a slice is full or the time
// is over. A chunk takes 0.04 ms, one of bad rows up to 1 ms.
const CHUNK_BYTES = 4 * 1024
const TURN_MS = 4
// Slices of 1,000 rows take 0.96 of the CPU time. But a list beside an import then takes 7.5 ms, not 4.9
// (medians of `npm run bench import`).
const SLICE_ROWS = 500
// Limits the bytes of a slice of rows: parsed metadata like `[{},{},…]` takes 24 times the memory.
const SLICE_BYTES = 128 * 1024
const LARGE_ROW_BYTES = 1024

/**
 * Loads the bytes of a file into an import. Adds the good rows in slices, and collects the mistakes
 * of bad rows. The storage does not get a row with a bad cell, so its SKU may be unknown as well.
 */
export function createLoader(
  running: Pick<PurchaseImport, 'add' | 'advance' | 'finish'>,
  rules: PurchaseRules,
  options: LoaderOptions,
) {
  const { owner, layout: reading, mayFill, showsStored, maxMistakes, signal } = options
  const { onMistake = () => {}, assertAdded, onLayout, onLeftOut } = options
  const mistakes = createMistakes(onMistake, maxMistakes)
  const totals = createTotals()
  const times = { first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY }
  const passedOver = createPassedOver()
  let unequal: readonly UnequalCount[] = []
  const counts = { rows: 0, added: 0, skipped: 0, updated: 0, repeated: 0, passed_over: 0 }
  let repeatedLines: readonly number[] = []
  let layout: Layout | undefined
  /** Whether the header lacks a column. */
  let isUnknown = false
  /** Whether a row has another value than a stored purchase. */
  let isCorrected = false
  let pending: NewPurchase[] = []
  let pendingBytes = 0

  const parser = createPurchaseParser(rules, reading, {
    layout(found) {
      layout = found
      onLayout?.(found)
    },
    purchase: (purchase) => void pending.push(purchase),
    leftOut({ passedOver, transaction_id }) {
      onLeftOut?.(transaction_id)
      pass(passedOver)
    },
    passedOver: (reason, rows) => pass(reason, rows),
    error(mistake) {
      isUnknown ||= mistake.code === 'missing_column'
      mistakes.add(mistake)
    },
  })

  const isSliceFull = () => pending.length >= SLICE_ROWS || pendingBytes >= SLICE_BYTES

  /** Parses the next chunks of `bytes`. Returns their length. */
  const parse = (bytes: Uint8Array): number => {
    const end = performance.now() + TURN_MS
    let parsed = 0
    while (parsed < bytes.length && !isSliceFull() && performance.now() < end) {
      const chunk = bytes.subarray(parsed, parsed + CHUNK_BYTES)
      parser.push(chunk)
      parsed += chunk.length
      pendingBytes += chunk.length
    }
    return parsed
  }

  const columnOf = (field: PurchaseField) => layout?.columns[field] ?? field

  const pass = (reason: PassedOver, rows = 1) => {
    counts.passed_over += rows
    passedOver.add(reason, rows)
  }

  const addResult = ({ conflicts, unknown, repeated, priced, ...result }: RowOutcomes) => {
    counts.rows -= repeated.length
    counts.repeated += repeated.length
    totals.subtract(repeated)
    totals.subtract(priced.map(({ status }) => ({ status })))
    totals.add(priced)
    repeatedLines = firstLines([...repeatedLines, ...repeated.map(({ line }) => line)])
    counts.added += result.added
    assertAdded?.(counts.added)
    counts.skipped += result.skipped
    counts.updated += result.updated
    unequal = countUnequal([...unequal, ...result.unequal])
    for (const row of unknown) {
      const { line, sku } = row
      const mistake = { line, column: columnOf('sku'), ...UNKNOWN_SKU }
      mistakes.add(mistake, copyText(sku), { ...row, title: layout?.titleOf(sku) })
    }
    for (const { line, field, stored, sent } of conflicts) {
      isCorrected ||= field !== 'purchased_at'
      const mistake = field === 'purchased_at' ? OTHER_TIME : CONFLICT
      const values = showsStored && sent && `is ${sent}, but ${stored} in ${OTHER_ROW}`
      mistakes.add({
        line,
        column: columnOf(field),
        ...mistake,
        ...(values && { message: values }),
      })
    }
  }

  const addRows = async () => {
    signal?.throwIfAborted()
    const isLarge = pendingBytes >= SLICE_BYTES
    const areLargeRows = pendingBytes > LARGE_ROW_BYTES * pending.length
    const slice = areLargeRows ? pending.map(copyRow) : pending
    pending = []
    pendingBytes = 0
    if (slice.length > 0) await (rules.refundsOnly ? advance(slice) : add(slice))
    if (isLarge) await setImmediate() // yields to the event loop: large rows take long
  }

  const add = async (rows: readonly NewPurchase[]) => {
    counts.rows += rows.length
    totals.add(rows)
    for (const { purchased_at } of rows) {
      if (purchased_at < times.first) times.first = purchased_at
      if (purchased_at > times.last) times.last = purchased_at
    }
    addResult(await running.add(rows, { comparison: layout?.comparison, mayFill }))
  }

  const advance = async (rows: readonly NewPurchase[]) => {
    const { updated, unknown, notLater, ambiguous } = await running.advance(rows)
    counts.rows += updated
    counts.updated += updated
    for (const { line, purchases } of ambiguous) {
      const message = ambiguousOrder(purchases)
      mistakes.add({ line, column: columnOf('transaction_id'), code: 'ambiguous', message })
    }
    pass(NOT_STORED, unknown)
    pass(NOT_LATER, notLater)
  }

  return {
    get rows() {
      return counts.rows
    },
    /** Throws `invalid_purchases` for a bad header. */
    async push(chunk: Uint8Array): Promise<void> {
      if (!(chunk instanceof Uint8Array))
        throw new TypeError('the file must yield Uint8Array chunks')
      signal?.throwIfAborted()
      for (let start = 0; start < chunk.length; ) {
        const rest = chunk.subarray(start)
        start += await fileTurns.run(owner, async () => parse(rest))
        if (parser.isRefused) mistakes.assertNone(isUnknown ? EXPLAIN : undefined)
        if (isSliceFull()) await addRows()
      }
    },
    /** Throws `invalid_purchases` if a row had a mistake. */
    async end(): Promise<ImportSummary> {
      parser.end()
      await addRows()
      addResult(await running.finish())
      const fitting = layout?.fitting_preset
      const hint = fitting && `its header fits the preset ${fitting}`
      mistakes.assertNone(isUnknown ? EXPLAIN : isCorrected && showsStored ? CORRECT : hint)
      const listed = totals.list()
      return {
        layout: layout?.name ?? '',
        ...counts,
        ...(times.first <= times.last && {
          first_purchased_at: formatInstant(times.first),
          last_purchased_at: formatInstant(times.last),
        }),
        repeated_lines: repeatedLines,
        totals: listed,
        ...othersOf(counts.rows, listed),
        ignored_columns: layout?.ignored ?? [],
        passed_over_reasons: passedOver.list(),
        unequal,
        ...(layout?.fitting_preset && { fitting_preset: layout.fitting_preset }),
      }
    },
  }
}

const EXPLAIN = 'purchases explain proposes a layout for any file'
const CORRECT =
  'purchases reconcile --report lists the differences from the stored purchases. To import a corrected file, undo the earlier import (imports undo)'
const NOT_STORED: PassedOver = { reason: 'not_stored' }
const NOT_LATER: PassedOver = { reason: 'not_later' }

/**
 * Copies a row's strings. A string of V8 may be a view that keeps all the text around it in memory,
 * up to a megabyte of unused columns. A storage may keep the rows of many slices.
 */
function copyRow(row: NewPurchase): NewPurchase {
  const { transaction_id, user_id } = row
  return {
    ...row,
    transaction_id: copyText(transaction_id),
    user_id: user_id === undefined ? undefined : copyText(user_id),
  }
}

export const UNKNOWN_SKU = {
  code: 'unknown_sku',
  message: 'is not the name of an item of this store',
}
const OTHER_ROW = 'a purchase, or a row, with the same transaction_id'
const CONFLICT = { code: 'transaction_conflict', message: `differs from ${OTHER_ROW}` }

const OTHER_TIME = {
  code: 'transaction_conflict',
  message:
    'is another time than that of an earlier row with the same transaction_id and status: were the ids rounded, or are these two sales (number_repeats in a layout)?',
}

const REPEATED_LINES = 20

function firstLines(lines: number[]): readonly number[] {
  return lines.sort((a, b) => a - b).slice(0, REPEATED_LINES)
}

type Amount = Pick<NewPurchase, 'status' | 'currency' | 'price'>

interface Group {
  readonly status: PurchaseStatus
  readonly currency: string
  rows: number
  /** The prices that are not in `sum` yet. */
  unsummed: number
  sum: bigint
}

/** Counts rows and sums prices exactly, by status and currency. */
function createTotals() {
  const groups: Group[] = []
  const groupsOf = new Map<PurchaseStatus, Map<string, Group>>()
  let latest: Group | undefined
  const groupOf = ({ status, price, currency: stated = '' }: Amount): Group => {
    const currency = price === undefined ? '' : stated
    if (latest?.status === status && latest.currency === currency) return latest
    const known = groupsOf.get(status) ?? new Map<string, Group>()
    latest = known.get(currency)
    if (latest) return latest
    latest = { status, currency, rows: 0, unsummed: 0, sum: 0n }
    groups.push(latest)
    groupsOf.set(status, known.set(currency, latest))
    return latest
  }
  // A sum of numbers is exact up to 2^53−1. A BigInt for each row would take a third of a
  // microsecond.
  const add = (group: Group, price: number) => {
    const unsummed = group.unsummed + price
    const isExact = Number.isSafeInteger(unsummed)
    if (!isExact) group.sum += BigInt(group.unsummed)
    group.unsummed = isExact ? unsummed : price
  }
  return {
    add(rows: readonly Amount[]) {
      for (const row of rows) {
        const group = groupOf(row)
        group.rows++
        add(group, row.price ?? 0)
      }
    },
    /** Takes rows back. */
    subtract(rows: readonly Amount[]) {
      for (const row of rows) {
        const group = groupOf(row)
        group.rows--
        add(group, -(row.price ?? 0))
      }
    },
    /** The first groups of the file. If there are too many: those without a price, then the largest. */
    list(): ImportTotal[] {
      const all = groups.filter(({ rows }) => rows > 0)
      const priced = ({ currency }: Group) => Number(currency !== '')
      if (all.length > MAX_TOTALS) all.sort((a, b) => priced(a) - priced(b) || b.rows - a.rows)
      return all.slice(0, MAX_TOTALS).map(({ status, currency, rows, unsummed, sum }) => {
        return { status, currency, rows, total: String(sum + BigInt(unsummed)) }
      })
    },
  }
}
