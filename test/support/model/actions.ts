import { fc } from '../seeds.ts'

/** Names a record made so far by its position. The index wraps around; -1 is the latest. */
type Index = number

/** The caller: an account object, as the operator passes it, or the holder of a key. */
export type Caller = { readonly by: 'operator' | 'key'; readonly index: Index }

type Config = { readonly [key: string]: unknown }

const pick = <T>(...values: T[]) => fc.constantFrom(...values)

const index = fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.nat({ max: 5 }))
const latest = fc.oneof({ weight: 3, arbitrary: fc.constant(-1) }, index)
const caller = fc.record({ by: pick<'operator' | 'key'>('operator', 'key'), index })
const operators = fc.record({ by: fc.constant('operator' as const), index })
const project = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, index)

// Few values, so that names collide, keys repeat, and transactions repeat or conflict. All are valid:
// test/domain has the others.
const store_id = pick(...Array<string>(6).fill('main'), 'two', 'two', 'two', 'Other-3_')
const anyStore = fc.option(store_id, { nil: undefined, freq: 1 })
const status = pick(undefined, undefined, 'active', 'paused', 'disabled', 'archived')
const key = pick(undefined, undefined, undefined, 'k1', 'k2')
const name = pick('Game', 'é')
const platform = pick('mobile', 'web')
const sku = pick('gold', 'gem', 'Silver_1', 'a', 'b')
const names = fc.subarray(['gold', 'gem', 'a'])
const newPrice = pick(undefined, '499', '599', '0599')
const limit = pick(undefined, 1, 2, 3, 1000)
const user_id = pick('ann', 'ann', 'bob')
const period = pick<'day' | 'week' | 'month'>('day', 'week', 'month')
const archived = pick(undefined, false, true, true)
const dryRun = pick(false, false, true)

const config = pick<Config | undefined>(
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

const [END, OTHER_END] = ['2026-01-02T00:00:00.000Z', '2026-01-03T00:00:00.000Z']

const row = fc.record({
  transaction_id: pick('a', 'b', 'c', 'd', 'é', '\u{1F600}'),
  sku: pick('gold', 'gold', 'gold', 'gold', 'gem', 'unknown'),
  user_id: pick('', '', '', '', 'ann'),
  quantity: pick('', '', '', '1', '2'),
  price: pick('', '', '', '', '499', '9007199254740991'),
  currency: pick('', '', '', '', 'USD', 'EUR'),
  status: pick('', 'purchased', 'pending', 'refunded', 'cancelled'),
  expires_at: pick('', '', END),
})

export type Row = typeof row extends fc.Arbitrary<infer R> ? R : never

const mostly = (value: string, ...others: string[]) =>
  fc.oneof({ weight: 15, arbitrary: fc.constant(value) }, pick(...others))

/** Rows that contradict one another less often. */
const consistentRow: fc.Arbitrary<Row> = fc.record({
  transaction_id: pick('a', 'a', 'a', 'b', 'c', '\u{1F600}'),
  sku: mostly('gold', 'gem'),
  user_id: mostly('ann', 'bob', ''),
  quantity: mostly('', '2'),
  price: mostly('499', '', '9007199254740991'),
  currency: mostly('USD', 'EUR'),
  status: pick('', 'purchased', 'pending', 'refunded', 'refunded', 'cancelled'),
  expires_at: pick('', END, END, OTHER_END),
})

const rows = fc.oneof(
  fc.array(row, { maxLength: 4 }),
  fc.array(consistentRow, { maxLength: 3 }),
  fc.array(consistentRow, { maxLength: 6 }),
)

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

/** The actions that the model knows. Their inputs contain no ids, which differ between storages. */
const MODELLED = {
  wait: { seconds },
  createAccount: { name },
  addKey: { caller: operators },
  revokeKey: { caller: operators, key: fc.nat({ max: 5 }) },
  listKeys: { caller: operators },
  createProject: { caller, account: index, name, platform, status, config, key },
  updateProject: { caller, project: index, name: pick(undefined, 'Other'), status, config },
  getProject: { caller, project: index },
  listProjects: { caller },
  createStore: {
    caller,
    project: index,
    store_id: fc.oneof({ weight: 4, arbitrary: store_id }, fc.constant(undefined)),
    store_type: pick<'web' | 'iap' | 'custom'>('web', 'iap', 'custom'),
    is_sandbox: pick(undefined, true, false),
    status,
    store_config: storeConfig,
    key,
  },
  getStore: { caller, store_id },
  listStores: { caller, project: index },
  createItem: { caller, store_id, name: sku, price: pick('0', '499', '00499'), key },
  getItem: { caller, item: latest },
  updateItem: { caller, item: latest, price: newPrice, version: pick(undefined, undefined, 1, 2) },
  archiveItem: { caller, item: latest },
  restoreItem: { caller, item: latest },
  listItems: { caller, store_id, limit, archived },
  import: { caller, store_id, rows, dryRun },
  listPurchases: { caller, store_id, limit, filter, newest_first: pick(undefined, true) },
  summarize: {
    caller,
    store_id: anyStore,
    by: pick<readonly ['store', 'month'] | undefined>(undefined, ['store', 'month']),
  },
  eraseUser: { caller, project, user_id, deletes: fc.boolean() },
  listAudit: { limit: pick(1, 7, 1000) },
  listOwnAudit: { caller, limit },
}

/** The actions that the model does not know. The outcomes in memory are their oracle. */
const OTHERS = {
  recordPurchase: { caller, store_id, row: consistentRow },
  undoImport: { caller, import: latest, force: fc.boolean() },
  listImports: { caller, store_id, limit },
  listOfImport: { caller, store_id, import: latest, filter },
  listChanges: { caller, store_id, transaction_id: pick('a', 'a', 'b') },
  listOwned: { caller, store_id, user_id, limit },
  summarizeTop: {
    caller,
    store_id: anyStore,
    by: fc.shuffledSubarray(['sku', 'currency', 'store', 'week'] as const),
    top: pick(undefined, undefined, 1, 2),
    filter,
  },
  overview: { caller, store_id, by: period, from: pick(undefined, '2024-03-01') },
  applyCatalog: { caller, project, names, price: newPrice, archiveMissing: fc.boolean() },
  searchItems: { caller, store_id, limit, archived, search: fc.constant('G') },
  listHistory: { caller, item: latest, limit },
}

type Modelled = typeof MODELLED
type Fields = Modelled & typeof OTHERS
type Values<F> = { readonly [K in keyof F]: F[K] extends fc.Arbitrary<infer T> ? T : never }

/** An operation and its input. */
export type Action = { [D in keyof Fields]: { readonly do: D } & Values<Fields[D]> }[keyof Fields]

/** A function for each operation, which takes the input without the caller. */
type HandlersOf<F> = {
  [D in keyof F]: (input: Omit<Values<F[D]>, 'caller'>) => unknown
}
export type Handlers = HandlersOf<Fields>
export type ModelHandlers = HandlersOf<Modelled>

const kinds = Object.fromEntries(
  Object.entries({ ...MODELLED, ...OTHERS }).map(([name, fields]) => [
    name,
    fc.record({ do: fc.constant(name), ...(fields as object) }),
  ]),
) as unknown as { readonly [D in keyof Fields]: fc.Arbitrary<Action> }

const operator = { by: 'operator', index: 0 } as const

/** Every sequence begins with these actions, so that most later actions find existing records. */
const PRELUDE = [
  ...['First', 'Second'].map((name) => ({ do: 'createAccount', name })),
  ...[0, 1, 0].map((account) => {
    const input = { account, name: 'Game', platform: 'web' }
    return { do: 'createProject', caller: { ...operator, index: account }, ...input }
  }),
  ...[
    { project: 0, store_id: 'main', name: 'gold' },
    { project: 2, store_id: 'two', name: 'gold' },
  ].flatMap(({ project, store_id, name }) => [
    { do: 'createStore', caller: operator, project, store_id, store_type: 'web' },
    { do: 'createItem', caller: operator, store_id, name, price: '499' },
  ]),
] as Action[]

const all = (operations: object) =>
  Object.keys(operations).map((name) => kinds[name as keyof Fields])
const { import: importFile, ...k } = kinds

// Related actions form one group, so that they meet in many orders. The last groups hold all.
const modelledGroups = [
  [k.createProject, k.updateProject, k.createStore, k.listStores, k.listOwnAudit],
  [k.wait, k.wait, k.createProject, k.createStore, k.createItem, k.listAudit],
  [k.createItem, k.updateItem, k.archiveItem, k.restoreItem, k.listItems],
  [importFile, importFile, k.summarize, k.listPurchases],
  [importFile, importFile, importFile, k.eraseUser, k.listPurchases],
  [k.createAccount, k.addKey, k.revokeKey, k.listKeys, k.getProject],
  ...[all(MODELLED), all(MODELLED)],
]

const sales = [importFile, importFile, k.recordPurchase]
const otherGroups = [
  [k.createItem, k.archiveItem, k.applyCatalog, k.applyCatalog, k.searchItems, k.listHistory],
  [...sales, k.undoImport, k.listImports, k.listChanges, k.listChanges, k.listPurchases],
  [...sales, k.eraseUser, k.listOwned, k.listOwned, k.overview, k.summarizeTop],
  [...sales, k.archiveItem, ...all(OTHERS)],
]

/** A new action, or sometimes the repetition of an earlier one, which often has another outcome. */
const stepOf = (some: readonly fc.Arbitrary<Action>[]) =>
  fc.record({
    action: fc.oneof(...some),
    back: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, fc.nat({ max: 9 })),
  })

const sequences = (groups: readonly (readonly fc.Arbitrary<Action>[])[], first: Action[] = []) =>
  fc
    .constantFrom(...groups)
    .chain((some) => fc.array(stepOf(some), { minLength: 1, maxLength: 30, size: 'max' }))
    .map((steps) => {
      const actions = [...first]
      for (const { action, back = actions.length } of steps) {
        actions.push(actions.at(-1 - back) ?? action)
      }
      return [...PRELUDE, ...actions]
    })

/** Sequences that the model knows. */
export const modelled = sequences(modelledGroups)

const sale = { transaction_id: 'a', sku: 'gold', user_id: 'ann', price: '499', currency: 'USD' }
const firstRow = { ...sale, quantity: '', status: 'pending', expires_at: '' }
const firstImport = { caller: operator, store_id: 'main', rows: [firstRow], dryRun: false }

/** Sequences for two storages. */
export const compared = sequences(otherGroups, [{ do: 'import', ...firstImport }])
