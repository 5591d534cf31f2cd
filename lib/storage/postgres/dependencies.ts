import { ACTIONS, type Effect } from '../../domain/audit.ts'
import type { READS } from '../cache.ts'
import type { Storage, StoreKey } from '../port.ts'
import type { Change } from './version-check.ts'

export type CachedRead = (typeof READS)[number]

type Result<K extends CachedRead> = Exclude<Awaited<ReturnType<Storage[K]>>, undefined>

type Dependencies = {
  readonly [K in CachedRead]: (
    result: Result<K>,
    ...args: Parameters<Storage[K]>
  ) => readonly [string, ...string[]]
}

const DEPENDENCIES: Dependencies = {
  findAccountByKeyHash: ({ account_id }) => [account(account_id)],
  findProject: ({ id }) => [project(id)],
  findProjectByPublicKey: ({ id }) => [project(id)],
  findFormerPublicKey: ({ project_id }) => [project(project_id)],
  findStore: (store) => [storeNamed(store)],
  listStoreSummaries: (_, project_id) => [storesOf(project_id)],
  findItem: (found) => [item(found.id), allItemsOf(found)],
  listItems: (_, store) => [itemListsOf(store)],
  findWatermark: (_, project_id) => [tokensOf(project_id)],
}

/**
 * Returns the names of the data from which a result was read, the most specific name first. A
 * change of data with one of these names makes the result outdated.
 */
export function dependenciesOf(
  name: CachedRead,
  result: unknown,
  args: readonly unknown[],
): readonly [string, ...string[]] {
  const find = DEPENDENCIES[name] as (...all: unknown[]) => readonly [string, ...string[]]
  return find(result, ...args)
}

/**
 * Returns the names of the data that a change alters. Returns undefined if they are unknown: for an
 * action of a newer version, and for an entry without ids. Servers of version 0.1, which may still
 * run during an upgrade, write entries without ids.
 */
export function namesOfChange(change: Change): readonly string[] | undefined {
  const { action, account_id, project_id, store_id, subject } = change
  const known = ACTIONS as { readonly [action: string]: { readonly effect: Effect } }
  const effect = known[action]?.effect
  const ofProject = (...names: string[]) => (project_id === '' ? undefined : names)
  const ofStore = (...names: string[]) =>
    account_id === '' || store_id === '' ? undefined : ofProject(...names)
  switch (effect) {
    case 'nothing':
      return []
    case 'account':
      return account_id === '' ? undefined : [account(account_id)]
    case 'project':
      return ofProject(project(project_id))
    case 'store':
      return ofStore(storeNamed(change), storesOf(project_id))
    case 'secrets':
      return store_id === '' ? ofProject(project(project_id)) : ofStore(storeNamed(change))
    case 'tokens':
      return ofProject(tokensOf(project_id))
    case 'list':
      return ofStore(itemListsOf(change))
    case 'item':
      return ofStore(
        itemListsOf(change),
        subject === undefined ? allItemsOf(change) : item(subject),
      )
    default:
      return undefined
  }
}

const account = (account_id: string) => `account ${account_id}`
const project = (id: string) => `project ${id}`
const storesOf = (project_id: string) => `stores ${project_id}`
const tokensOf = (project_id: string) => `tokens ${project_id}`
const item = (id: string) => `item ${id}`
const storeNamed = ({ account_id, store_id }: StoreKey) => `store ${account_id} ${store_id}`
const itemListsOf = ({ account_id, store_id }: StoreKey) => `lists ${account_id} ${store_id}`
const allItemsOf = ({ account_id, store_id }: StoreKey) => `items ${account_id} ${store_id}`
