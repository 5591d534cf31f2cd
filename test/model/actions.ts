import { fc } from '../support/seeds.ts'

/** Names a record made so far by its position. The index wraps around; -1 is the latest. */
type Index = number

/** The caller: an account object, as the operator passes it, or the holder of a key. */
export type Caller = { readonly by: 'operator' | 'key'; readonly index: Index }

export interface Row {
  readonly transaction_id: string
  readonly sku: string
  readonly user_id: string
  readonly quantity: string
  readonly price: string
  readonly currency: string
  readonly status: string
}

type Config = { readonly [key: string]: unknown }

const pick = <T>(...values: T[]) => fc.constantFrom(...values)

const index = fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.nat({ max: 5 }))
const latest = fc.oneof({ weight: 3, arbitrary: fc.constant(-1) }, index)
const caller = fc.record({ by: pick<'operator' | 'key'>('operator', 'key'), index })

// Few values, so that names collide, keys repeat, and transactions repeat or conflict. All are valid:
// test/domain has the others.
const store_id = pick(...Array<string>(8).fill('main'), 'two', 'Other-3_')
const status = pick(undefined, undefined, 'active', 'paused', 'disabled', 'archived')
const key = pick(undefined, undefined, undefined, 'k1', 'k2')
const limit = pick(undefined, 1, 2, 3, 1000)

const projectConfig = pick<Config | undefined>(
  undefined,
  {},
  { allowed_currencies: ['USD', 'EUR'] },
  { allowed_currencies: [], custom_settings: { a: [1, { b: null }], é: '\u2028' } },
)

const storeConfig = pick<Config | undefined>(
  undefined,
  { currency: 'USD' },
  { currency: 'EUR', own: { a: 1.5 } },
)

const row: fc.Arbitrary<Row> = fc.record({
  transaction_id: pick('a', 'b', 'c', 'd', 'é', '\u{1F600}'),
  sku: pick('gold', 'gold', 'gold', 'gold', 'gem', 'unknown'),
  user_id: pick('', '', '', '', 'ann'),
  quantity: pick('', '', '', '1', '2'),
  price: pick('', '', '', '', '499', '9007199254740991'),
  currency: pick('', '', '', '', 'USD', 'EUR'),
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
  ),
)

/** No sum of these waits equals a lifetime: behaviour at the exact end of one is unspecified. */
const seconds = pick(0, 7, 100, 4_000, 88_000)

/**
 * The fields of each operation. They contain no ids, which differ between storages. Sessions, tokens
 * and keys of projects are left out: their rules are the same on each database, and test/services
 * has them.
 */
const FIELDS = {
  wait: { seconds },
  createAccount: { name: pick('Studio', 'é') },
  addKey: { account: index },
  revokeKey: { account: index, key: fc.nat({ max: 5 }) },
  listKeys: { account: index },
  createProject: {
    caller,
    account: index,
    name: pick('Game', 'é'),
    platform: pick('mobile', 'web'),
    status,
    config: projectConfig,
    key,
  },
  updateProject: {
    caller,
    project: index,
    name: pick(undefined, 'Other'),
    status,
    config: projectConfig,
  },
  getProject: { caller, project: index },
  listProjects: { caller },
  createStore: {
    caller,
    project: index,
    store_id: fc.oneof({ weight: 4, arbitrary: store_id }, fc.constant(undefined)),
    store_type: pick<'web' | 'iap' | 'custom'>('web', 'iap', 'custom'),
    is_sandbox: pick(undefined, true, false),
    status,
    config: storeConfig,
    key,
  },
  getStore: { caller, store_id },
  listStores: { caller, project: index },
  createItem: {
    caller,
    store_id,
    name: pick('gold', 'gem', 'Silver_1', 'a', 'b'),
    price: pick('0', '499', '00499'),
    key,
  },
  getItem: { caller, item: latest },
  updateItem: {
    caller,
    item: latest,
    price: pick(undefined, '499', '599', '0599'),
    version: pick(undefined, undefined, undefined, 1, 2),
  },
  archiveItem: { caller, item: latest },
  restoreItem: { caller, item: latest },
  listItems: { caller, store_id, limit, archived: pick(undefined, undefined, false, true) },
  import: {
    caller,
    store_id,
    rows: fc.oneof(fc.array(row, { maxLength: 4 }), fc.array(consistentRow, { maxLength: 6 })),
    dry_run: pick(false, false, true),
  },
  listPurchases: { caller, store_id, limit, filter },
  summarize: {
    caller,
    store_id: fc.option(store_id, { nil: undefined }),
    by: pick<readonly ['store', 'month'] | undefined>(undefined, ['store', 'month']),
  },
  eraseUser: {
    caller,
    project: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, index),
    user_id: pick('ann', 'ann', 'bob'),
    deletes: fc.boolean(),
  },
  listAudit: { limit: pick(1, 7, 1000) },
}

type Fields = typeof FIELDS
type Values<F> = { readonly [K in keyof F]: F[K] extends fc.Arbitrary<infer T> ? T : never }

/** An operation and its input. */
export type Action = { [D in keyof Fields]: { readonly do: D } & Values<Fields[D]> }[keyof Fields]

const kinds = Object.fromEntries(
  Object.entries(FIELDS).map(([name, fields]) => [
    name,
    fc.record({ do: fc.constant(name), ...(fields as object) }),
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
]

const { wait, import: importFile, createItem, updateProject, ...others } = kinds

/** Related actions form one group, so that they meet in many orders. The last groups hold all. */
const GROUPS: readonly (readonly fc.Arbitrary<Action>[])[] = [
  [others.createProject, updateProject, others.createStore, others.listStores, others.listAudit],
  [wait, wait, others.createProject, others.createStore, createItem, others.listAudit],
  [createItem, others.updateItem, others.archiveItem, others.restoreItem, others.listItems],
  [importFile, importFile, importFile, others.listPurchases, others.summarize],
  [importFile, importFile, importFile, others.eraseUser, others.listPurchases],
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
