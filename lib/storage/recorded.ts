import type { ImportDetails } from '../domain/import.ts'
import type { NewPurchase, StoredPurchase } from '../domain/purchase.ts'
import type { WriteOptions } from './records.ts'

/**
 * The condition of the index `imports_listed`. The id of a single recorded purchase begins with
 * `rec_`, and lists of imports leave it out.
 */
export const IS_LISTED = "substr(i.import_id, 1, 4) <> 'rec_'"

/** The details of the import that holds one recorded purchase. Such an import has no file. */
export function recordedDetails(
  { status, currency = '', price = 0 }: Pick<NewPurchase, 'status' | 'currency' | 'price'>,
  outcome: 'added' | 'updated',
  { audit }: WriteOptions,
): Partial<ImportDetails> {
  if (!audit) return {}
  return {
    actor: audit.actor,
    file_name: '',
    bytes: 0,
    sha256: '',
    layout: '',
    rows: 1,
    added: outcome === 'added' ? 1 : 0,
    skipped: 0,
    updated: outcome === 'updated' ? 1 : 0,
    passed_over: 0,
    totals: [{ status, currency, rows: 1, total: String(price) }],
    finished_at: audit.at,
  } satisfies ImportDetails
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

/** The stored form of a new purchase. Leaves out undefined fields. */
export function storedPurchase(
  { line: _line, ...row }: NewPurchase,
  store_id: string,
  import_id: string,
): StoredPurchase {
  const present = Object.entries(row).filter(([, value]) => value !== undefined)
  const copied: typeof row = structuredClone(Object.fromEntries(present)) as typeof row
  return { ...copied, store_id, import_id }
}
