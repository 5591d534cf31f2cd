import type { AppChoice } from '../../csv/apps.ts'
import type { Project } from '../../domain/project.ts'
import type { PurchaseRules } from '../../domain/purchase.ts'
import type { Store } from '../../domain/store.ts'
import type { Storage, StoreKey } from '../../storage/port.ts'

/** The settings of a store that decide whether a purchase is valid. */
export function rulesOf({ store_config: { currency } }: Store): PurchaseRules {
  return typeof currency === 'string' ? { currency } : {}
}

/** The app whose purchases a store has. A store of the type `iap` may have that of its project. */
export function appOf(
  { store_type, store_config: { bundle_id } }: Store,
  project: Project | undefined,
): AppChoice | undefined {
  if (typeof bundle_id === 'string') return { bundle_id, from: 'store' }
  if (store_type !== 'iap' || !project) return undefined
  return { bundle_id: project.bundle_id, from: 'project' }
}

/** Finds the name of an item by its SKU: its name or, unless another item has that name, its id. */
export async function findItemName(
  storage: Storage,
  { account_id, store_id }: StoreKey,
  sku: string,
): Promise<string | undefined> {
  if (await storage.findItemByName({ account_id, store_id }, sku)) return sku
  const item = isItemId(sku) ? await storage.findItem(sku) : undefined
  return item?.account_id === account_id && item.store_id === store_id ? item.name : undefined
}

/** Whether a SKU may be the id of an item. */
export function isItemId(sku: string): boolean {
  return sku.startsWith('itm_')
}
