import type { CatalogPlan, CatalogRequest, SummaryQuery } from '../../lib/index.ts'
import { flagOf, invalidOption } from './options.ts'
import type { ManageCall } from './row.ts'
import { MAX_GRACE_MS } from './schemas.ts'

/** A project, with the names of the secrets that are set. Their values are never in an answer. */
export async function showProject({ till, caller }: ManageCall, id: string) {
  const project = await till.projects.get(caller, id)
  return { ...project, secrets: await till.projects.listSecrets(caller, id) }
}

/** A store, with the names of the secrets that are set. */
export async function showStore({ till, caller }: ManageCall, store_id: string) {
  const store = await till.stores.get(caller, store_id)
  return { ...store, secrets: await till.stores.listSecrets(caller, store_id) }
}

/** `POST /projects/{id}/rotate-key` */
export async function rotateKey(call: ManageCall) {
  const { till, caller, params, options } = call
  const { grace_period: gracePeriod } = call.input as { readonly grace_period?: number }
  const isValid = Number.isInteger(gracePeriod) && (gracePeriod as number) >= 0
  if (gracePeriod !== undefined && !(isValid && gracePeriod <= MAX_GRACE_MS)) {
    throw invalidOption('grace_period', `must be milliseconds from 0 to ${MAX_GRACE_MS}`)
  }
  const { id = '' } = params
  await till.projects.rotateKey(caller, { id, gracePeriod }, options)
  return showProject(call, id)
}

/** Converts the input of a catalog route to the field names of the library. */
export function catalogRequest({ params, input }: ManageCall): CatalogRequest {
  return {
    catalog: (input as { readonly catalog: CatalogRequest['catalog'] }).catalog,
    project_id: params.project_id,
    archiveMissing: flagOf(input, 'archive_missing'),
    createStores: flagOf(input, 'create_stores'),
    itemsOnly: flagOf(input, 'items_only'),
    as: (input as Pick<CatalogRequest, 'as'>).as,
  }
}

const MAX_GROUPS = 10_000

/** Answers a summary with at most 10,000 groups. */
export async function summarize({ till, caller, input }: ManageCall) {
  const query = { ...(input as SummaryQuery), maxGroups: MAX_GROUPS }
  return { summaries: await till.purchases.summarize(caller, query) }
}

const MAX_CHANGES = 1_000

/** A catalog plan with only its first changes. Its counts include all changes. */
export function showPlan(plan: CatalogPlan): object {
  return { ...plan, changes: plan.changes.slice(0, MAX_CHANGES) }
}

const MAX_ENDPOINTS = 20

/**
 * `GET /webhooks`. The pages are short, because counting the lag of one endpoint may read 10,000
 * records.
 */
export function listWebhooks({ till, caller, input }: ManageCall) {
  const { limit = MAX_ENDPOINTS } = input as { readonly limit?: string }
  const fewer = Number(limit) > MAX_ENDPOINTS ? MAX_ENDPOINTS : limit
  return till.webhooks.list(caller, { ...(input as object), limit: fewer })
}
