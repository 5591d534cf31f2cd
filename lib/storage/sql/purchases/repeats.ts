import {
  type Comparison,
  compareRepeat,
  countUnequal,
  isLater,
  type PurchaseField,
  type PurchaseIdentity,
  type PurchaseStatus,
  type StoredIdentity,
  type UnequalField,
} from '../../../domain/purchase.ts'
import { int32, integer, numberOf, type Row } from '../columns.ts'
import type { Dialect } from '../dialect.ts'
import { all, type Program, run } from '../program.ts'
import type { AdvancedRows, RowOutcomes, StatusRow } from '../records.ts'
import { PURCHASE_IDENTITIES } from '../tables.ts'
import type { Lease } from './imports.ts'

/** The parts of the comparison with stored purchases that differ between the databases. */
export interface RepeatDialect {
  /**
   * Finds purchases. The parameters are a JSON array of transaction ids and the store. `import` is
   * null for a purchase that was deleted with its user.
   */
  readonly findKnown: string
  /** Adds new statuses for the commit. */
  addChanges(lease: Lease, changes: Changes): Program<void>
}

/** The stored purchase with a transaction id, including changes by the running import. */
interface Known {
  readonly seq: number
  readonly import: number | null
  identity: StoredIdentity
}

/** The new statuses of purchases. */
export type Changes = ReadonlyMap<Known, PurchaseStatus>

/** A row to compare. `sku` holds the `seq` of the item. */
interface Sent extends PurchaseIdentity {
  readonly line: number
  readonly transaction_id: string
}

/**
 * Compares rows with the stored purchases, and adds the new statuses of these for the commit.
 * `fresh` has the rows whose transaction ids are not stored.
 */
export function* compareRows<T extends Sent>(
  sql: Dialect,
  dialect: RepeatDialect,
  lease: Lease,
  rows: readonly T[],
  comparison: Comparison,
): Program<{ readonly result: RowOutcomes; readonly fresh: readonly T[] }> {
  const known = yield* findKnown(dialect, lease, rows)
  const fresh = new Map<string, T>()
  const changes = new Map<Known, PurchaseStatus>()
  const conflicts: { line: number; field: PurchaseField }[] = []
  const counts = { skipped: 0, updated: 0 }
  const overlaps = new Map<number, number>()
  const unequal: UnequalField[] = []
  // Compares one row after the other, because two of them may have the same transaction id.
  for (const row of rows) {
    const { transaction_id: id, line, status } = row
    const own = fresh.get(id)
    const stored = known.get(id)
    const before = own ?? stored?.identity
    if (!before) {
      fresh.set(id, row)
      continue
    }
    if (stored?.import === null) {
      counts.skipped++
      continue
    }
    const compared = compareRepeat(before, row, comparison)
    if (compared.outcome === 'conflict') {
      conflicts.push({ line, field: compared.field })
      continue
    }
    counts[compared.outcome]++
    unequal.push(...compared.unequal)
    if (compared.outcome === 'skipped') {
      if (stored) overlaps.set(stored.import, (overlaps.get(stored.import) ?? 0) + 1)
      continue
    }
    if (own) fresh.set(id, { ...own, status })
    if (stored) {
      stored.identity = { ...stored.identity, status }
      changes.set(stored, status)
    }
  }
  if (changes.size > 0) yield* dialect.addChanges(lease, changes)
  yield* addOverlaps(sql, lease, overlaps)
  const result = {
    ...counts,
    added: fresh.size,
    conflicts,
    unknown: [],
    unequal: countUnequal(unequal),
  }
  return { result, fresh: [...fresh.values()] }
}

/** Adds the later statuses of rows for the commit. Compares only the transaction ids. */
export function* advanceStatuses(
  dialect: RepeatDialect,
  lease: Lease,
  rows: readonly StatusRow[],
): Program<AdvancedRows> {
  const known = yield* findKnown(dialect, lease, rows)
  const changes = new Map<Known, PurchaseStatus>()
  const result = { updated: 0, unknown: 0, notLater: 0 }
  for (const { transaction_id, status } of rows) {
    const stored = known.get(transaction_id)
    if (!stored || stored.import === null) result.unknown++
    else if (!isLater(stored.identity.status, status)) result.notLater++
    else {
      result.updated++
      stored.identity = { ...stored.identity, status }
      changes.set(stored, status)
    }
  }
  if (changes.size > 0) yield* dialect.addChanges(lease, changes)
  return result
}

function* findKnown(
  dialect: RepeatDialect,
  { store }: Lease,
  rows: readonly Pick<Sent, 'transaction_id'>[],
): Program<ReadonlyMap<string, Known>> {
  const ids = rows.map(({ transaction_id }) => transaction_id)
  const found = yield* all(dialect.findKnown, ids, store)
  return new Map(found.map((row) => [row.transaction_id as string, knownOf(row)]))
}

function knownOf(row: Row): Known {
  // The item's `seq` also identifies the item in its store.
  const known = { sku: row.item as number, is_erased: Boolean(row.is_erased) }
  return {
    seq: numberOf(row.seq),
    import: row.import as number | null,
    identity: PURCHASE_IDENTITIES.readInto(known, row),
  }
}

/**
 * Counts the rows that this import skips because an earlier import had added them. `overlaps` may
 * have this import too. Sorts the earlier imports: two blocks that lock the same rows in different
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
