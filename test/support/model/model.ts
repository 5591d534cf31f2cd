import { isDeepStrictEqual } from 'node:util'
import type { Caller, ModelHandlers } from './actions.ts'
import { indexIn, nth, type Outcome, plain, type Runner, sorted, timeOf } from './library.ts'
import { importRows, type Purchase } from './purchases.ts'
import { Refusal } from './refusal.ts'

type Config = { readonly [key: string]: unknown }

interface Project {
  readonly project: number
  readonly account: number
  name: string
  status: string
  config: Config
}

interface Item {
  readonly item: number
  readonly account: number
  readonly project: number
  readonly store_id: string
  readonly name: string
  price: number
  version: number
  isArchived: boolean
}

interface Store {
  readonly shown: {
    readonly account: number
    readonly project: number
    readonly store_id: string
    readonly status: string
    readonly store_config: Config
  }
  readonly items: Item[]
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
  let imports = 0
  const accounts: string[] = []
  const keys: { readonly account: number; isRevoked: boolean }[] = []
  const projects: Project[] = []
  const stores: Store[] = []
  const items: Item[] = []
  const idempotencyRecords = new Map<string, { request: string; answer: unknown; until: number }>()
  const audit: { action: string; actor: string; account: number }[] = []

  /** The caller of the action that runs, and its account. */
  let by: Caller['by'] = 'operator'
  let owner = -1

  const log = (action: string, account = owner) => void audit.push({ action, actor: by, account })

  const setCaller = (caller: Caller): void => {
    const key = caller.by === 'key' ? nth(keys, caller.index) : undefined
    if (key?.isRevoked) throw new Refusal('account_key_required')
    by = caller.by
    owner = key?.account ?? indexIn(accounts, caller.index)
  }

  const findProject = (index: number): Project | undefined => {
    const project = nth(projects, index)
    return project?.account === owner ? project : undefined
  }

  const namedProject = (index: number, field: string): Project => {
    const project = findProject(index)
    if (!project) throw new Refusal('invalid_request', field)
    return project
  }

  const ownStores = () => stores.filter(({ shown }) => shown.account === owner)

  const findStore = (store_id: string | undefined) =>
    ownStores().find(({ shown }) => shown.store_id === store_id)

  const namedStore = (store_id: string): Store => {
    const store = findStore(store_id)
    if (!store) throw new Refusal('invalid_request', 'store_id')
    return store
  }

  /** Repeats the first answer for an idempotency key, and otherwise runs `make`. */
  const once = (key: string | undefined, request: unknown, make: () => unknown) => {
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

  const ownItem = (index: number): Item => {
    const item = nth(items, index)
    if (item?.account !== owner) throw new Refusal('item_not_found')
    return item
  }

  const setArchived = (index: number, isArchived: boolean): Item => {
    const item = ownItem(index)
    if (item.isArchived !== isArchived) {
      item.isArchived = isArchived
      item.version++
      log(isArchived ? 'item.archive' : 'item.restore')
    }
    return item
  }

  const handlers: ModelHandlers = {
    wait({ seconds }) {
      now += seconds
      return 'later'
    },
    createAccount({ name }) {
      const account = accounts.push(name) - 1
      keys.push({ account, isRevoked: false })
      by = 'operator'
      log('account.create', account)
      return { account, name }
    },
    addKey() {
      log('account_key.add')
      return keys.push({ account: owner, isRevoked: false }) - 1
    },
    revokeKey({ key }) {
      const revoked = nth(keys, key)
      if (!revoked || revoked.isRevoked || revoked.account !== owner) {
        throw new Refusal('account_key_not_found')
      }
      revoked.isRevoked = true
      log('account_key.revoke')
    },
    listKeys: () =>
      keys.flatMap(({ account, isRevoked }, key) =>
        account === owner ? [{ key, isRevoked }] : [],
      ),
    createProject({ account, name, platform, status = 'active', config: sent, key }) {
      if (owner !== indexIn(accounts, account)) throw new Refusal('invalid_request', 'account_id')
      // A repeated request must have a configuration if the first one had.
      return once(key, ['project', name, platform, status, sent], () => {
        const config = sent ?? {}
        const fixed = { bundle_id: 'com.example.game', dlscheme: '' }
        const about = { account: owner, name, platform, status, config, ...fixed }
        const project = { project: projects.length, ...about }
        projects.push(project)
        log('project.create')
        return { ...project }
      })
    },
    updateProject({ project: index, ...change }) {
      const project = namedProject(index, 'id')
      const before = structuredClone(project)
      Object.assign(project, plain(change))
      if (!isDeepStrictEqual(project, before)) log('project.update')
      return project
    },
    getProject({ project: index }) {
      const project = findProject(index)
      if (!project) throw new Refusal('project_not_found')
      return project
    },
    listProjects: () => projects.filter(({ account }) => account === owner),
    createStore({ project: index, store_id, key, ...sent }) {
      const { project } = namedProject(index, 'project_id')
      const { store_type, is_sandbox = false, status = 'active', store_config = {} } = sent
      const about = { store_type, is_sandbox, status, store_config }
      return once(key, ['store', project, store_id, about], () => {
        if (findStore(store_id)) throw new Refusal('invalid_request', 'store_id')
        const shown = { account: owner, project, store_id: store_id ?? 'made', ...about }
        stores.push({ shown, items: [], purchases: [], erased: new Set(), deleted: new Set() })
        log('store.create')
        return shown
      })
    },
    getStore({ store_id }) {
      const store = findStore(store_id)
      if (!store) throw new Refusal('store_not_found')
      return store.shown
    },
    listStores({ project: index }) {
      const { project } = namedProject(index, 'project_id')
      return stores.map(({ shown }) => shown).filter((shown) => shown.project === project)
    },
    createItem({ store_id, name, price, key }) {
      const store = namedStore(store_id)
      return once(key, ['item', store_id, name, Number(price)], () => {
        if (store.items.some((item) => item.name === name)) {
          throw new Refusal('invalid_request', 'name')
        }
        const { account, project } = store.shown
        const item = {
          ...{ item: items.length, account, project, store_id, name, display_name: 'An item' },
          ...{ description: '', price: Number(price), type: 'consumable', metadata: {} },
          ...{ version: 1, isArchived: false },
        }
        store.items.push(item)
        items.push(item)
        log('item.create')
        return { ...item }
      })
    },
    getItem: ({ item }) => ownItem(item),
    updateItem({ item: index, price, version }) {
      const item = ownItem(index)
      if (version !== undefined && version !== item.version) throw new Refusal('version_conflict')
      if (price !== undefined && Number(price) !== item.price) {
        item.price = Number(price)
        item.version++
        log('item.update')
      }
      return item
    },
    archiveItem: ({ item }) => setArchived(item, true),
    restoreItem: ({ item }) => setArchived(item, false),
    listItems({ store_id, limit, archived = false }) {
      const { items } = namedStore(store_id)
      const shown = items.filter(({ isArchived }) => isArchived === archived)
      return pagesOf(shown, limit)
    },
    import({ store_id, rows, dryRun }) {
      const store = namedStore(store_id)
      const { status, store_config } = store.shown
      if (status === 'disabled' || status === 'archived') throw new Refusal('store_inactive')
      const currency = store_config.currency as string | undefined
      const { lines, summary, purchases } = importRows(rows, store, currency, imports)
      if (lines.length > 0) throw new Refusal('invalid_purchases', ...lines)
      if (dryRun || summary.rows === 0) return { ...summary, import: undefined }
      const answer = { ...summary, import: imports++ }
      if (summary.added + summary.updated === 0) return answer
      store.purchases.splice(0, Number.POSITIVE_INFINITY, ...purchases)
      log('purchases.import')
      return answer
    },
    listPurchases({ store_id, limit, filter, newest_first }) {
      const { purchases } = namedStore(store_id)
      const wanted = purchases.filter(
        (each) =>
          each.sku === (filter.sku ?? each.sku) &&
          each.user_id === (filter.user_id ?? each.user_id) &&
          each.status === (filter.status ?? each.status) &&
          each.purchased_at >= (filter.from ?? '') &&
          each.purchased_at < (filter.to ?? '9'),
      )
      const shown = wanted.map((purchase) => ({ ...purchase, store_id, metadata: {} }))
      return pagesOf(newest_first ? shown.reverse() : shown, limit)
    },
    summarize({ store_id, by }) {
      const wanted = store_id === undefined ? ownStores() : [namedStore(store_id)]
      const purchases = wanted.flatMap(({ shown, purchases }) =>
        purchases.map((each) => ({ ...each, shown, user: `${shown.project} ${each.user_id}` })),
      )
      type Placed = (typeof purchases)[number]
      const month = ({ transaction_id }: Placed) => timeOf(transaction_id).slice(0, 7)
      const currency = ({ currency = '' }: Placed) => currency
      const places: { readonly [name: string]: (each: Placed) => string } = by
        ? { store_id: ({ shown }) => shown.store_id, month, currency }
        : { month, sku: ({ sku }) => sku, currency }
      const placeOf = (each: Placed) =>
        Object.entries(places).map(([name, of]) => [name, of(each)] as const)
      const keyOf = (each: Placed) => placeOf(each).join(' ')
      return [...new Set(purchases.map(keyOf))].sort().map((key) => {
        const group = purchases.filter((each) => keyOf(each) === key)
        const of = (status: string) => group.filter((each) => each.status === status)
        const total = (status: string) =>
          String(of(status).reduce((sum, { price = 0 }) => sum + BigInt(price), 0n))
        const users = of('purchased').filter(({ user_id }) => user_id !== undefined)
        return {
          ...Object.fromEntries(placeOf(group[0] as Placed)),
          ...{ revenue: total('purchased'), refunded_total: total('refunded') },
          ...{ purchased: of('purchased').length, pending: of('pending').length },
          ...{ refunded: of('refunded').length, cancelled: of('cancelled').length },
          buyers: new Set(users.map(({ user }) => user)).size,
        }
      })
    },
    eraseUser({ project: index, user_id, deletes }) {
      const { project } = namedProject(index, 'project_id')
      let count = 0
      for (const { shown, purchases, erased, deleted } of stores) {
        if (shown.project !== project) continue
        const own = purchases.filter((each) => each.user_id === user_id)
        for (const { transaction_id } of own) (deletes ? deleted : erased).add(transaction_id)
        const kept = purchases.flatMap((each) => {
          if (each.user_id !== user_id) return [each]
          return deletes ? [] : [{ ...each, user_id: undefined }]
        })
        purchases.splice(0, Number.POSITIVE_INFINITY, ...kept)
        count += own.length
      }
      log('users.erase')
      return count
    },
    listAudit: ({ limit }) => pagesOf(audit, limit),
    listOwnAudit({ limit }) {
      const own = audit.filter(({ account }) => account === owner)
      return pagesOf(own.reverse(), limit)
    },
  }

  return (action): Outcome => {
    const { do: name, caller, ...input } = action as { do: keyof ModelHandlers; caller?: Caller }
    try {
      if (caller) setCaller(caller)
      return { ok: plain(handlers[name](input as never)) }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return { error: error.code, at: sorted(error.at) }
    }
  }
}

/** Splits a list into pages. An empty list is one page. */
function pagesOf<T>(list: readonly T[], limit = 100): T[][] {
  const pages = [list.slice(0, limit)]
  for (let at = limit; at < list.length; at += limit) pages.push(list.slice(at, at + limit))
  return pages
}
