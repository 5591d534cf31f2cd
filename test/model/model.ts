import { isDeepStrictEqual } from 'node:util'
import type { Action, Caller, Row } from './actions.ts'
import { indexIn, nth, type Outcome, plain, type Runner, sorted, timeOf } from './library.ts'
import { importRows, type Purchase } from './purchases.ts'
import { Refusal } from './refusal.ts'

type Config = { readonly [key: string]: unknown }

interface Project {
  readonly project: number
  readonly account: number
  name: string
  readonly bundle_id: string
  platform: string
  status: string
  readonly dlscheme: string
  config: Config
}

interface Item {
  readonly item: number
  readonly name: string
  price: number
  version: number
  isArchived: boolean
}

interface Store {
  readonly account: number
  readonly project: number
  readonly store_id: string
  readonly store_type: string
  readonly is_sandbox: boolean
  readonly status: string
  readonly config: Config
  readonly items: Item[]
  readonly skus: Set<string>
  readonly purchases: Purchase[]
  /** Transaction ids of purchases that lost their user, and of those deleted with their user. */
  readonly erased: Set<string>
  readonly deleted: Set<string>
}

const DAY = 86_400

/**
 * The service as plain objects. It is written from the specification and the decisions and not from
 * the code, so that the two do not share their mistakes.
 */
export function createModel(): Runner {
  let now = 0
  const accounts: string[] = []
  const keys: { readonly account: number; isRevoked: boolean }[] = []
  const projects: Project[] = []
  const stores: Store[] = []
  const items: { readonly store: Store; readonly shown: Item }[] = []
  const idempotencyRecords = new Map<string, { request: string; answer: unknown; until: number }>()
  const audit: { action: string; actor: string; account: number }[] = []

  const log = (action: string, actor: string, account: number) =>
    void audit.push({ action, actor, account })

  const isActive = ({ status }: { status: string }) =>
    status !== 'disabled' && status !== 'archived'

  /** The account of a caller. */
  const ownerOf = (who: Caller): number => {
    if (who.by === 'operator') return indexIn(accounts, who.index)
    const key = nth(keys, who.index)
    if (!key || key.isRevoked) throw new Refusal('account_key_required')
    return key.account
  }

  const reachable = (owner: number, index: number): Project | undefined => {
    const project = nth(projects, index)
    return project?.account === owner ? project : undefined
  }

  const named = (owner: number, index: number, field: string): Project => {
    const project = reachable(owner, index)
    if (!project) throw new Refusal('invalid_request', field)
    return project
  }

  const findStore = (owner: number, store_id: string) =>
    stores.find((store) => store.store_id === store_id && store.account === owner)

  const namedStore = (owner: number, store_id: string): Store => {
    const store = findStore(owner, store_id)
    if (!store) throw new Refusal('invalid_request', 'store_id')
    return store
  }

  /** Repeats the first answer for an idempotency key, and otherwise runs `make`. */
  const once = (owner: number, key: string | undefined, request: unknown, make: () => unknown) => {
    if (key === undefined) return make()
    const place = `${owner} ${key}`
    const asked = JSON.stringify(request)
    const first = idempotencyRecords.get(place)
    if (first && now < first.until) {
      if (first.request === asked) return first.answer
      throw new Refusal('invalid_request', 'Idempotency-Key')
    }
    const answer = plain(make())
    idempotencyRecords.set(place, { request: asked, answer, until: now + DAY })
    return answer
  }

  const ownItem = (owner: number, index: number) => {
    const item = nth(items, index)
    if (item?.store.account !== owner) throw new Refusal('item_not_found')
    return item
  }

  const setArchived = (caller: Caller, index: number, isArchived: boolean): Item => {
    const { shown, store } = ownItem(ownerOf(caller), index)
    if (shown.isArchived !== isArchived) {
      shown.isArchived = isArchived
      shown.version++
      log(isArchived ? 'item.archive' : 'item.restore', actorOf(caller), store.account)
    }
    return shown
  }

  const imported = (store: Store, rows: readonly Row[]) => {
    if (!isActive(store)) throw new Refusal('store_inactive')
    const found = importRows(rows, store, store.config.currency as string | undefined)
    if (found.lines.length > 0) throw new Refusal('invalid_purchases', ...found.lines)
    return found
  }

  const actorOf = (who: Caller) => who.by

  const handlers: { [D in Action['do']]: (action: Extract<Action, { do: D }>) => unknown } = {
    wait({ seconds }) {
      now += seconds
      return 'later'
    },
    createAccount({ name }) {
      const account = accounts.push(name) - 1
      keys.push({ account, isRevoked: false })
      log('account.create', 'operator', account)
      return { account, name }
    },
    addKey({ account }) {
      const owner = indexIn(accounts, account)
      log('account_key.add', 'operator', owner)
      return keys.push({ account: owner, isRevoked: false }) - 1
    },
    revokeKey({ account, key }) {
      const revoked = nth(keys, key)
      const owner = indexIn(accounts, account)
      if (!revoked || revoked.isRevoked || revoked.account !== owner) {
        throw new Refusal('account_key_not_found')
      }
      revoked.isRevoked = true
      log('account_key.revoke', 'operator', owner)
    },
    listKeys({ account }) {
      const all = keys.map(({ account, isRevoked }, key) => ({
        account,
        shown: { key, isRevoked },
      }))
      const own = all.filter((each) => each.account === indexIn(accounts, account))
      return own.map(({ shown }) => shown)
    },
    createProject({ caller, account, name, platform, status, config, key }) {
      const owner = ownerOf(caller)
      if (owner !== indexIn(accounts, account)) throw new Refusal('invalid_request', 'account_id')
      return once(owner, key, ['project', name, platform, status ?? 'active', config ?? {}], () => {
        const project: Project = {
          project: projects.length,
          account: owner,
          name,
          bundle_id: 'com.example.game',
          platform,
          status: status ?? 'active',
          dlscheme: '',
          config: config ?? {},
        }
        projects.push(project)
        log('project.create', actorOf(caller), owner)
        return { ...project }
      })
    },
    updateProject({ caller, project: index, name, status, config }) {
      const owner = ownerOf(caller)
      const project = named(owner, index, 'id')
      const before = structuredClone(project)
      project.name = name ?? project.name
      project.status = status ?? project.status
      project.config = config ?? project.config
      if (!isDeepStrictEqual(project, before)) {
        log('project.update', actorOf(caller), project.account)
      }
      return project
    },
    getProject({ caller, project: index }) {
      const project = reachable(ownerOf(caller), index)
      if (!project) throw new Refusal('project_not_found')
      return project
    },
    listProjects({ caller }) {
      const owner = ownerOf(caller)
      return projects.filter((project) => project.account === owner)
    },
    createStore({ caller, project: index, store_id, config, key, ...sent }) {
      const owner = ownerOf(caller)
      const { project, account } = named(owner, index, 'project_id')
      const { store_type, is_sandbox = false, status = 'active' } = sent
      const request = ['store', project, store_id, store_type, is_sandbox, status, config ?? {}]
      return once(owner, key, request, () => {
        const isTaken = stores.some(
          (each) => each.account === account && each.store_id === store_id,
        )
        if (isTaken) throw new Refusal('invalid_request', 'store_id')
        const sets = {
          skus: new Set<string>(),
          erased: new Set<string>(),
          deleted: new Set<string>(),
        }
        const lists = { items: [], purchases: [], ...sets }
        const made = store_id ?? 'made'
        const about = { account, project, store_type, is_sandbox, status, config: config ?? {} }
        const store: Store = { store_id: made, ...about, ...lists }
        stores.push(store)
        log('store.create', actorOf(caller), account)
        return shownStore(store)
      })
    },
    getStore({ caller, store_id }) {
      const store = findStore(ownerOf(caller), store_id)
      if (!store) throw new Refusal('store_not_found')
      return shownStore(store)
    },
    listStores({ caller, project: index }) {
      const { project } = named(ownerOf(caller), index, 'project_id')
      return stores.filter((store) => store.project === project).map(shownStore)
    },
    createItem({ caller, store_id, name, price, key }) {
      const owner = ownerOf(caller)
      const store = namedStore(owner, store_id)
      return once(owner, key, ['item', store_id, name, Number(price)], () => {
        if (store.skus.has(name)) throw new Refusal('invalid_request', 'name')
        const { account, project } = store
        const shown = {
          ...{ item: items.length, account, project, store_id, name, display_name: 'An item' },
          ...{ description: '', price: Number(price), type: 'consumable', metadata: {} },
          ...{ version: 1, isArchived: false },
        }
        store.skus.add(name)
        store.items.push(shown)
        items.push({ store, shown })
        log('item.create', actorOf(caller), account)
        return { ...shown }
      })
    },
    getItem({ caller, item: index }) {
      const owner = ownerOf(caller)
      return ownItem(owner, index).shown
    },
    updateItem({ caller, item: index, price, version }) {
      const owner = ownerOf(caller)
      const { shown, store } = ownItem(owner, index)
      if (version !== undefined && version !== shown.version) throw new Refusal('version_conflict')
      if (price !== undefined && Number(price) !== shown.price) {
        shown.price = Number(price)
        shown.version++
        log('item.update', actorOf(caller), store.account)
      }
      return shown
    },
    archiveItem: ({ caller, item }) => setArchived(caller, item, true),
    restoreItem: ({ caller, item }) => setArchived(caller, item, false),
    listItems({ caller, store_id, limit, archived = false }) {
      const owner = ownerOf(caller)
      const { items } = namedStore(owner, store_id)
      const shown = items.filter(({ isArchived }) => isArchived === archived)
      return pagesOf(shown, limit ?? 100)
    },
    import({ caller, store_id, rows, dry_run }) {
      const owner = ownerOf(caller)
      const store = namedStore(owner, store_id)
      const { summary, purchases } = imported(store, rows)
      if (dry_run || summary.added + summary.updated === 0) return summary
      store.purchases.splice(0, Number.POSITIVE_INFINITY, ...purchases)
      log('purchases.import', actorOf(caller), store.account)
      return summary
    },
    listPurchases({ caller, store_id, limit, filter }) {
      const owner = ownerOf(caller)
      const { purchases } = namedStore(owner, store_id)
      const wanted = purchases.filter(
        (each) =>
          each.sku === (filter.sku ?? each.sku) &&
          each.user_id === (filter.user_id ?? each.user_id) &&
          each.status === (filter.status ?? each.status) &&
          (!filter.from || each.purchased_at >= Date.parse(filter.from)) &&
          (!filter.to || each.purchased_at < Date.parse(filter.to)),
      )
      const shown = wanted.map((purchase) => ({
        ...purchase,
        purchased_at: new Date(purchase.purchased_at).toISOString(),
        store_id,
        metadata: {},
      }))
      return pagesOf(shown, limit ?? 100)
    },
    summarize({ caller, store_id, by }) {
      const owner = ownerOf(caller)
      const own = stores.filter(({ account }) => account === owner)
      const wanted = store_id === undefined ? own : [namedStore(owner, store_id)]
      const purchases = wanted.flatMap((store) =>
        store.purchases.map((each) => ({
          ...each,
          store,
          user: `${store.project} ${each.user_id}`,
        })),
      )
      type Placed = (typeof purchases)[number]
      const month = ({ transaction_id }: Placed) => timeOf(transaction_id).slice(0, 7)
      const currency = ({ currency = '' }: Placed) => currency
      const places: readonly (readonly [name: string, of: (each: Placed) => string])[] = by
        ? [
            ['store_id', ({ store }) => store.store_id],
            ['month', month],
            ['currency', currency],
          ]
        : [
            ['month', month],
            ['sku', ({ sku }) => sku],
            ['currency', currency],
          ]
      const place = (each: Placed) => places.map(([, of]) => of(each)).join(' ')
      return [...new Set(purchases.map(place))].sort().map((key) => {
        const group = purchases.filter((each) => place(each) === key)
        const of = (status: string) => group.filter((each) => each.status === status)
        const total = (status: string) =>
          String(of(status).reduce((sum, { price = 0 }) => sum + BigInt(price), 0n))
        const users = of('purchased').filter(({ user_id }) => user_id !== undefined)
        const values = key.split(' ')
        return {
          ...Object.fromEntries(places.map(([name], i) => [name, values[i]])),
          ...{ revenue: total('purchased'), refunded_total: total('refunded') },
          ...{ purchased: of('purchased').length, pending: of('pending').length },
          ...{ refunded: of('refunded').length, cancelled: of('cancelled').length },
          buyers: new Set(users.map(({ user }) => user)).size,
        }
      })
    },
    eraseUser({ caller, project: index, user_id, deletes }) {
      const owner = ownerOf(caller)
      const { project, account } = named(owner, index, 'project_id')
      let count = 0
      for (const { purchases, erased, deleted } of stores.filter(
        (each) => each.project === project,
      )) {
        const own = purchases.filter((each) => each.user_id === user_id)
        for (const { transaction_id } of own) (deletes ? deleted : erased).add(transaction_id)
        const left = deletes ? purchases.filter((each) => !own.includes(each)) : purchases
        const kept = left.map((each) =>
          own.includes(each) ? { ...each, user_id: undefined } : each,
        )
        purchases.splice(0, Number.POSITIVE_INFINITY, ...kept)
        count += own.length
      }
      log('users.erase', actorOf(caller), account)
      return count
    },
    listAudit: ({ limit }) => pagesOf(audit, limit),
  }

  return (action): Outcome => {
    try {
      return { ok: plain(handlers[action.do](action as never)) }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return { error: error.code, at: sorted(error.at) }
    }
  }
}

function shownStore({ account, project, store_id, store_type, is_sandbox, status, config }: Store) {
  return { account, project, store_id, store_type, is_sandbox, status, store_config: config }
}

/** Splits a list into pages. An empty list is one page. */
function pagesOf<T>(list: readonly T[], limit: number): T[][] {
  const pages = [list.slice(0, limit)]
  for (let at = limit; at < list.length; at += limit) pages.push(list.slice(at, at + limit))
  return pages
}
