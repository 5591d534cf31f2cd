import type { NewPurchase, StoredPurchase } from '../domain/purchase.ts'
import { TillError } from '../errors.ts'
import type { StoredImport } from './port.ts'

/** The row of a copied import, which has no purchases yet. */
export function importRow(copied: StoredImport) {
  return { ...copied, first_purchase: 1, last_purchase: 0 }
}

export interface ImportGroup {
  readonly import_id: string
  readonly rows: readonly NewPurchase[]
}

/** Groups consecutive purchases of the same import. */
export function byImport(purchases: readonly StoredPurchase[]): ImportGroup[] {
  const groups: { import_id: string; rows: NewPurchase[] }[] = []
  for (const { import_id, store_id: _, ...purchase } of purchases) {
    const row = { ...purchase, line: 0 }
    const last = groups.at(-1)
    if (last?.import_id === import_id) last.rows.push(row)
    else groups.push({ import_id, rows: [row] })
  }
  return groups
}

/** The error for a purchase that another process has copied into the same target. */
export function copiedTwice(): TillError {
  return new TillError('storage_unavailable', 'Another copy writes into the same target')
}
