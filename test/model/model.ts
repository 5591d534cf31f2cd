import { isDeepStrictEqual } from 'node:util'
import type { Scope } from '../../lib/index.ts'
import type { AccountCaller, Action, AnyCaller, Row } from './actions.ts'
import { type Item, planCatalog } from './catalog.ts'
import { indexIn, nth, type Outcome, plain, type Runner, sorted, timeOf } from './library.ts'
import { importRows, type Purchase, rowOf } from './purchases.ts'
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
  public_key: number
  config: Config
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

interface Token {
  readonly project: number
  readonly user: string
  readonly scopes: readonly Scope[]
  readonly expires: number
  isRevoked: boolean
}

type Holder = { account: number; token?: Token }

const ALL: readonly Scope[] = ['items:read', 'projects:write', 'purchases:import']
const LEEWAY = 5
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
  const public_keys: { readonly project: number; until: number }[] = []
  const stores: Store[] = []
  const items: { readonly store: Store; readonly shown: Item }[] = []
  const tokens: Token[] = []
  const idempotencyRecords = new Map<string, { request: string; answer: unknown; until: number }>()
  const audit: { action: string; actor: string; account: number }[] = []

  const log = (action: string, actor: string, account: number) =>
    void audit.push({ action, actor, account })

  const isActive = ({ status }: { status: string }) =>
    status !== 'disabled' && status !== 'archived'

  const holderOf = (who: AnyCaller): Holder => {
    if (who.by === 'operator') return { account: indexIn(accounts, who.index) }
    if (who.by === 'token') return bearerOf(who.index)
    const key = nth(keys, who.index)
    if (!key || key.isRevoked) throw new Refusal('account_key_required')
    return { account: key.account }
  }

  const bearerOf = (index: number, scope?: Scope): Required<Holder> => {
    const token = nth(tokens, index)
    const project = token && projects[token.project]
    const holds = token && !token.isRevoked && now < token.expires + LEEWAY
    if (!holds || !project || !isActive(project)) throw new Refusal('token_required')
    if (scope && !token.scopes.includes(scope)) throw new Refusal('insufficient_scope')
    return { account: project.account, token }
  }

  const assertScope = ({ token }: Holder, scope: Scope) => {
    if (token && !token.scopes.includes(scope)) throw new Refusal('insufficient_scope')
  }

  const reaches = (holder: Holder, record: { account: number; project: number }) =>
    record.account === holder.account && (!holder.token || holder.token.project === record.project)

  const reachable = (holder: Holder, index: number): Project | undefined => {
    const project = nth(projects, index)
    return project && reaches(holder, project) ? project : undefined
  }

  const named = (holder: Holder, index: number, field: string): Project => {
    const project = reachable(holder, index)
    if (!project) throw new Refusal('invalid_request', field)
    return project
  }

  const findStore = (holder: Holder, store_id: string) =>
    stores.find((store) => store.store_id === store_id && reaches(holder, store))

  const namedStore = (holder: Holder, store_id: string): Store => {
    const store = findStore(holder, store_id)
    if (!store) throw new Refusal('invalid_request', 'store_id')
    return store
  }

  /** Repeats the first answer for an idempotency key, and otherwise runs `make`. */
  const once = (holder: Holder, key: string | undefined, request: unknown, make: () => unknown) => {
    if (key === undefined) return make()
    if (key === '') throw new Refusal('invalid_request', 'Idempotency-Key')
    const place = `${holder.account} ${key}`
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

  const issue = (project: Project, user: string, scopes = ALL, lifetime = 3_600) => {
    tokens.push({
      project: project.project,
      user,
      scopes,
      expires: now + lifetime,
      isRevoked: false,
    })
    return { token: tokens.length - 1, expires_in_seconds: lifetime }
  }

  const newPublicKey = (project: number) =>
    public_keys.push({ project, until: Number.POSITIVE_INFINITY }) - 1

  const byKey = (index: number): Project => {
    const key = nth(public_keys, index)
    const project = key && projects[key.project]
    if (!project || now >= key.until) throw new Refusal('invalid_public_key')
    if (!isActive(project)) throw new Refusal('project_inactive')
    return { ...project, public_key: indexIn(public_keys, index) }
  }

  const ownItem = (holder: Holder, index: number) => {
    const item = nth(items, index)
    if (!item || !reaches(holder, item.store)) throw new Refusal('item_not_found')
    return item
  }

  const setArchived = (caller: AccountCaller, index: number, isArchived: boolean): Item => {
    const { shown, store } = ownItem(holderOf(caller), index)
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

  const actorOf = (who: AnyCaller) => who.by

  const handlers: { [D in Action['do']]: (action: Extract<Action, { do: D }>) => unknown } = {
    wait({ seconds }) {
      now += seconds
      return 'later'
    },
    createAccount({ name }) {
      if (name === '') throw new Refusal('invalid_request', 'name')
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
      const holder = holderOf(caller)
      assertValid({
        name: name !== '',
        platform: platform !== 'mac',
        status: status !== '',
        ...projectConfigChecks(config, 'create'),
      })
      const owner = indexIn(accounts, account)
      if (owner !== holder.account) throw new Refusal('invalid_request', 'account_id')
      return once(
        holder,
        key,
        ['project', name, platform, status ?? 'active', config ?? {}],
        () => {
          const project: Project = {
            project: projects.length,
            account: owner,
            name,
            bundle_id: 'com.example.game',
            platform,
            status: status ?? 'active',
            dlscheme: '',
            public_key: newPublicKey(projects.length),
            config: config ?? {},
          }
          projects.push(project)
          log('project.create', actorOf(caller), owner)
          return { ...project }
        },
      )
    },
    updateProject({ caller, project: index, name, status, config }) {
      const holder = holderOf(caller)
      assertScope(holder, 'projects:write')
      const isAccount = holder.token === undefined
      assertValid({
        name: name !== '\ud800',
        status: isAccount ? status !== '' : status === undefined,
        ...projectConfigChecks(config, 'change'),
      })
      const project = named(holder, index, 'id')
      const before = structuredClone(project)
      project.name = name ?? project.name
      project.status = status ?? project.status
      if (config) {
        const { webhook_secret: kept } = project.config
        const { webhook_secret = kept, ...rest } = config
        project.config = webhook_secret ? { ...rest, webhook_secret } : rest
      }
      if (!isDeepStrictEqual(project, before)) {
        log('project.update', actorOf(caller), project.account)
      }
      const sent = config?.webhook_secret
      const shown = withoutSecrets(project)
      return sent ? { ...shown, config: { ...shown.config, webhook_secret: sent } } : shown
    },
    rotateKey({ caller, project: index, grace }) {
      const holder = holderOf(caller)
      assertValid({ gracePeriod: grace !== -1 })
      const project = named(holder, index, 'id')
      for (const key of public_keys) {
        if (key.project === project.project) key.until = Math.min(key.until, now + (grace ?? DAY))
      }
      project.public_key = newPublicKey(project.project)
      log('project.rotate_key', actorOf(caller), project.account)
      return withoutSecrets(project)
    },
    getProject({ caller, project: index }) {
      const project = reachable(holderOf(caller), index)
      if (!project) throw new Refusal('project_not_found')
      return withoutSecrets(project)
    },
    listProjects({ caller }) {
      const { account } = holderOf(caller)
      return projects.filter((project) => project.account === account).map(withoutSecrets)
    },
    createStore({ caller, project: index, store_id, config, key, ...sent }) {
      const holder = holderOf(caller)
      assertValid({
        store_id: store_id === undefined || /^[\w-]{1,64}$/.test(store_id),
        status: sent.status !== '',
        'store_config.currency': config?.currency !== 'Euro',
        'store_config.webhook_enabled': config?.webhook_enabled === undefined,
        'store_config.platform': sent.store_type !== 'iap' || config?.platform !== 'steam',
      })
      const { project, account } = named(holder, index, 'project_id')
      const { store_type, is_sandbox = false, status = 'active' } = sent
      const request = ['store', project, store_id, store_type, is_sandbox, status, config ?? {}]
      return once(holder, key, request, () => {
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
        return shownStore(store, store.config)
      })
    },
    getStore({ caller, store_id }) {
      const store = findStore(holderOf(caller), store_id)
      if (!store) throw new Refusal('store_not_found')
      return shownStore(store)
    },
    listStores({ caller, project: index }) {
      const { project } = named(holderOf(caller), index, 'project_id')
      return stores.filter((store) => store.project === project).map((store) => shownStore(store))
    },
    createItem({ caller, store_id, name, price, key }) {
      const holder = holderOf(caller)
      assertValid({
        store_id: isStoreId(store_id),
        name: name !== 'no name',
        price: price !== '4.99',
      })
      const store = namedStore(holder, store_id)
      return once(holder, key, ['item', store_id, name, Number(price)], () => {
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
      const holder = holderOf(caller)
      assertScope(holder, 'items:read')
      return ownItem(holder, index).shown
    },
    updateItem({ caller, item: index, price, version }) {
      const holder = holderOf(caller)
      assertValid({ price: price !== '4.99', version: version !== 0 })
      const { shown, store } = ownItem(holder, index)
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
      const holder = holderOf(caller)
      assertScope(holder, 'items:read')
      assertValid({ store_id: isStoreId(store_id), limit: isLimit(limit) })
      assertValid({ archived: !archived || !holder.token })
      const { items } = namedStore(holder, store_id)
      const shown = items.filter(({ isArchived }) => isArchived === archived)
      return pagesOf(shown, limit ?? 100)
    },
    catalog({ caller, project: index, store_id, items: listed, archiveMissing, applies }) {
      const { project, account } = named(holderOf(caller), index, 'project_id')
      const store = stores.find((each) => each.project === project && each.store_id === store_id)
      const plan = planCatalog(store, listed, archiveMissing)
      if (!applies || !store) return plan.shown
      for (const [item, { price = item.price, isArchived = item.isArchived }] of plan.changed) {
        Object.assign(item, { price, isArchived, version: item.version + 1 })
      }
      for (const { name, price, archived = false } of plan.created) {
        const shown = {
          ...{ item: items.length, account, project, store_id, name, display_name: 'An item' },
          ...{ description: '', price: Number(price), type: 'consumable', metadata: {} },
          ...{ version: 1, isArchived: archived },
        }
        store.skus.add(name)
        store.items.push(shown)
        items.push({ store, shown })
      }
      const actions = plan.shown.changes.map(([action]) => action)
      const created = actions.filter((action) => action === 'create')
      const changed = actions.filter((action) => action !== 'create')
      for (const action of [...created, ...changed]) {
        log(`item.${action}`, actorOf(caller), account)
      }
      if (actions.length > 0) log('catalog.apply', actorOf(caller), account)
      return plan.shown
    },
    import({ caller, store_id, rows, dry_run }) {
      const holder = holderOf(caller)
      assertScope(holder, 'purchases:import')
      assertValid({ store_id: isStoreId(store_id) })
      const store = namedStore(holder, store_id)
      const { summary, purchases } = imported(store, rows)
      if (dry_run || summary.added + summary.updated === 0) return summary
      store.purchases.splice(0, Number.POSITIVE_INFINITY, ...purchases)
      log('purchases.import', actorOf(caller), store.account)
      return summary
    },
    // Skips every exported row.
    importExport({ caller, store_id }) {
      const store = namedStore(holderOf(caller), store_id)
      return imported(store, store.purchases.map(rowOf)).summary
    },
    listPurchases({ caller, store_id, limit, filter }) {
      const holder = holderOf(caller)
      assertValid({ limit: isLimit(limit), status: filter.status !== 'lost' })
      const { purchases } = namedStore(holder, store_id)
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
      const holder = holderOf(caller)
      const own = stores.filter(({ account }) => account === holder.account)
      const wanted = store_id === undefined ? own : [namedStore(holder, store_id)]
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
    open({ public_key, how, user_id }) {
      const project = byKey(public_key)
      if (how === 'accessToken') return issue(project, '(project)')
      assertValid({ user_id: user_id !== '' && user_id !== 'a\nb' })
      if (how === 'token') return issue(project, user_id)
      const own = stores.filter((store) => store.project === project.project && isActive(store))
      const shown = own.map(({ store_id, store_type, is_sandbox, status }) => {
        return { store_id, store_type, is_sandbox, status }
      })
      return { project: withoutSecrets(project), stores: shown, ...issue(project, user_id) }
    },
    authenticate({ token: index, scope }) {
      const { account, token } = bearerOf(index, scope)
      const { project, user, scopes } = token
      return { account, project, user, scopes: [...scopes].sort() }
    },
    issue({ caller, project: index, user_id, scopes, lifetime }) {
      const holder = holderOf(caller)
      assertValid({ scopes: scopes?.length !== 0, lifetime: lifetime !== 59 })
      const project = named(holder, index, 'project_id')
      if (!isActive(project)) throw new Refusal('project_inactive')
      log('tokens.issue', actorOf(caller), project.account)
      return issue(project, user_id ?? '(project)', scopes, lifetime)
    },
    revoke({ caller, project: index, user_id }) {
      const { project, account } = named(holderOf(caller), index, 'project_id')
      for (const token of tokens) {
        const isMeant = user_id === undefined || token.user === user_id
        if (token.project === project && isMeant) token.isRevoked = true
      }
      log('tokens.revoke', actorOf(caller), account)
    },
    eraseUser({ caller, project: index, user_id, deletes }) {
      const holder = holderOf(caller)
      assertValid({ user_id: user_id !== '' })
      const { project, account } = named(holder, index, 'project_id')
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
    rotateSigningKeys: () => log('signing_keys.rotate', 'operator', -1),
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

/** Throws a refusal that names every invalid field. */
function assertValid(fields: { readonly [field: string]: boolean }): void {
  const wrong = Object.keys(fields).filter((field) => !fields[field])
  if (wrong.length > 0) throw new Refusal('invalid_request', ...wrong)
}

function projectConfigChecks(config: Config = {}, when: 'create' | 'change') {
  const { allowed_currencies: currencies, webhook_url: url } = config
  return {
    config: config.own !== '\ud800',
    'config.webhook_url': url !== 'ftp://x',
    'config.allowed_currencies[0]': !(Array.isArray(currencies) && currencies.includes('usd')),
    'config.webhook_secret': config.webhook_secret !== null || when === 'change',
  }
}

function isStoreId(store_id: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(store_id)
}

function isLimit(limit: number | undefined): boolean {
  return limit === undefined || (limit >= 1 && limit <= 1000)
}

function withoutSecrets(project: Project): Project {
  const { webhook_secret: _, ...config } = project.config
  return { ...project, config }
}

function shownStore(store: Store, store_config: Config = withoutStoreSecret(store.config)) {
  const { account, project, store_id, store_type, is_sandbox, status } = store
  return { account, project, store_id, store_type, is_sandbox, status, store_config }
}

function withoutStoreSecret({ shared_secret: _, ...config }: Config): Config {
  return config
}

/** Splits a list into pages. An empty list is one page. */
function pagesOf<T>(list: readonly T[], limit: number): T[][] {
  const pages = [list.slice(0, limit)]
  for (let at = limit; at < list.length; at += limit) pages.push(list.slice(at, at + limit))
  return pages
}
