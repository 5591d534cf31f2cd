import {
  type Comparison,
  compareRepeat,
  countUnequal,
  isLater,
  type NewPurchase,
  PURCHASE_STATUSES,
  type PurchaseField,
  type PurchaseStatus,
  type StoredIdentity,
  type UnequalField,
} from '../../domain/purchase.ts'
import { numberOf } from '../columns.ts'
import type { AdvancedRows, RowOutcomes, StatusRow } from '../records.ts'
import type { Lease } from '../sql/imports.ts'
import { PURCHASE_IDENTITIES } from '../tables.ts'
import type { Connection } from './connection.ts'
import type { Row } from './drivers.ts'

/** A row to write. `sku` holds the `seq` of the item, which identifies it within a store. */
export interface Entry extends Omit<NewPurchase, 'metadata'> {
  readonly metadata: string | null
}

/** The stored purchase with a transaction id, including changes by the running import. */
interface Known {
  readonly seq: number
  readonly import: number
  identity: StoredIdentity
}

/**
 * Finds the stored purchases with the transaction ids of new rows. The planner has no statistics
 * for new rows; the LATERAL joins prevent it from scanning all purchases.
 */
export async function findKnown(
  on: Connection,
  lease: Lease,
  entries: readonly Pick<Entry, 'transaction_id'>[],
): Promise<Map<string, Known>> {
  const ids = entries.map(({ transaction_id }) => transaction_id)
  const rows = await on.all(FIND_KNOWN, lease.store, ids)
  return new Map(rows.map((row) => [row.transaction_id as string, knownOf(row)]))
}

const FIND_KNOWN = `
  SELECT p.transaction_id, p.seq, p.import, p.item, p.user_id, p.price, p.currency, p.quantity,
    p.expires_at,
    coalesce(c.status, p.status) AS status, EXISTS (
      SELECT 1 FROM erased_purchases WHERE store = $1 AND transaction_id = p.transaction_id) AS erased
  FROM json_array_elements_text($2) AS sent (id)
  CROSS JOIN LATERAL (
    SELECT transaction_id, seq, import, item, user_id, price, currency, quantity, status, expires_at
    FROM purchases WHERE store = $1 AND transaction_id = sent.id LIMIT 1) p
  LEFT JOIN LATERAL (
    SELECT status FROM purchase_changes WHERE store = $1 AND purchase = p.seq LIMIT 1) c ON true`

function knownOf(row: Row): Known {
  return {
    seq: numberOf(row.seq),
    import: row.import as number,
    identity: PURCHASE_IDENTITIES.readInto(
      { sku: String(row.item), is_erased: row.erased as boolean },
      row,
    ),
  }
}

/** The new statuses of purchases, by their `seq`. */
type Changes = ReadonlyMap<number, PurchaseStatus>

interface Compared {
  readonly result: RowOutcomes
  /** The rows to add, in order. */
  readonly fresh: readonly Entry[]
  readonly changes: Changes
  /**
   * How many rows this import skipped because an import had added them, by the `seq` of that import.
   * It may be this one.
   */
  readonly overlaps: ReadonlyMap<number, number>
}

/** Compares rows one by one, because two rows of a block may have the same transaction id. */
export function compareEntries(
  known: Map<string, Known>,
  entries: readonly Entry[],
  comparison: Comparison,
): Compared {
  const fresh = new Map<string, Entry>()
  const changes = new Map<number, PurchaseStatus>()
  const conflicts: { line: number; field: PurchaseField }[] = []
  const counts = { skipped: 0, updated: 0 }
  const overlaps = new Map<number, number>()
  const unequal: UnequalField[] = []
  for (const entry of entries) {
    const { transaction_id: id, line, status } = entry
    const own = fresh.get(id)
    const stored = known.get(id)
    const before = own ?? stored?.identity
    if (!before) {
      fresh.set(id, entry)
      continue
    }
    const compared = compareRepeat(before, entry, comparison)
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
      changes.set(stored.seq, status)
    }
  }
  const result = {
    ...{ ...counts, added: fresh.size, conflicts, unknown: [] },
    unequal: countUnequal(unequal),
  }
  return { result, fresh: [...fresh.values()], changes, overlaps }
}

/** Finds the rows that advance the status of a stored purchase. Compares only the ids. */
export function findLater(
  known: Map<string, Known>,
  rows: readonly StatusRow[],
): { readonly result: AdvancedRows; readonly changes: Changes } {
  const changes = new Map<number, PurchaseStatus>()
  const result = { updated: 0, unknown: 0, notLater: 0 }
  for (const { transaction_id, status } of rows) {
    const stored = known.get(transaction_id)
    if (!stored) result.unknown++
    else if (!isLater(stored.identity.status, status)) result.notLater++
    else {
      result.updated++
      stored.identity = { ...stored.identity, status }
      changes.set(stored.seq, status)
    }
  }
  return { result, changes }
}

/** Adds new statuses for the commit. */
export async function addChanges(
  on: Connection,
  { store }: Lease,
  changes: Changes,
): Promise<void> {
  if (changes.size === 0) return
  const sent = Array.from(changes, ([purchase, status]) => {
    return { purchase, status: PURCHASE_STATUSES.indexOf(status) }
  })
  await on.run(ADD_STATUSES, store, sent)
}

const ADD_STATUSES = `
  INSERT INTO purchase_changes (store, purchase, status)
  SELECT ?, purchase, status FROM json_to_recordset(?) AS sent (purchase bigint, status smallint)
  ON CONFLICT (store, purchase) DO UPDATE SET status = excluded.status`

/**
 * Counts the rows that this import skips because an earlier import had added them. Sorts the
 * earlier imports: two blocks that lock the same rows in different orders would deadlock.
 */
export async function addOverlaps(
  on: Connection,
  lease: Lease,
  overlaps: ReadonlyMap<number, number>,
): Promise<void> {
  const sent = Array.from(overlaps, ([earlier, rows]) => ({ earlier, rows }))
    .filter(({ earlier }) => earlier !== lease.import)
    .sort((a, b) => a.earlier - b.earlier)
  if (sent.length > 0) await on.run(ADD_OVERLAPS, lease.import, sent)
}

const ADD_OVERLAPS = `
  INSERT INTO import_overlaps AS o (import, earlier, rows)
  SELECT ?, earlier, rows FROM json_to_recordset(?) AS sent (earlier integer, rows bigint)
  ON CONFLICT (import, earlier) DO UPDATE SET rows = o.rows + excluded.rows`
