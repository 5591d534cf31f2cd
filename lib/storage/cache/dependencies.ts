import { ACTIONS, type AuditEntry, type Effect } from '../../domain/audit.ts'
import type { Storage, StoreKey } from '../port.ts'

/** A function that returns the name of the data from which a method read its result. */
type Source<Method> = Method extends (...args: infer Args) => Promise<infer Result>
  ? (result: Exclude<Result, undefined>, ...args: Args) => string
  : never

/** The methods whose results are cached: the reads that frequent requests need. */
const SOURCES = {
  findAccountByKeyHash: ({ account_id }) => account(account_id),
  findProject: ({ id }) => project(id),
  findProjectByPublicKey: ({ id }) => project(id),
  findFormerPublicKey: ({ project_id }) => project(project_id),
  findStore: storeNamed,
  listStoreSummaries: (_, project_id) => storesOf(project_id),
  findItem: ({ id }) => item(id),
  listItems: (_, store) => itemListsOf(store),
  findWatermark: (_, project_id) => tokensOf(project_id),
} satisfies { readonly [Name in keyof Storage]?: Source<Storage[Name]> }

export type CachedRead = keyof typeof SOURCES

export const CACHED_READS = Object.keys(SOURCES) as CachedRead[]

/** Returns the name of the data from which a result was read. A change makes it outdated. */
export function sourceOf(read: CachedRead, result: unknown, args: readonly unknown[]): string {
  const find = SOURCES[read] as (...all: unknown[]) => string
  return find(result, ...args)
}

/** The fields of an audit entry that tell which data has changed. */
export type Change = Pick<
  AuditEntry,
  'action' | 'account_id' | 'project_id' | 'store_id' | 'subject'
>

/**
 * Returns the names of the data that a change alters. Returns undefined for an action of a newer
 * version.
 */
function namesOfChange(change: Change): readonly string[] | undefined {
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

/**
 * The maximum number of names whose changes are known, which take about 1 MB. Above it, everything
 * counts as changed.
 */
const MOST_NAMES = 10_000

/** Counts changes, and knows for each name of data the number of its latest change. */
export function createChangeCounter() {
  let count = 0
  let allChangedAt = 0
  const changedAt = new Map<string, number>()
  return {
    /** The number of the latest change. */
    get count() {
      return count
    },
    addAll() {
      allChangedAt = ++count
      changedAt.clear()
    },
    /** Returns false if the change may concern all data. */
    add(change: Change): boolean {
      const names = namesOfChange(change)
      if (!names || changedAt.size > MOST_NAMES) return false
      if (names.length === 0) return true
      count++
      for (const name of names) changedAt.set(name, count)
      return true
    },
    /** Whether the data with this name has not changed since the change of this number. */
    isCurrent: (name: string, since: number) =>
      allChangedAt <= since && (changedAt.get(name) ?? 0) <= since,
  }
}
