import { ACTIONS, type Effect } from '../domain/audit.ts'
import type { CachedRead, Change } from './cache.ts'
import type { Storage, StoreKey } from './port.ts'

type Result<K extends CachedRead> = Exclude<Awaited<ReturnType<Storage[K]>>, undefined>

type Sources = {
  readonly [K in CachedRead]: (result: Result<K>, ...args: Parameters<Storage[K]>) => string
}

const SOURCES: Sources = {
  findAccountByKeyHash: ({ account_id }) => account(account_id),
  findProject: ({ id }) => project(id),
  findProjectByPublicKey: ({ id }) => project(id),
  findFormerPublicKey: ({ project_id }) => project(project_id),
  findStore: storeNamed,
  listStoreSummaries: (_, project_id) => storesOf(project_id),
  findItem: ({ id }) => item(id),
  listItems: (_, store) => itemListsOf(store),
  findWatermark: (_, project_id) => tokensOf(project_id),
}

/** Returns the name of the data from which a result was read. A change makes it outdated. */
export function sourceOf(read: CachedRead, result: unknown, args: readonly unknown[]): string {
  const find = SOURCES[read] as (...all: unknown[]) => string
  return find(result, ...args)
}

/**
 * Returns the names of the data that a change alters. Returns undefined for an action of a newer
 * version.
 */
export function namesOfChange(change: Change): readonly string[] | undefined {
  const known = ACTIONS as { readonly [action: string]: { readonly effect: Effect } }
  const effect = known[change.action]?.effect
  return effect && NAMES[effect](change)
}

const NAMES: Readonly<Record<Effect, (change: Change) => readonly string[]>> = {
  nothing: () => [],
  account: ({ account_id }) => [account(account_id)],
  project: ({ project_id }) => [project(project_id)],
  store: (change) => [storeNamed(change), storesOf(change.project_id)],
  secrets: (change) => [change.store_id === '' ? project(change.project_id) : storeNamed(change)],
  tokens: ({ project_id }) => [tokensOf(project_id)],
  list: (change) => [itemListsOf(change)],
  item: (change) => [itemListsOf(change), item(change.subject)],
}

const account = (account_id: string) => `account ${account_id}`
const project = (id: string) => `project ${id}`
const storesOf = (project_id: string) => `stores ${project_id}`
const tokensOf = (project_id: string) => `tokens ${project_id}`
const item = (id: string) => `item ${id}`
const itemListsOf = ({ account_id, store_id }: StoreKey) => `lists ${account_id} ${store_id}`

function storeNamed({ account_id, store_id }: StoreKey): string {
  return `store ${account_id} ${store_id}`
}
