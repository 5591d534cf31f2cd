import {
  compareRepeat,
  PURCHASE_STATUSES,
  type PurchaseField,
  type PurchaseIdentity,
  type PurchaseStatus,
} from '../../domain/purchase.ts'
import { numberOf } from '../columns.ts'
import type { StagedRows } from '../port.ts'
import type { Connection } from './connection.ts'
import type { Row } from './drivers.ts'
import type { Lease } from './leases.ts'

/**
 * A row that waits to be written. An item stands for its sku: within a store both are one to one.
 */
export interface Entry extends PurchaseIdentity {
  readonly line: number
  readonly transaction_id: string
  readonly purchased_at: number
  readonly metadata: string | null
}

/** A purchase that a transaction has already, as the import so far leaves it. */
interface Known {
  readonly seq: number
  /** Whether it is of this very import, and so not seen yet. */
  readonly isOwn: boolean
  identity: PurchaseIdentity
}

/**
 * The purchases that are there already of those transactions. The sub-select keeps the planner,
 * which knows nothing yet of rows just imported, from asking of each purchase which rows name it.
 */
export async function findKnown(
  on: Connection,
  lease: Lease,
  entries: readonly Entry[],
): Promise<Map<string, Known>> {
  const rows = await on.all(
    `SELECT p.transaction_id, p.seq, p.import, p.item, p.user_id, p.price, p.currency, p.quantity,
       coalesce(c.status, p.status) AS status
     FROM json_array_elements_text($2) AS sent (id)
     CROSS JOIN LATERAL (
       SELECT transaction_id, seq, import, item, user_id, price, currency, quantity, status
       FROM purchases WHERE store = $1 AND transaction_id = sent.id LIMIT 1) p
     LEFT JOIN LATERAL (
       SELECT status FROM purchase_changes WHERE store = $1 AND purchase = p.seq LIMIT 1) c ON true`,
    lease.store,
    entries.map(({ transaction_id }) => transaction_id),
  )
  return new Map(rows.map((row) => [row.transaction_id as string, knownOf(row, lease)]))
}

function knownOf(row: Row, lease: Lease): Known {
  return {
    seq: numberOf(row.seq),
    isOwn: row.import === lease.import,
    identity: {
      sku: String(row.item),
      user_id: (row.user_id as string | null) ?? undefined,
      price: row.price === null ? undefined : numberOf(row.price),
      currency: (row.currency as string | null) ?? undefined,
      quantity: row.quantity as number,
      status: PURCHASE_STATUSES[row.status as number] as PurchaseStatus,
    },
  }
}

/** A status that a purchase has come to. */
export interface Change {
  readonly purchase: number
  readonly isOwn: boolean
  readonly status: PurchaseStatus
}

interface Judgement {
  readonly told: StagedRows
  /** The rows to add, in their order. */
  readonly fresh: readonly Entry[]
  readonly changes: readonly Change[]
}

/** Judges rows one after the other: two of one block may be of one transaction. */
export function judge(known: Map<string, Known>, entries: readonly Entry[]): Judgement {
  const fresh = new Map<string, Entry>()
  const changes = new Map<number, Change>()
  const conflicts: { line: number; field: PurchaseField }[] = []
  const counts = { skipped: 0, updated: 0 }
  for (const entry of entries) {
    const { transaction_id: id, line, status } = entry
    const own = fresh.get(id)
    const stored = known.get(id)
    const before = own ?? stored?.identity
    if (!before) {
      fresh.set(id, entry)
      continue
    }
    const judged = compareRepeat(before, entry)
    if (judged.outcome === 'conflict') {
      conflicts.push({ line, field: judged.field })
      continue
    }
    counts[judged.outcome]++
    if (judged.outcome === 'skipped') continue
    if (own) fresh.set(id, { ...own, status })
    if (stored) {
      stored.identity = { ...stored.identity, status }
      changes.set(stored.seq, { purchase: stored.seq, isOwn: stored.isOwn, status })
    }
  }
  const told = { ...counts, added: fresh.size, conflicts, unknown: [] }
  return { told, fresh: [...fresh.values()], changes: [...changes.values()] }
}

/**
 * Puts statuses where the commit will find them; a row that is not seen yet is changed in place.
 */
export async function stageChanges(
  on: Connection,
  { store }: Lease,
  changes: readonly Change[],
): Promise<void> {
  const sent = (isOwn: boolean) =>
    changes
      .filter((change) => change.isOwn === isOwn)
      .map(({ purchase, status }) => ({ purchase, status: PURCHASE_STATUSES.indexOf(status) }))
  await on.run(
    `UPDATE purchases p SET status = sent.status
     FROM json_to_recordset($2) AS sent (purchase bigint, status smallint)
     WHERE p.store = $1 AND p.seq = sent.purchase`,
    store,
    sent(true),
  )
  await on.run(
    `INSERT INTO purchase_changes (store, purchase, status)
     SELECT $1, purchase, status
     FROM json_to_recordset($2) AS sent (purchase bigint, status smallint)
     ON CONFLICT (store, purchase) DO UPDATE SET status = excluded.status`,
    store,
    sent(false),
  )
}
