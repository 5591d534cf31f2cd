import { isOneOrder, MAX_ORDER_PURCHASES } from '../../../domain/order.ts'
import { PURCHASE_STATUSES, type PurchaseStatus } from '../../../domain/purchase.ts'
import {
  type Conflict,
  compareRepeat,
  conflictOf,
  countUnequal,
  type Fills,
  isLater,
  NO_FILLS,
  type PurchaseIdentity,
  type RepeatRules,
  type StoredIdentity,
  type UnequalField,
} from '../../../domain/repeat.ts'
import { int32, integer, numberOf, type Row } from '../columns.ts'
import type { Dialect } from '../dialect.ts'
import { all, type Program, run } from '../program.ts'
import { PURCHASE_IDENTITIES } from '../tables.ts'
import { filledOf, type PurchaseChange } from './fills.ts'
import type { Lease } from './imports.ts'
import type { AdvancedRows, RepeatedRow, RowAmount, RowOutcomes, StatusRow } from './records.ts'
import { type Seen, type SeenRows, seenKey } from './seen-rows.ts'

/** The parts of the comparison with stored purchases that differ between the databases. */
export interface RepeatDialect {
  /**
   * Finds purchases. The parameters are a JSON array of transaction ids and the store. `import` is
   * null for a purchase that was deleted with its user, and `filled` for one that the running import
   * has not changed.
   */
  readonly findKnown: string
  /**
   * Finds the first 101 purchases of each order, in a JSON array of transaction ids. The parameters
   * are the store, and a JSON array of order ids.
   */
  readonly findOrders: string
  /** Adds changes for the commit. Each has all that the import changes of its purchase. */
  addChanges(lease: Lease, changes: readonly ChangeOf[]): Program<void>
}

/** The stored purchase with a transaction id, including changes by the running import. */
interface Known {
  readonly seq: number
  readonly import: number | null
  readonly purchased_at: number
  identity: StoredIdentity
  /** What the running import has filled; undefined if it has not changed the purchase. */
  fills: Fills | undefined
}

/** The change of a purchase that an import has added. */
interface ChangeOf extends PurchaseChange {
  readonly seq: number
  readonly import: number | null
}

function changeOf({ seq, import: added, identity, fills = NO_FILLS }: Known): ChangeOf {
  return { seq, import: added, status: identity.status, fills }
}

/** A row to compare. `sku` holds the `seq` of the item. */
interface Sent extends PurchaseIdentity {
  readonly line: number
  readonly transaction_id: string
  readonly purchased_at: number
}

interface Comparing {
  readonly rules: RepeatRules
  /** The `seq` of the first row that is added. */
  readonly first: number
  /** The rows of earlier calls. The caller adds those of this call. */
  readonly seenRows: SeenRows
}

/**
 * Compares rows with the stored purchases and with earlier rows of the file, and adds the changes
 * for the commit. `fresh` has the rows whose transaction ids are not stored.
 */
export function* compareRows<T extends Sent>(
  sql: Dialect,
  dialect: RepeatDialect,
  lease: Lease,
  rows: readonly T[],
  { rules, first, seenRows }: Comparing,
): Program<{ readonly result: RowOutcomes; readonly fresh: readonly T[]; readonly seen: Seen }> {
  const known = yield* findKnown(dialect, lease, rows)
  const fresh = new Map<Known, T>()
  const changes = new Set<Known>()
  const conflicts: Conflict[] = []
  const repeated: RepeatedRow[] = []
  const priced: RowAmount[] = []
  const counts = { skipped: 0, updated: 0 }
  const overlaps = new Map<number, number>()
  const unequal: UnequalField[] = []
  const seen: Seen = new Map()

  /** The time of the earlier row of the file with this purchase and status. */
  const timeBefore = (stored: Known, status: PurchaseStatus): number | undefined => {
    const key = seenKey(stored.seq, status)
    const isOwn = stored.import === lease.import && stored.identity.status === status
    const time = seen.get(key) ?? seenRows.find(key) ?? (isOwn ? 'stored' : undefined)
    return time === 'stored' ? stored.purchased_at : time
  }
  const addSeen = (stored: Known, status: PurchaseStatus, time: number) => {
    seen.set(seenKey(stored.seq, status), time === stored.purchased_at ? 'stored' : time)
  }
  /** The earlier rows of the file with this purchase. They had no price until this row. */
  const pricedBefore = (stored: Known, row: T): readonly RowAmount[] =>
    PURCHASE_STATUSES.filter((status) => timeBefore(stored, status) !== undefined).map(
      (status) => ({ ...amountOf(row), status }),
    )
  const change = (stored: Known, { status, fills }: PurchaseChange) => {
    stored.identity = { ...stored.identity, status, ...fills }
    stored.fills = { ...stored.fills, ...fills }
    const added = fresh.get(stored)
    if (added) fresh.set(stored, { ...added, status, ...fills })
    else changes.add(stored)
  }

  // Compares one row after the other, because two of them may have the same transaction id.
  for (const row of rows) {
    const { transaction_id: id, line, status, purchased_at } = row
    const stored = known.get(id)
    if (!stored) {
      const seq = first + fresh.size
      const added = { seq, import: lease.import, purchased_at, identity: row, fills: NO_FILLS }
      known.set(id, added)
      fresh.set(added, row)
      continue
    }
    if (stored.import === null) {
      counts.skipped++
      continue
    }
    const compared = compareRepeat(stored.identity, row, rules)
    if (compared.outcome === 'conflict') {
      conflicts.push(conflictOf(line, compared.field, stored.identity, row))
      continue
    }
    const before = timeBefore(stored, status)
    if (before !== undefined && before !== purchased_at) {
      conflicts.push({ line, field: 'purchased_at' })
      continue
    }
    if (compared.fills.price !== undefined) priced.push(...pricedBefore(stored, row))
    unequal.push(...compared.unequal)
    if (isOtherSale(stored, row)) unequal.push(OTHER_TIME)
    const isOwn = stored.import === lease.import
    const isAdvance = compared.status !== stored.identity.status
    if (before !== undefined && !isAdvance) {
      repeated.push({ line, status, currency: row.currency, price: row.price })
      if (compared.outcome === 'skipped') continue
      if (!isOwn && !stored.fills) {
        counts.skipped--
        counts.updated++
      }
      change(stored, compared)
      continue
    }
    addSeen(stored, status, purchased_at)
    if (row.price === undefined && stored.identity.price !== undefined) {
      priced.push({ ...amountOf(stored.identity), status })
    }
    counts[compared.outcome]++
    if (!isAdvance) overlaps.set(stored.import, (overlaps.get(stored.import) ?? 0) + 1)
    if (compared.outcome === 'skipped') continue
    if (isOwn) addSeen(stored, stored.identity.status, stored.purchased_at)
    change(stored, compared)
  }
  if (changes.size > 0) yield* dialect.addChanges(lease, Array.from(changes, changeOf))
  yield* addOverlaps(sql, lease, overlaps)
  const result = {
    ...counts,
    added: fresh.size,
    repeated,
    priced,
    conflicts,
    unknown: [],
    unequal: countUnequal(unequal),
  }
  return { result, fresh: [...fresh.values()], seen }
}

function amountOf({ price, currency }: PurchaseIdentity) {
  return { price, currency }
}

const OTHER_TIME: UnequalField = { field: 'purchased_at', stored: 'different' }

/**
 * Whether a row is the sale at another time than that of the stored purchase. The latter is the time of
 * the refund if it was stored first. A refund and a pending payment have times of their own.
 */
function isOtherSale({ identity, purchased_at }: Known, row: Sent): boolean {
  const isSale = identity.status !== 'pending' && row.status === 'purchased'
  return isSale && row.purchased_at !== purchased_at
}

/**
 * Adds the later statuses of rows for the commit. Compares only the transaction ids. Each row may be
 * an order of 100 purchases.
 */
export function* advanceStatuses(
  dialect: RepeatDialect,
  lease: Lease,
  rows: readonly StatusRow[],
): Program<AdvancedRows> {
  const known = yield* findKnown(dialect, lease, rows)
  const missing = rows.filter(({ transaction_id }) => !known.has(transaction_id))
  const orders = yield* findOrders(dialect, lease, missing)
  const changes = new Set<Known>()
  const ambiguous: AdvancedRows['ambiguous'][number][] = []
  const counts = { updated: 0, unknown: 0, notLater: 0 }
  for (const { line, transaction_id, status } of rows) {
    const stored = known.get(transaction_id)
    const found = stored ? [stored] : (orders.get(transaction_id) ?? [])
    // Purchases that were deleted with their user have no time and no status.
    const purchases = found.filter((each) => each.import !== null)
    const times = purchases.map(({ purchased_at }) => purchased_at)
    const isTooMany = purchases.length > 0 && found.length > MAX_ORDER_PURCHASES
    if (isTooMany || !isOneOrder(times)) {
      ambiguous.push({ line, purchases: found.length })
      continue
    }
    const later = purchases.filter(({ identity }) => isLater(identity.status, status))
    if (purchases.length === 0) counts.unknown++
    else if (later.length === 0) counts.notLater++
    else counts.updated++
    for (const each of later) {
      each.identity = { ...each.identity, status }
      changes.add(each)
    }
  }
  if (changes.size > 0) yield* dialect.addChanges(lease, Array.from(changes, changeOf))
  return { ...counts, ambiguous }
}

/** Finds the purchases of each order. */
function* findOrders(
  dialect: RepeatDialect,
  lease: Lease,
  rows: readonly StatusRow[],
): Program<ReadonlyMap<string, readonly Known[]>> {
  if (rows.length === 0) return new Map()
  const ids = [...new Set(rows.map(({ transaction_id }) => transaction_id))]
  const found = yield* all(dialect.findOrders, lease.store, ids)
  const idsOf = new Map(
    found.map((row) => [row.id as string, JSON.parse(row.purchases as string) as string[]]),
  )
  const sent = [...idsOf.values()].flat().map((transaction_id) => ({ transaction_id }))
  const known = yield* findKnown(dialect, lease, sent)
  const orders = Array.from(idsOf, ([id, purchases]): [string, readonly Known[]] => {
    return [id, purchases.flatMap((each) => known.get(each) ?? [])]
  })
  return new Map(orders)
}

function* findKnown(
  dialect: RepeatDialect,
  { store }: Lease,
  rows: readonly Pick<Sent, 'transaction_id'>[],
): Program<Map<string, Known>> {
  const ids = rows.map(({ transaction_id }) => transaction_id)
  const found = yield* all(dialect.findKnown, ids, store)
  return new Map(found.map((row) => [row.transaction_id as string, knownOf(row)]))
}

function knownOf(row: Row): Known {
  // The item's `seq` also identifies the item in its store.
  const known = { sku: row.item as number, is_erased: Boolean(row.is_erased) }
  const identity = PURCHASE_IDENTITIES.readInto(known, row)
  const filled = row.filled as number | null
  return {
    seq: numberOf(row.seq),
    import: row.import as number | null,
    purchased_at: numberOf(row.purchased_at ?? 0),
    identity,
    fills: filled === null ? undefined : filledOf(identity, filled),
  }
}

/**
 * Counts the rows that this import skips, or only fills, because an earlier import had added them.
 * `overlaps` may have this import too. Sorts the earlier imports: two blocks that lock the same rows in different
 * orders would deadlock.
 */
export function* addOverlaps(
  { rows }: Dialect,
  { import: seq }: Lease,
  overlaps: ReadonlyMap<number, number>,
): Program<void> {
  const sent = Array.from(overlaps, ([earlier, rows]) => ({ earlier, rows }))
    .filter(({ earlier }) => earlier !== seq)
    .sort((a, b) => a.earlier - b.earlier)
  if (sent.length > 0) yield* run(addOverlapsTo(rows(OVERLAP)), seq, sent)
}

const OVERLAP = { earlier: int32, rows: integer }

const addOverlapsTo = (sent: string) => `
  INSERT INTO import_overlaps AS o (import, earlier, rows)
  SELECT ?, earlier, rows FROM ${sent} AS sent WHERE true
  ON CONFLICT (import, earlier) DO UPDATE SET rows = o.rows + excluded.rows`
