import { GRANT, type ImportDetails, type ImportTotal } from '../../../domain/import.ts'
import { formatInstant } from '../../../domain/instant.ts'
import type { NewPurchase, Purchase, PurchaseToRecord } from '../../../domain/purchase.ts'
import type { Fills } from '../../../domain/repeat.ts'
import type { WriteOptions } from '../records.ts'

/**
 * The condition of the index `imports_listed`. The id of a single recorded purchase begins with
 * `rec_`, and lists of imports leave it out.
 */
export const IS_LISTED = "substr(i.import_id, 1, 4) <> 'rec_'"

type Amount = Pick<PurchaseToRecord, 'status' | 'currency' | 'price' | 'is_grant'>

/**
 * The details of the import that holds recorded purchases with one status. Such an import has no
 * file.
 */
export function recordedDetails(
  rows: readonly Amount[],
  isAdded: boolean,
  { audit }: WriteOptions,
): Partial<ImportDetails> {
  if (!audit) return {}
  return {
    actor: audit.actor,
    file_name: '',
    bytes: 0,
    sha256: '',
    layout: isAdded && rows.some(({ is_grant }) => is_grant) ? GRANT : '',
    rows: rows.length,
    added: isAdded ? rows.length : 0,
    skipped: 0,
    updated: isAdded ? 0 : rows.length,
    passed_over: 0,
    totals: totalsOf(rows),
    finished_at: audit.at,
  } satisfies ImportDetails
}

/** Adds up purchases with one status by currency. */
function totalsOf(rows: readonly Amount[]): ImportTotal[] {
  const totals = new Map<string, ImportTotal>()
  for (const { status, currency = '', price = 0 } of rows) {
    const { rows: count, total } = totals.get(currency) ?? { rows: 0, total: '0' }
    const sum = String(BigInt(total) + BigInt(price))
    totals.set(currency, { status, currency, rows: count + 1, total: sum })
  }
  return [...totals.values()]
}

/**
 * How many sequence numbers an import leaves free before its first row. Purchases that are recorded
 * during the import use them, and are therefore listed before the rows of the import.
 */
export const RECORDED_GAP = 2 ** 16

/** The metadata of a purchase as JSON; null for an empty object. */
export function metadataText({ metadata }: Pick<NewPurchase, 'metadata'>): string | null {
  for (const _ in metadata) return JSON.stringify(metadata)
  return null
}

/** The stored form of filled values. */
export function storedFills({ expires_at, ...fills }: Fills): Partial<Purchase> {
  return expires_at === undefined ? fills : { ...fills, expires_at: formatInstant(expires_at) }
}

/** The stored form of a new purchase. Shares no metadata with it. */
export function storedPurchase(
  { line: _line, ...row }: PurchaseToRecord,
  store_id: string,
  import_id: string,
): Purchase {
  const { purchased_at, expires_at } = row
  return {
    ...JSON.parse(JSON.stringify(row)), // leaves out undefined fields
    store_id,
    import_id,
    purchased_at: formatInstant(purchased_at),
    ...(expires_at !== undefined && { expires_at: formatInstant(expires_at) }),
  }
}
