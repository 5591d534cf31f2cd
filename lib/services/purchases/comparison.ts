import type { Layout } from '../../csv/layout.ts'
import type { Account } from '../../domain/account.ts'
import { type InputOf, invalidField, type ParsedOf } from '../../domain/fields.ts'
import { formatInstant } from '../../domain/instant.ts'
import type { NewPurchase, Purchase } from '../../domain/purchase.ts'
import { selectionFields } from '../../domain/query.ts'
import type { DifferenceKind, Reconciliation } from '../../domain/reconciliation.ts'
import { optional, wholeNumber } from '../../domain/rules.ts'
import type { Store } from '../../domain/store.ts'
import { type MatchedRow, type Page, pagesOf } from '../../storage/port.ts'
import { verified } from '../access.ts'
import type { Context } from '../context.ts'
import { createDifferences } from './differences.ts'
import { createFileIds, type FileIds } from './file-ids.ts'
import { fileFields, loadFile, readingOf } from './file-reading.ts'
import { createLoader } from './loader.ts'

const { refundsOnly: _, ...readingFields } = fileFields

export const reconcileFields = {
  ...readingFields,
  from: selectionFields.from,
  to: selectionFields.to,
  /**
   * Cancels the purchases that the file lacks. It is their number, which an earlier call has found:
   * if the file lacks another number, throws `invalid_request` and changes nothing.
   */
  cancel_missing: optional(wholeNumber(1, Number.MAX_SAFE_INTEGER)),
}

export interface ReconcileRequest extends InputOf<typeof reconcileFields> {}

/** A call of `reconcile`. */
export interface Task {
  readonly context: Context
  readonly account: Account
  readonly store: Store
  readonly request: ParsedOf<typeof reconcileFields>
}

/**
 * Compares the rows of the file with the stored purchases, then looks for the stored ones in the
 * file. Calls `onMissing` with each purchase that the file lacks.
 */
export async function compare(task: Task, onMissing?: (purchase: Purchase) => Promise<void>) {
  const { context, store, request } = task
  const { store_id: _id, fileName: _name, cancel_missing: _number, ...reading } = request
  const { file, onProgress, maxMistakes, onMistake, signal, from, to, ...choice } = reading
  const { layout, rules } = await readingOf(context.storage, store, {
    ...choice,
    refundsOnly: false,
  })
  const ids = createFileIds()
  const differences = createDifferences()
  const comparer = createComparer(task, ids, differences)
  const { onLayout } = comparer
  const onLeftOut = ids.addLeftOut
  const settings = {
    owner: store.account_id,
    layout,
    onMistake,
    mayFill: false,
    maxMistakes,
    signal,
    onLayout,
    onLeftOut,
  }
  const loader = createLoader(comparer, rules, settings)
  const read = await loadFile(loader, file, onProgress)
  const summary = await loader.end()
  const period = comparer.period()
  const looked = await findMissing(task, period, ids, async (purchase) => {
    differences.add('missing_in_file', purchase)
    await onMissing?.(purchase)
  })
  const { rows, passed_over, passed_over_reasons } = summary
  const reconciliation: Reconciliation = {
    layout: summary.layout,
    from: formatInstant(period.from),
    to: formatInstant(period.to),
    ...looked,
    rows,
    ...comparer.counts,
    passed_over,
    passed_over_reasons,
    differences: differences.list(),
  }
  return { reconciliation, read }
}

interface Period {
  readonly from: number
  readonly to: number
}

/** What a comparison reports to the loader of the file: it adds nothing. */
const NOTHING = { added: 0, skipped: 0, repeated: [], priced: [], updated: 0, unequal: [] }

/** Compares the rows of a file in place of a running import. */
function createComparer(
  { context: { storage }, store, request }: Task,
  ids: FileIds,
  differences: ReturnType<typeof createDifferences>,
) {
  const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } = request
  let layout: Layout | undefined
  let first = Number.POSITIVE_INFINITY
  let last = Number.NEGATIVE_INFINITY
  let hasSale = false
  const counts = { compared: 0, compared_amounts: 0, compared_users: 0 }

  const isInPeriod = ({ purchased_at }: NewPurchase) => purchased_at >= from && purchased_at < to

  /** Compares a row. Returns whether it is another sale with the id of an earlier one. */
  const compareRow = (matched: MatchedRow): boolean => {
    const { row, stored, is_deleted } = matched
    const occurrence = ids.addRow(row)
    if (occurrence === 'other_time') return true
    if (row.status === 'purchased') {
      first = Math.min(first, row.purchased_at)
      last = Math.max(last, row.purchased_at)
      hasSale ||= isInPeriod(row)
    }
    if (!isInPeriod(row)) return false
    if (occurrence === 'repeated' || is_deleted) return false
    if (stored) {
      counts.compared++
      if (areValuesCompared(matched, occurrence === 'new', layout)) {
        if (row.price !== undefined && stored.price !== undefined) counts.compared_amounts++
        if (row.user_id !== undefined && stored.user_id !== undefined) counts.compared_users++
      }
      for (const kind of kindsOf(matched, occurrence === 'new', layout)) {
        differences.add(kind, stored, row)
      }
    } else if (isMissing(row, occurrence === 'new', layout)) {
      differences.add('missing_in_store', undefined, row)
    }
    return false
  }

  return {
    counts: counts as Readonly<typeof counts>,
    onLayout(found: Layout) {
      layout = found
      if (!found.setsPeriod) assertPeriod(request, found.name)
    },
    async add(rows: readonly NewPurchase[]) {
      const { matched, unknown } = await storage.matchRows(store, rows)
      const others = matched.filter(compareRow)
      const conflicts = others.map(({ row: { line } }) => ({
        line,
        field: 'purchased_at' as const,
      }))
      return { ...NOTHING, conflicts, unknown }
    },
    async advance() {
      return { updated: 0, unknown: 0, notLater: 0, ambiguous: [] }
    },
    async finish() {
      return { ...NOTHING, conflicts: [], unknown: [] }
    },
    /** The period of the file, narrowed by the given one. Throws if it has no sale in the given one. */
    period(): Period {
      if (!hasSale) throw invalidField('file', 'invalid', 'has no sale in the period')
      if (!layout?.setsPeriod) return { from, to }
      return { from: Math.max(from, first), to: Math.min(to, last + 1) }
    },
  }
}

function assertPeriod({ from, to }: Partial<Period>, format: string): void {
  if (from !== undefined && to !== undefined) return
  const missing = from === undefined ? 'from' : 'to'
  throw invalidField(
    missing,
    'required',
    `is required: a file of the format ${format} has no period`,
  )
}

/** Whether the amount and the user of a row are compared, if both sides have them. */
function areValuesCompared(
  { repeat }: MatchedRow,
  isFirst: boolean,
  layout: Layout | undefined,
): boolean {
  return isFirst && repeat?.outcome !== 'conflict' && layout?.comparison !== 'product'
}

/**
 * How a row differs from the stored purchase with its id. A further row of the file with the same id
 * can only have another status.
 */
function kindsOf(matched: MatchedRow, isFirst: boolean, layout: Layout | undefined) {
  const { row, stored, repeat } = matched
  if (!stored || !repeat) return []
  const kinds: DifferenceKind[] = []
  const isSettled = stored.status === 'pending' || stored.status === 'cancelled'
  if (isFirst || !isSettled) {
    if (repeat.outcome === 'updated') kinds.push('status')
    else if (repeat.outcome === 'conflict' && repeat.field === 'status') kinds.push('status')
    else if (stored.status === 'cancelled' && row.status === 'purchased') kinds.push('cancelled')
  }
  const isOther = repeat.outcome === 'conflict' && repeat.field !== 'status'
  if (isFirst && isOther) return ['item' as const]
  if (repeat.outcome === 'conflict' || !areValuesCompared(matched, isFirst, layout)) return kinds
  const fields = repeat.unequal.filter(({ stored }) => stored === 'different')
  if (fields.some(({ field }) => field === 'price' || field === 'currency')) kinds.push('amount')
  if (fields.some(({ field }) => field === 'user_id')) kinds.push('user')
  return kinds
}

/**
 * Whether the store should have a row. In a file that sets the period, a refund without its sale
 * belongs to an earlier period.
 */
function isMissing({ status, price }: NewPurchase, isFirst: boolean, layout: Layout | undefined) {
  if (price === 0) return false
  if (layout?.setsPeriod) return status === 'purchased'
  return isFirst && (status === 'purchased' || status === 'refunded')
}

/** A vendor may book a sale up to two days before or after the game. */
const MARGIN_MS = 2 * 86_400_000

/** Purchases to examine at once. Reading such a page blocks the event loop for some 5 ms. */
const PAGE = 250

/** Calls `onMissing` with each judged purchase that the file lacks. Counts all of the period. */
async function findMissing(
  { context, account, store, request: { signal } }: Task,
  period: Period,
  ids: FileIds,
  onMissing: (purchase: Purchase) => Promise<void>,
): Promise<Pick<Reconciliation, 'judged' | 'unjudged' | 'near_ends'>> {
  const counts = { judged: 0, unjudged: 0, near_ends: 0 }
  const [first, last] = [period.from + MARGIN_MS, period.to - MARGIN_MS]
  const { storage, longCalls } = context
  const read = verified(context, account, 'purchases', (page: Page) =>
    storage.listPurchases(store, period, { ...page, examine: PAGE }),
  )
  for await (const page of longCalls.each(account.account_id, pagesOf(read, PAGE))) {
    signal?.throwIfAborted()
    for (const purchase of page.records) {
      const at = Date.parse(purchase.purchased_at)
      const isNearEnd = at < first || at >= last
      const isMissing = !ids.has(purchase.transaction_id)
      if (isJudged(purchase) && !isNearEnd) {
        counts.judged++
        if (isMissing) await onMissing(purchase)
      } else if (isMissing) {
        counts.unjudged++
        if (isJudged(purchase)) counts.near_ends++
      }
    }
  }
  return counts
}

function isJudged({ status, price, is_grant }: Purchase): boolean {
  return status === 'purchased' && price !== 0 && !is_grant
}
