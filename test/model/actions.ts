import type { Scope } from '../../lib/index.ts'
import { fc } from '../support/seeds.ts'

/** Names a record made so far by its position. The index wraps around; -1 is the latest. */
type Index = number

/** The caller: an account object, as the operator passes it, or the holder of a key or token. */
export type AccountCaller = { readonly by: 'operator' | 'key'; readonly index: Index }
export type AnyCaller = AccountCaller | { readonly by: 'token'; readonly index: Index }

export interface Row {
  readonly transaction_id: string
  readonly sku: string
  readonly user_id: string
  readonly quantity: string
  readonly price: string
  readonly currency: string
  readonly status: string
}

/** An item of a catalog file. A new one needs a price. */
export interface CatalogItem {
  readonly name: string
  readonly price: string | undefined
  readonly archived: boolean | undefined
}

type Config = { readonly [key: string]: unknown }

const pick = <T>(...values: T[]) => fc.constantFrom(...values)

const index = fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.nat({ max: 5 }))
const latest = fc.oneof({ weight: 3, arbitrary: fc.constant(-1) }, index)
const account = fc.record({ by: pick<'operator' | 'key'>('operator', 'key'), index })
const caller = fc.oneof(account, fc.record({ by: fc.constant('token' as const), index: latest }))

// Few values, so that names collide, keys repeat, and transactions repeat or conflict.
const store_id = pick(...Array<string>(8).fill('main'), 'two', 'Other-3_')
const oddStoreId = fc.oneof({ weight: 9, arbitrary: store_id }, pick('', 'a b', 'é', '\0'))
const status = pick(undefined, undefined, 'active', 'paused', 'disabled', 'archived', '')
const key = pick(undefined, undefined, undefined, 'k1', 'k2', '')
const limit = pick(undefined, 1, 2, 3, 1000, 0, 1001)
const user = pick('ann', 'bob', '\u{1F600}')

const projectConfig = pick<Config | undefined>(
  undefined,
  {},
  { webhook_secret: 'secret one' },
  { webhook_secret: null },
  { allowed_currencies: ['USD'] },
  { allowed_currencies: [], custom_settings: { a: [1, { b: null }], é: '\u2028' } },
  { allowed_currencies: ['usd'], webhook_url: 'ftp://x' },
  { own: '\ud800' },
)

const storeConfig = pick<Config | undefined>(
  undefined,
  { currency: 'USD' },
  { currency: 'EUR', shared_secret: 'secret two', own: { a: 1.5 } },
  { currency: 'Euro', webhook_enabled: 'yes' },
  { platform: 'steam' },
)

const row: fc.Arbitrary<Row> = fc.record({
  transaction_id: pick('a', 'b', 'c', 'd', 'é', '\u{1F600}'),
  sku: pick('gold', 'gold', 'gold', 'gold', 'gem', 'unknown'),
  user_id: pick('', '', '', '', 'ann'),
  quantity: pick('', '', '', '1', '2', '0'),
  price: pick('', '', '', '', '499', '9007199254740991', '4.99'),
  currency: pick('', '', '', '', 'USD', 'EUR', 'usd'),
  status: pick('', 'purchased', 'pending', 'refunded', 'cancelled'),
})

const consistentRow: fc.Arbitrary<Row> = row.map((each) => ({
  ...each,
  sku: 'gold',
  user_id: '',
  quantity: '',
  price: '',
  currency: '',
}))

const filter: fc.Arbitrary<{ readonly [field: string]: string }> = fc.oneof(
  fc.constant({}),
  pick<{ [field: string]: string }>(
    { sku: 'gold' },
    { user_id: 'ann' },
    { status: 'refunded' },
    { from: '2024-02-01', to: '2024-04-01T00:00:00Z' },
    { status: 'lost' },
  ),
)

/** No sum of these waits equals a lifetime: behaviour at the exact end of one is unspecified. */
const seconds = pick(0, 7, 100, 4_000, 88_000)

const SCOPES: readonly Scope[] = ['items:read', 'projects:write', 'purchases:import']

/** The fields of each operation. They contain no ids or tokens, which differ between storages. */
const FIELDS = {
  wait: { seconds },
  createAccount: { name: pick('Studio', 'é', '') },
  addKey: { account: index },
  revokeKey: { account: index, key: fc.nat({ max: 5 }) },
  listKeys: { account: index },
  createProject: {
    caller: account,
    account: index,
    name: pick('Game', 'é', ''),
    platform: pick('mobile', 'adroid', 'mac'),
    status,
    config: projectConfig,
    key,
  },
  updateProject: {
    caller,
    project: index,
    name: pick(undefined, 'Other', '\ud800'),
    status,
    config: projectConfig,
  },
  rotateKey: {
    caller: account,
    project: index,
    grace: pick(undefined, 0, 50, -1),
  },
  getProject: { caller, project: index },
  listProjects: { caller: account },
  createStore: {
    caller: account,
    project: index,
    store_id: fc.oneof({ weight: 4, arbitrary: oddStoreId }, fc.constant(undefined)),
    store_type: pick<'web' | 'iap' | 'custom'>('web', 'iap', 'custom'),
    is_sandbox: pick(undefined, true, false),
    status,
    config: storeConfig,
    key,
  },
  getStore: { caller, store_id },
  listStores: { caller, project: index },
  createItem: {
    caller: account,
    store_id: oddStoreId,
    name: pick('gold', 'gem', 'Silver_1', 'a', 'b', 'no name'),
    price: pick('0', '499', '00499', '4.99'),
    key,
  },
  getItem: { caller, item: latest },
  updateItem: {
    caller: account,
    item: latest,
    price: pick(undefined, '499', '599', '0599', '4.99'),
    version: pick(undefined, undefined, undefined, 1, 2, 0),
  },
  archiveItem: { caller: account, item: latest },
  restoreItem: { caller: account, item: latest },
  listItems: {
    caller,
    store_id: oddStoreId,
    limit,
    archived: pick(undefined, undefined, false, true),
  },
  catalog: {
    caller: account,
    project: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, index),
    store_id,
    items: fc.array(
      fc.record({
        name: pick('gold', 'gem', 'Silver_1', 'a', 'b'),
        price: pick('499', '599', '599', '0599', undefined, '4.99'),
        archived: pick(undefined, undefined, false, true),
      }),
      { maxLength: 3 },
    ),
    archiveMissing: fc.boolean(),
    applies: pick(true, true, true, false),
  },
  import: {
    caller,
    store_id: oddStoreId,
    rows: fc.oneof(fc.array(row, { maxLength: 4 }), fc.array(consistentRow, { maxLength: 6 })),
    dry_run: pick(false, false, true),
  },
  listPurchases: { caller: account, store_id, limit, filter },
  importExport: { caller: account, store_id },
  summarize: {
    caller: account,
    store_id: fc.option(store_id, { nil: undefined }),
    by: pick<readonly ['store', 'month'] | undefined>(undefined, ['store', 'month']),
  },
  open: {
    public_key: index,
    how: pick('accessToken', 'init', 'token'),
    user_id: fc.oneof({ weight: 6, arbitrary: user }, pick('', 'a\nb')),
  },
  authenticate: { token: latest, scope: pick<Scope | undefined>(undefined, ...SCOPES) },
  issue: {
    caller: account,
    project: index,
    user_id: fc.option(user, { nil: undefined }),
    scopes: pick<Scope[] | undefined>(undefined, ['items:read'], [...SCOPES], []),
    lifetime: pick(undefined, 60, 86_400, 59),
  },
  revoke: {
    caller: account,
    project: index,
    user_id: fc.option(user, { nil: undefined }),
  },
  eraseUser: {
    caller: account,
    project: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, index),
    user_id: pick('ann', 'ann', 'bob', ''),
    deletes: fc.boolean(),
  },
  rotateSigningKeys: {},
  listAudit: { limit: pick(1, 7, 1000) },
}

type Fields = typeof FIELDS
type Values<F> = { readonly [K in keyof F]: F[K] extends fc.Arbitrary<infer T> ? T : never }

/** An operation and its input. */
export type Action = { [D in keyof Fields]: { readonly do: D } & Values<Fields[D]> }[keyof Fields]

const kinds = Object.fromEntries(
  Object.entries(FIELDS).map(([name, fields]) => [
    name,
    fc.record({ do: fc.constant(name), ...fields }),
  ]),
) as unknown as { readonly [D in keyof Fields]: fc.Arbitrary<Action> }

const operator = { by: 'operator', index: 0 } as const

const nothing = { status: undefined, config: undefined, key: undefined }

const project = (account: Index): Action => ({
  do: 'createProject',
  caller: { by: 'operator', index: account },
  account,
  name: 'Game',
  platform: 'web',
  ...nothing,
})

const shop = (project: Index, store_id: string, name: string): Action[] => {
  const common = { caller: operator, store_id, ...nothing }
  return [
    { do: 'createStore', project, store_type: 'web', is_sandbox: false, ...common },
    { do: 'createItem', name, price: '499', ...common },
  ]
}

/** Every sequence begins with these actions, so that most later actions find existing records. */
const PRELUDE: readonly Action[] = [
  { do: 'createAccount', name: 'First' },
  { do: 'createAccount', name: 'Second' },
  ...[project(0), project(1), project(0)],
  ...shop(0, 'main', 'gold'),
  ...shop(2, 'two', 'gem'),
  { do: 'open', public_key: 0, how: 'token', user_id: 'ann' },
  {
    do: 'issue',
    caller: operator,
    project: 0,
    user_id: undefined,
    scopes: ['items:read'],
    lifetime: 86_400,
  },
]

const { wait, import: importFile, createItem, updateProject, ...others } = kinds

/** Related actions form one group, so that they meet in many orders. The last groups hold all. */
const GROUPS: readonly (readonly fc.Arbitrary<Action>[])[] = [
  [wait, others.open, others.issue, others.authenticate, others.revoke],
  [others.open, others.authenticate, others.revoke, updateProject],
  [wait, others.open, others.rotateKey, updateProject, others.authenticate],
  [wait, wait, others.createProject, others.createStore, createItem, others.listAudit],
  [createItem, others.updateItem, others.archiveItem, others.restoreItem, others.listItems],
  [others.catalog, others.catalog, createItem, others.updateItem, others.listItems],
  [importFile, importFile, importFile, others.listPurchases, others.summarize, others.importExport],
  [importFile, importFile, importFile, others.eraseUser, others.listPurchases],
  [others.open, others.authenticate, others.revoke, others.eraseUser],
  [others.createAccount, others.addKey, others.revokeKey, others.listKeys, others.getProject],
  Object.values(kinds),
  Object.values(kinds),
]

/** A new action, or the repetition of an earlier one, which often has another outcome. */
type Step = { readonly action: Action } | { readonly back: number }

const stepOf = (some: readonly fc.Arbitrary<Action>[]): fc.Arbitrary<Step> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ action: fc.oneof(...some) }) },
    { weight: 1, arbitrary: fc.record({ back: fc.nat({ max: 9 }) }) },
  )

export const actions: fc.Arbitrary<Action[]> = fc
  .constantFrom(...GROUPS)
  .chain((some) => fc.array(stepOf(some), { minLength: 1, maxLength: 30, size: 'max' }))
  .map((steps) => [...PRELUDE, ...actionsOf(steps)])

function actionsOf(steps: readonly Step[]): Action[] {
  const actions: Action[] = []
  for (const step of steps) {
    const next = 'action' in step ? step.action : actions.at(-1 - step.back)
    if (next) actions.push(next)
  }
  return actions
}
