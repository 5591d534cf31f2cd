import type { AppChoice } from '../../csv/apps.ts'
import { invalidField } from '../../domain/fields.ts'
import type { Project } from '../../domain/project.ts'
import type { PurchaseRules } from '../../domain/purchase.ts'
import type { Store } from '../../domain/store.ts'
import type { TillError } from '../../errors.ts'

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

const NAMED_CURRENCIES = 12

/**
 * Returns the error for a currency that the project does not allow. It limits what is sold from now
 * on, so it does not limit imports.
 */
export function currencyRefusal(
  project: Project | undefined,
  field: string,
  currency: unknown,
): TillError | undefined {
  const allowed = (project?.config.allowed_currencies as string[] | undefined) ?? []
  if (allowed.length === 0 || typeof currency !== 'string' || allowed.includes(currency)) {
    return undefined
  }
  const others = allowed.length - NAMED_CURRENCIES
  const more = others > 0 ? ` and ${others} more` : ''
  const named = allowed.slice(0, NAMED_CURRENCIES).join(', ')
  const message = `must be one of the project's allowed currencies: ${named}${more}`
  return invalidField(field, 'not_allowed', message)
}

/** Throws if the project does not allow the currency of a new store, or a changed currency. */
export function assertCurrency(
  project: Project | undefined,
  { store_config }: Pick<Store, 'store_config'>,
  before?: Store,
): void {
  const { currency } = store_config
  if (currency === before?.store_config.currency) return
  const refusal = currencyRefusal(project, 'store_config.currency', currency)
  if (refusal) throw refusal
}
