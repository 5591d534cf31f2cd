import assert from 'node:assert/strict'
import {
  type Account,
  type ImportRecord,
  type Item,
  type Purchase,
  type Till,
  TillError,
} from '../../lib/index.ts'
import { collect } from '../support/collect.ts'
import { fc } from '../support/seeds.ts'
import { createShop, fileOf } from '../support/till.ts'

/** An account with two stores, and the ids of its records in order of creation. */
interface World {
  readonly till: Till
  readonly account: Account
  readonly project_id: string
  readonly items: string[]
  readonly imports: string[]
}

type Fields = { readonly [name: string]: fc.Arbitrary<unknown> }
type Values<F> = { readonly [K in keyof F]: F[K] extends fc.Arbitrary<infer T> ? T : never }

/** A call with its input. The outcome has no ids, which differ between storages. */
export interface Call {
  readonly input: object
  run(world: World): Promise<unknown>
}

function operation<F extends Fields>(
  fields: F,
  run: (world: World, input: Values<F>) => Promise<unknown>,
): fc.Arbitrary<Call> {
  return fc.record(fields).map((input) => ({
    input,
    run: (world) => run(world, input as Values<F>),
  })) as fc.Arbitrary<Call>
}

export async function createWorld(till: Till): Promise<World> {
  const { account, project_id, item } = await createShop(till)
  await till.stores.create(account, { project_id, store_id: 'side', store_type: 'web' })
  return { till, account, project_id, items: [item.id], imports: [] }
}

/** What a caller learns from a call: its result, or the error. */
export async function outcomeOf(call: Promise<unknown>): Promise<object> {
  try {
    return { ok: await call }
  } catch (error) {
    if (!(error instanceof TillError)) throw error
    return { code: error.code, details: error.details }
  }
}

/** Returns the entry at an index that wraps around; -1 is the last one. */
function nth(list: readonly string[], index: number): string {
  return list[(index + list.length) % list.length] ?? 'none'
}

/** The position of an id in a list. Appends the id when it is new. */
function placeOf(list: string[], id: string): number {
  if (!list.includes(id)) list.push(id)
  return list.indexOf(id)
}

function shownItem({ items }: World, item: Item) {
  const { id, project_id: _, account_id: __, ...rest } = item
  return { ...rest, item: placeOf(items, id) }
}

function shownPurchase({ imports }: World, { import_id, ...purchase }: Purchase) {
  return { ...purchase, import: placeOf(imports, import_id) }
}

function shownImport({ imports }: World, record: ImportRecord) {
  const { import_id, actor: _, created_at: __, finished_at: ___, ...rest } = record
  return { ...rest, import: placeOf(imports, import_id) }
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

// Few values, so that names collide, and transactions repeat or conflict. All are valid:
// test/domain has the others.
const pick = <const T>(...values: T[]) => fc.constantFrom(...values)
const store_id = pick('main', 'main', 'main', 'side')
const index = fc.oneof({ weight: 3, arbitrary: fc.constant(-1) }, fc.nat({ max: 5 }))
const limit = pick(undefined, 1, 2, 3)
const price = pick(undefined, '499', '599')
const user_id = pick('ann', 'ann', 'bob')

const row = fc.record({
  transaction_id: pick('a', 'b', 'c', 'd', 'é', '\u{1F600}'),
  sku: pick('gold', 'gold', 'gold', 'gold', 'gem'),
  user_id: pick('', '', '', 'ann', 'bob'),
  quantity: pick('', '', '', '1', '2'),
  price: pick('', '', '', '', '499', '9007199254740991'),
  currency: pick('', '', '', '', 'USD', 'EUR'),
  status: pick('', 'purchased', 'pending', 'refunded', 'cancelled'),
  expires_at: pick('', '', '2026-01-02T00:00:00Z'),
})
const alike = { sku: 'gold', user_id: '', quantity: '', price: '', currency: '', expires_at: '' }
const rows = fc.oneof(
  fc.array(row, { maxLength: 4 }),
  fc.array(
    row.map((each) => ({ ...each, ...alike })),
    { maxLength: 6 },
  ),
)
const HEADER = 'transaction_id,sku,user_id,quantity,price,currency,status,expires_at,purchased_at\n'

/** The 15th of a month from January to April 2024, chosen by the id. */
function timeOf(transaction_id: string): string {
  return `2024-0${1 + ((transaction_id.codePointAt(0) ?? 0) % 4)}-15T12:00:00Z`
}

const filter = pick<{ readonly [field: string]: string }>(
  ...[{}, {}, {}, { sku: 'gold' }, { user_id: 'ann' }, { status: 'refunded' }],
  { from: '2024-02-01', to: '2024-04-01T00:00:00Z' },
)

const purchases = {
  import: operation(
    { store_id, rows, dryRun: pick(false, false, false, true) },
    async (world, input) => {
      const lines = input.rows.map((each) =>
        [...Object.values(each), timeOf(each.transaction_id)].join(),
      )
      const request = { store_id: input.store_id, dryRun: input.dryRun }
      const file = fileOf(HEADER, ...lines.map((line) => `${line}\n`))
      const result = await world.till.purchases.import(world.account, { ...request, file })
      const { import_id, ...summary } = result
      return { ...summary, import: placeOf(world.imports, import_id) }
    },
  ),
  record: operation({ store_id, row }, async (world, { store_id, row }) => {
    const given = Object.entries(row).filter(([, value]) => value !== '')
    const sale = {
      ...Object.fromEntries(given),
      store_id,
      purchased_at: timeOf(row.transaction_id),
    }
    const { purchase, outcome } = await world.till.purchases.record(world.account, sale as never)
    return { outcome, purchase: purchase && shownPurchase(world, purchase) }
  }),
  undo: operation(
    { import: index, force: fc.boolean() },
    async (world, { import: place, force }) => {
      const request = { import_id: nth(world.imports, place), force }
      return shownImport(world, await world.till.imports.undo(world.account, request))
    },
  ),
  erase: operation({ user_id, deletes: fc.boolean() }, async (world, { user_id, deletes }) => {
    const user = { project_id: world.project_id, user_id }
    const { till, account } = world
    return (await till.users.erase(account, user, { delete: deletes })).purchases
  }),
}

const reads = {
  list: operation(
    { store_id, limit, filter, newest_first: pick(undefined, true) },
    (world, input) => {
      const { filter, ...query } = input
      return pagesOf(
        (cursor) => world.till.purchases.list(world.account, { ...query, ...filter, cursor }),
        (page) => page.purchases.map((each) => shownPurchase(world, each)),
      )
    },
  ),
  listOfImport: operation({ store_id, import: index, filter }, async (world, input) => {
    const query = { store_id: input.store_id, import_id: nth(world.imports, input.import) }
    const all = world.till.purchases.all(world.account, { ...query, ...input.filter })
    return (await collect(all)).map((each) => shownPurchase(world, each))
  }),
  listImports: operation({ store_id, limit }, (world, query) =>
    pagesOf(
      (cursor) => world.till.imports.list(world.account, { ...query, cursor }),
      (page) => page.imports.map((each) => shownImport(world, each)),
    ),
  ),
  changes: operation({ store_id, transaction_id: pick('a', 'b', 'c') }, async (world, purchase) => {
    const { changes } = await world.till.purchases.changes(world.account, purchase)
    return changes.map(({ import_id, ...rest }) => [placeOf(world.imports, import_id), rest])
  }),
  owned: operation({ store_id, user_id, limit }, (world, query) =>
    pagesOf(
      (cursor) => world.till.purchases.owned(world.account, { ...query, cursor }),
      (page) => page.owned,
    ),
  ),
  summarize: operation(
    {
      store_id: fc.option(store_id, { nil: undefined }),
      by: fc.shuffledSubarray(['sku', 'currency', 'store', 'week'] as const),
      top: pick(undefined, undefined, 1, 2),
      filter,
    },
    async ({ till, account }, { filter, ...query }) =>
      till.purchases.summarize(account, { ...query, ...filter }),
  ),
  overview: operation(
    { store_id, by: pick('day', 'week', 'month'), from: pick(undefined, '2024-03-01') },
    async ({ till, account }, { store_id, by, from }) => {
      const overview = await till.purchases.overview(account, { store_id, by, from })
      const sums = await till.purchases.summarize(account, { store_id, by: [by], from })
      // The totals of a store agree with a summary of its purchases.
      const totals = sums.map(({ buyers: _, ...total }) => total)
      assert.deepEqual(overview.periods, totals)
      return { ...overview, ...(await till.purchases.buyers(account, { store_id, from })) }
    },
  ),
}

const name = pick('gold', 'gem', 'Silver_1', 'a', 'b')

const items = {
  create: operation({ store_id, name, price: pick('0', '499') }, async (world, input) => {
    const item = { ...input, display_name: 'An item', type: 'consumable' as const }
    return shownItem(world, await world.till.items.create(world.account, item))
  }),
  update: operation(
    { item: index, price, version: pick(undefined, undefined, 1, 2) },
    async (world, { item, ...change }) => {
      const update = { id: nth(world.items, item), ...change }
      return shownItem(world, await world.till.items.update(world.account, update))
    },
  ),
  archive: operation(
    { item: index, verb: pick('archive', 'archive', 'restore') },
    async (world, { item, verb }) =>
      shownItem(world, await world.till.items[verb](world.account, nth(world.items, item))),
  ),
  list: operation(
    { store_id, limit, archived: pick(undefined, undefined, true), search: pick(undefined, 'G') },
    (world, query) =>
      pagesOf(
        (cursor) => world.till.items.list(world.account, { ...query, cursor }),
        (page) => page.items.map((each) => shownItem(world, each)),
      ),
  ),
  applyCatalog: operation(
    { names: fc.subarray(['gold', 'gem', 'a']), price, archiveMissing: fc.boolean() },
    async ({ till, account, project_id }, { names, price, archiveMissing }) => {
      const fields = { price, display_name: 'An item', type: 'consumable' as const }
      const all = names.map((name) => ({ name, archived: false, ...fields }))
      const catalog = { stores: [{ store_id: 'main', items: all }] }
      const request = { project_id, catalog, archiveMissing }
      const applied = await till.catalog.apply(account, request as never)
      const { created, updated, archived, restored, missing, unchanged } = applied
      return { created, updated, archived, restored, missing, unchanged }
    },
  ),
  audit: operation({ limit, item: index }, async ({ till, account, items }, { limit, item }) => {
    const { account_id } = account
    const readers = [
      (page: object) => till.operations.listAudit({ account_id, ...page }),
      (page: object) => till.accounts.listAudit(account, page),
      (page: object) => till.items.history(account, { id: nth(items, item), ...page }),
    ]
    const all = readers.map((read) =>
      pagesOf(
        (cursor) => read({ limit, cursor }),
        (page) => page.entries.map(({ action }) => action),
      ),
    )
    return Promise.all(all)
  }),
}

/** Related calls form one group, so that they meet in many orders. The last groups hold all. */
const GROUPS: readonly (readonly fc.Arbitrary<Call>[])[] = [
  Object.values(items),
  [purchases.import, purchases.import, purchases.record, ...Object.values(reads)],
  [purchases.import, purchases.import, purchases.undo, reads.listImports, reads.changes],
  [...Object.values(purchases), purchases.import, reads.list, reads.owned, reads.overview],
  [...Object.values(items), ...Object.values(purchases), ...Object.values(reads)],
]

/** A new call, or the repetition of an earlier one, which often has another outcome. */
type Step = { readonly call: Call } | { readonly back: number }

const stepOf = (some: readonly fc.Arbitrary<Call>[]): fc.Arbitrary<Step> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ call: fc.oneof(...some) }) },
    { weight: 1, arbitrary: fc.record({ back: fc.nat({ max: 9 }) }) },
  )

export const calls: fc.Arbitrary<Call[]> = fc
  .constantFrom(...GROUPS)
  .chain((some) => fc.array(stepOf(some), { minLength: 1, maxLength: 30, size: 'max' }))
  .map((steps) => {
    const calls: Call[] = []
    for (const step of steps) {
      const next = 'call' in step ? step.call : calls.at(-1 - step.back)
      if (next) calls.push(next)
    }
    return calls
  })
