import type { PurchaseRules } from '../domain/purchase.ts'
import type { Store } from '../domain/store.ts'
import type { Storage } from '../storage/port.ts'

/** Reads the settings of a store and its project that decide whether a purchase is valid. */
export async function rulesOf(storage: Storage, store: Store): Promise<PurchaseRules> {
  const project = await storage.findProject(store.project_id)
  const currencies = new Set((project?.config.allowed_currencies as string[] | undefined) ?? [])
  const { currency } = store.store_config
  return typeof currency === 'string' ? { currency, currencies } : { currencies }
}
