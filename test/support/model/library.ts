import assert from 'node:assert/strict'
import {
  type Account,
  type AuditPage,
  type ImportTotal,
  type Item,
  type Project,
  type Store,
  type Till,
  TillError,
} from '../../../lib/index.ts'
import { collect } from '../collect.ts'
import { fileOf } from '../till.ts'
import type { Action, Caller, Handlers, Row } from './actions.ts'

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
  const imports: string[] = []
  /** The caller of the action that runs. */
  let who: Account

  const callerOf = async ({ by, index }: Caller): Promise<Account> => {
    if (by === 'operator') return nth(accounts, index) as Account
    return till.accounts.authenticate(nth(keys, index)?.account_key)
  }

  /** The position of an id in a list. Appends the id when it is new. */
  const placeOf = (list: string[], id: string): number => {
    if (!list.includes(id)) list.push(id)
    return list.indexOf(id)
  }
  const accountOf = (id: string) => accounts.findIndex(({ account_id }) => account_id === id)
  const idOf = (list: readonly string[], index: number) => nth(list, index) ?? 'none'

  const shownProject = (project: Project) => {
    const { id, account_id, public_key: _, created_at: __, ...rest } = project
    return { ...rest, project: placeOf(projects, id), account: accountOf(account_id) }
  }
  const shownStore = ({ store_id, account_id, project_id, created_at: _, ...rest }: Store) => {
    const places = { project: projects.indexOf(project_id), account: accountOf(account_id) }
    return { ...rest, ...places, store_id: store_id.startsWith('str_') ? 'made' : store_id }
  }
  const shownItem = ({ id, account_id, project_id, created_at: _, archived_at, ...rest }: Item) => {
    const places = { project: projects.indexOf(project_id), account: accountOf(account_id) }
    return { ...rest, ...places, isArchived: archived_at !== undefined, item: placeOf(items, id) }
  }
  /** Shows a record that names its import, without the clock of the storage. */
  const shownImport = (record: { readonly import_id: string }) => {
    const times = { created_at: undefined, finished_at: undefined }
    const hidden = { ...times, import_id: undefined, actor: undefined }
    const place = record.import_id === '' ? undefined : placeOf(imports, record.import_id)
    return { ...record, ...hidden, import: place }
  }
  const shownEntries = ({ entries }: AuditPage) =>
    entries.map(({ action, actor, account_id }) => ({
      action,
      actor: actor.replace(/:.*/, ''),
      account: accountOf(account_id),
    }))
  const listItems = (query: Parameters<Till['items']['list']>[1]) =>
    pagesOf(
      (cursor) => till.items.list(who, { ...query, cursor }),
      (page) => page.items.map(shownItem),
    )
  const summarize: Handlers['summarizeTop'] = ({ filter, ...query }) =>
    till.purchases.summarize(who, { ...query, ...filter })

  const handlers: Handlers = {
    wait: async () => 'later',
    async createAccount({ name }) {
      const { account_key, key_id, ...account } = await till.accounts.create({ name })
      accounts.push(account)
      keys.push({ account_key, key_id })
      return { account: accounts.length - 1, name: account.name }
    },
    addKey: async () => keys.push(await till.accounts.addKey(who)) - 1,
    revokeKey: ({ key }) => till.accounts.revokeKey(who, nth(keys, key)?.key_id ?? ''),
    listKeys: async () =>
      (await till.accounts.listKeys(who)).map(({ key_id, revoked_at }) => ({
        key: keys.findIndex((each) => each.key_id === key_id),
        isRevoked: revoked_at !== undefined,
      })),
    async createProject({ account, key, ...input }) {
      const account_id = nth(accounts, account)?.account_id as string
      const fields = { ...input, account_id, bundle_id: 'com.example.game' }
      return shownProject(await till.projects.create(who, fields, { idempotencyKey: key }))
    },
    updateProject: async ({ project, ...change }) =>
      shownProject(await till.projects.update(who, { ...change, id: idOf(projects, project) })),
    getProject: async ({ project }) =>
      shownProject(await till.projects.get(who, idOf(projects, project))),
    listProjects: async () => (await collect(till.projects.all(who))).map(shownProject),
    async createStore({ project, key, ...input }) {
      const fields = { ...input, project_id: idOf(projects, project) }
      return shownStore(await till.stores.create(who, fields, { idempotencyKey: key }))
    },
    getStore: async ({ store_id }) => shownStore(await till.stores.get(who, store_id)),
    listStores: async ({ project }) =>
      (await collect(till.stores.all(who, { project_id: idOf(projects, project) }))).map(
        shownStore,
      ),
    async createItem({ key, ...input }) {
      const fields = { ...input, display_name: 'An item', type: 'consumable' as const }
      return shownItem(await till.items.create(who, fields, { idempotencyKey: key }))
    },
    getItem: async ({ item }) => shownItem(await till.items.get(who, idOf(items, item))),
    updateItem: async ({ item, ...change }) =>
      shownItem(await till.items.update(who, { ...change, id: idOf(items, item) })),
    archiveItem: async ({ item }) => shownItem(await till.items.archive(who, idOf(items, item))),
    restoreItem: async ({ item }) => shownItem(await till.items.restore(who, idOf(items, item))),
    listItems,
    async import({ rows, ...input }) {
      const file = fileOf(HEADER, ...rows.map(lineOf))
      const result = await till.purchases.import(who, { ...input, file })
      const keyOf = ({ status, currency }: ImportTotal) => `${status} ${currency}`
      const totals = [...result.totals].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
      return { ...shownImport(result), totals }
    },
    listPurchases: ({ filter, ...query }) =>
      pagesOf(
        (cursor) => till.purchases.list(who, { ...query, ...filter, cursor }),
        (page) => page.purchases.map(shownImport),
      ),
    summarize: (query) => summarize({ ...query, filter: {} } as never),
    async eraseUser({ project, user_id, deletes }) {
      const user = { project_id: idOf(projects, project), user_id }
      return (await till.users.erase(who, { ...user, delete: deletes })).purchases
    },
    listAudit: (page) =>
      pagesOf((cursor) => till.operator.listAudit({ ...page, cursor }), shownEntries),
    listOwnAudit: (page) =>
      pagesOf((cursor) => till.accounts.listAudit(who, { ...page, cursor }), shownEntries),

    async recordPurchase({ store_id, row }) {
      const given = Object.entries(row).filter(([, value]) => value !== '')
      const about = { store_id, purchased_at: timeOf(row.transaction_id) }
      const sale = { ...Object.fromEntries(given), ...about } as never
      const { purchase, outcome } = await till.purchases.record(who, sale)
      return { outcome, purchase: purchase && shownImport(purchase) }
    },
    undoImport: async ({ import: place, force }) =>
      shownImport(await till.imports.undo(who, { import_id: idOf(imports, place), force })),
    listImports: (query) =>
      pagesOf(
        (cursor) => till.imports.list(who, { ...query, cursor }),
        (page) => page.imports.map(shownImport),
      ),
    async listOfImport({ store_id, import: place, filter }) {
      const query = { store_id, import_id: idOf(imports, place), ...filter }
      return (await collect(till.purchases.all(who, query))).map(shownImport)
    },
    async listChanges(purchase) {
      const { changes } = await till.purchases.changes(who, purchase)
      return changes.map(shownImport)
    },
    listOwned: (query) =>
      pagesOf(
        (cursor) => till.purchases.owned(who, { ...query, cursor }),
        (page) => page.owned,
      ),
    summarizeTop: summarize,
    async overview({ store_id, by, from }) {
      const overview = await till.purchases.overview(who, { store_id, by, from })
      const sums = await till.purchases.summarize(who, { store_id, by: [by], from })
      // The totals of a store agree with a summary of its purchases.
      const totals = sums.map(({ buyers: _, ...total }) => total)
      assert.deepEqual(overview.periods, totals)
      return { ...overview, ...(await till.purchases.buyers(who, { store_id, from })) }
    },
    async applyCatalog({ project, names, price, archiveMissing }) {
      const fields = { price, display_name: 'An item', type: 'consumable' }
      const all = names.map((name) => ({ name, archived: false, ...fields }))
      const catalog = { stores: [{ store_id: 'main', items: all }] }
      const request = {
        project_id: idOf(projects, project),
        catalog,
        archive_missing: archiveMissing,
      } as never
      const applied = await till.catalog.apply(who, request)
      const { created, updated, archived, restored, missing, unchanged } = applied
      return { created, updated, archived, restored, missing, unchanged }
    },
    searchItems: listItems,
    listHistory({ item, limit }) {
      const query = { id: idOf(items, item), limit }
      return pagesOf((cursor) => till.items.history(who, { ...query, cursor }), shownEntries)
    },
  }

  return async (action) => {
    const { do: name, caller, ...input } = action as { do: keyof Handlers; caller?: Caller }
    try {
      if (caller) who = await callerOf(caller)
      return { ok: plain(await handlers[name](input as never)) }
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

async function pagesOf<P extends { readonly next?: string | undefined }, T>(
  read: (cursor: string | undefined) => Promise<P>,
  show: (page: P) => T,
): Promise<T[]> {
  const pages: T[] = []
  let cursor: string | undefined
  do {
    const page = await read(cursor)
    pages.push(show(page))
    cursor = page.next
  } while (cursor !== undefined)
  return pages
}

const CELLS = ['user_id', 'quantity', 'price', 'currency', 'status', 'expires_at'] as const
const HEADER = `transaction_id,sku,purchased_at,${CELLS}\n`

/** The row as a line of a canonical CSV file. The time of a transaction follows from its id. */
function lineOf(row: Row): string {
  const { transaction_id, sku } = row
  return `${[transaction_id, sku, timeOf(transaction_id), ...CELLS.map((name) => row[name])]}\n`
}

/** The 15th of a month from January to April 2024, chosen by the id. */
export function timeOf(transaction_id: string): string {
  return `2024-0${1 + ((transaction_id.codePointAt(0) ?? 0) % 4)}-15T12:00:00Z`
}
