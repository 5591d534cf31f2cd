import type { NewPurchase, StoredPurchase } from '../domain/purchase.ts'

/**
 * The numbers that an import under way leaves free in front of its rows. Purchases that are recorded
 * meanwhile take them, so that they are listed before the rows of the import.
 */
export const RECORDED_GAP = 2 ** 16

/** The stored form of a new purchase. Absent fields are not there. */
export function storedPurchase(
  { line: _line, ...row }: NewPurchase,
  store_id: string,
  import_id: string,
): StoredPurchase {
  const present = Object.entries(row).filter(([, value]) => value !== undefined)
  const copied: typeof row = structuredClone(Object.fromEntries(present)) as typeof row
  return { ...copied, store_id, import_id }
}
