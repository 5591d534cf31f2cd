import { type Account, type Project, type Till, TillError } from '../../lib/index.ts'
import { collect } from '../support/collect.ts'
import type { Action, Caller, Row } from './actions.ts'

/** The outcome of an action, without ids, so that outcomes can be compared. */
export type Outcome =
  | { readonly ok: unknown }
  | { readonly error: string; readonly at: readonly (string | number)[] }

/** Runs actions: with the library on some storage, or with the model. */
export type Runner = (action: Action) => Promise<Outcome> | Outcome

/** Returns the entry at an index that wraps around. */
export function nth<T>(list: readonly T[], index: number): T | undefined {
  return list[indexIn(list, index)]
}

/** Returns the position for an index that wraps around; -1 is the last entry. */
export function indexIn(list: readonly unknown[], index: number): number {
  return (index + list.length) % list.length
}

/** Runs actions with the library. Replaces each id and key by its position in order of creation. */
export function createLibraryRunner(till: Till): Runner {
  const accounts: Account[] = []
  const keys: { account_key: string; key_id: string }[] = []
  const projects: string[] = []
  const items: string[] = []

  /** The position of an id in a list. Appends the id when it is new. */
  const placeOf = (list: string[], id: string): number => {
    if (!list.includes(id)) list.push(id)
    return list.indexOf(id)
  }
  const accountOf = (id: string) => accounts.findIndex(({ account_id }) => account_id === id)
  const projectId = (index: number) => nth(projects, index) ?? 'prj_none'

  const callerOf = async ({ by, index }: Caller): Promise<Account> => {
    if (by === 'operator') return nth(accounts, index) as Account
    return till.accounts.authenticate(nth(keys, index)?.account_key)
  }

  const shownProject = (project: Project) => {
    const { id, account_id, public_key: _, created_at: __, ...rest } = project
    return { ...rest, project: placeOf(projects, id), account: accountOf(account_id) }
  }
  const shownStore = ({ store_id, ...store }: Awaited<ReturnType<Till['stores']['get']>>) => {
    const { account_id, project_id, created_at: _, ...rest } = store
    const places = { project: projects.indexOf(project_id), account: accountOf(account_id) }
    return { ...rest, ...places, store_id: store_id.startsWith('str_') ? 'made' : store_id }
  }
  const shownItem = (item: Awaited<ReturnType<Till['items']['get']>>) => {
    const { id, account_id, project_id, created_at: _, archived_at, ...rest } = item
    const places = { project: projects.indexOf(project_id), account: accountOf(account_id) }
    return { ...rest, ...places, isArchived: archived_at !== undefined, item: placeOf(items, id) }
  }
  const importFile = async (who: Account, request: Parameters<Till['purchases']['import']>[1]) => {
    const { import_id: _, ...summary } = await till.purchases.import(who, request)
    return summary
  }

  const handlers: {
    [D in Action['do']]: (action: Extract<Action, { do: D }>) => Promise<unknown>
  } = {
    wait: async () => 'later',
    async createAccount({ name }) {
      const { account_key, key_id, ...account } = await till.accounts.create({ name })
      accounts.push(account)
      keys.push({ account_key, key_id })
      return { account: accounts.length - 1, name: account.name }
    },
    async addKey({ account }) {
      const { account_key, key_id } = await till.accounts.addKey(nth(accounts, account) as Account)
      return keys.push({ account_key, key_id }) - 1
    },
    async revokeKey({ account, key }) {
      const key_id = nth(keys, key)?.key_id ?? ''
      return till.accounts.revokeKey(nth(accounts, account) as Account, key_id)
    },
    async listKeys({ account }) {
      const shown = await till.accounts.listKeys(nth(accounts, account) as Account)
      return shown.map(({ key_id, revoked_at }) => ({
        key: keys.findIndex((each) => each.key_id === key_id),
        isRevoked: revoked_at !== undefined,
      }))
    },
    async createProject({ do: _, caller, account, key, ...input }) {
      const account_id = nth(accounts, account)?.account_id
      const fields = { ...input, account_id: account_id as string, bundle_id: 'com.example.game' }
      const options = { idempotencyKey: key }
      return shownProject(await till.projects.create(await callerOf(caller), fields, options))
    },
    async updateProject({ do: _, caller, project, ...input }) {
      const change = { ...input, id: projectId(project) }
      return shownProject(await till.projects.update(await callerOf(caller), change))
    },
    getProject: async ({ caller, project }) =>
      shownProject(await till.projects.get(await callerOf(caller), projectId(project))),
    listProjects: async ({ caller }) =>
      (await collect(till.projects.all(await callerOf(caller)))).map(shownProject),
    async createStore({ do: _, caller, project, config, key, ...input }) {
      const fields = { ...input, project_id: projectId(project), store_config: config }
      const options = { idempotencyKey: key }
      return shownStore(await till.stores.create(await callerOf(caller), fields, options))
    },
    getStore: async ({ caller, store_id }) =>
      shownStore(await till.stores.get(await callerOf(caller), store_id)),
    listStores: async ({ caller, project }) =>
      (
        await collect(till.stores.all(await callerOf(caller), { project_id: projectId(project) }))
      ).map(shownStore),
    async createItem({ caller, key, store_id, name, price }) {
      const fields = { store_id, name, price, display_name: 'An item', type: 'consumable' as const }
      const options = { idempotencyKey: key }
      return shownItem(await till.items.create(await callerOf(caller), fields, options))
    },
    getItem: async ({ caller, item }) =>
      shownItem(await till.items.get(await callerOf(caller), nth(items, item) ?? '')),
    updateItem: async ({ caller, item, price, version }) => {
      const change = { id: nth(items, item) ?? 'itm_none', price, version }
      return shownItem(await till.items.update(await callerOf(caller), change))
    },
    archiveItem: async ({ caller, item }) =>
      shownItem(await till.items.archive(await callerOf(caller), nth(items, item) ?? '')),
    restoreItem: async ({ caller, item }) =>
      shownItem(await till.items.restore(await callerOf(caller), nth(items, item) ?? '')),
    async listItems({ caller, store_id, limit, archived }) {
      const who = await callerOf(caller)
      return pagesOf(async (cursor) => {
        const page = await till.items.list(who, { store_id, limit, cursor, archived })
        return { shown: page.items.map(shownItem), next: page.next }
      })
    },
    async import({ caller, store_id, rows, dry_run }) {
      const file = fileOf(rows)
      return importFile(await callerOf(caller), { store_id, dryRun: dry_run, file })
    },
    async listPurchases({ caller, store_id, limit, filter }) {
      const who = await callerOf(caller)
      return pagesOf(async (cursor) => {
        const page = await till.purchases.list(who, { store_id, limit, cursor, ...filter })
        const shown = page.purchases.map(({ import_id: _, ...purchase }) => purchase)
        return { shown, next: page.next }
      })
    },
    summarize: async ({ caller, store_id, by }) =>
      till.purchases.summarize(await callerOf(caller), { store_id, by }),
    async eraseUser({ caller, project, user_id, deletes }) {
      const user = { project_id: projectId(project), user_id }
      const erased = await till.users.erase(await callerOf(caller), user, { delete: deletes })
      return erased.purchases
    },
    listAudit: ({ limit }) =>
      pagesOf(async (cursor) => {
        const page = await till.operations.listAudit({ limit, cursor })
        const shown = page.entries.map(({ action, actor, account_id }) => ({
          action,
          actor: actor.replace(/:.*/, ''),
          account: accountOf(account_id),
        }))
        return { shown, next: page.next }
      }),
  }

  return async (action) => {
    try {
      return { ok: plain(await handlers[action.do](action as never)) }
    } catch (error) {
      if (!(error instanceof TillError)) throw error
      const at = error.details.map(({ field, line }) => field ?? line ?? '')
      return { error: error.code, at: sorted(at) }
    }
  }
}

/** Returns the value as JSON would carry it: without undefined, and with 0 for -0. */
export function plain(value: unknown): unknown {
  return value === undefined ? null : JSON.parse(JSON.stringify(value))
}

/** Removes duplicates and sorts. */
export function sorted(places: readonly (string | number)[]): (string | number)[] {
  return [...new Set(places)].sort()
}

async function pagesOf<T>(
  read: (cursor: string | undefined) => Promise<{ shown: T[]; next?: string | undefined }>,
): Promise<T[][]> {
  const pages: T[][] = []
  let cursor: string | undefined
  do {
    const { shown, next } = await read(cursor)
    pages.push(shown)
    cursor = next
  } while (cursor !== undefined)
  return pages
}

/** The rows as a canonical CSV file. The time of a transaction follows from its id. */
async function* fileOf(rows: readonly Row[]): AsyncGenerator<Uint8Array> {
  yield Buffer.from('transaction_id,sku,purchased_at,user_id,quantity,price,currency,status\n')
  for (const row of rows) {
    const { transaction_id, sku, user_id, quantity, price, currency, status } = row
    const cells = [user_id, quantity, price, currency, status]
    yield Buffer.from(`${[transaction_id, sku, timeOf(transaction_id), ...cells]}\n`)
  }
}

/** The 15th of a month from January to April 2024, chosen by the id. */
export function timeOf(transaction_id: string): string {
  return `2024-0${1 + ((transaction_id.codePointAt(0) ?? 0) % 4)}-15T12:00:00Z`
}
