import type { AppChoice } from '../../csv/apps.ts'
import type { Project } from '../../domain/project.ts'
import type { PurchaseRules } from '../../domain/purchase.ts'
import type { Store } from '../../domain/store.ts'

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
