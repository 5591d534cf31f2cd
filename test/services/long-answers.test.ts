import assert from 'node:assert/strict'
import type { Storage, Till } from '../../lib/index.ts'
import type { KeyedAccount } from '../../lib/storage/port.ts'
import { testOnEach as test } from '../support/databases.ts'
import { createSignal } from '../support/server.ts'
import { createClock, createShop, fileOf, openStorage } from '../support/till.ts'

const URL = 'https://hooks.example.com/'
const HEADER = 'transaction_id,sku,purchased_at,user_id\n'
const ROW = 'tx_1,gold,2024-03-01T12:34:56Z,ann\n'

/** Makes each page of a list have one record. */
function withShortPages(storage: Storage): Storage {
  const isPage = (value: unknown): value is { readonly limit: number } =>
    typeof value === 'object' && value !== null && 'limit' in value
  const entries = Object.entries(storage).map(([name, method]) => {
    if (!name.startsWith('list')) return [name, method]
    return [
      name,
      (...args: unknown[]) =>
        method(...args.map((each) => (isPage(each) ? { ...each, limit: 1 } : each))),
    ]
  })
  return Object.fromEntries(entries) as Storage
}

/** A shop with two records of each kind. Its second records have a name with `two`. */
async function createRecords(now?: () => number) {
  const storage = withShortPages(await openStorage())
  const shop = await createShop({ storage, ...(now && { now }) })
  const { till, account, account_id, project_id } = shop
  const game = { account_id, bundle_id: 'com.example.two', platform: 'mobile' }
  await till.projects.create(account, { ...game, name: 'Game two' })
  const item = { store_id: 'main', display_name: 'Item', price: '1', type: 'consumable' } as const
  await till.items.create(account, { ...item, name: 'gem_two' })
  await till.stores.create(account, { project_id, store_id: 'store_two', store_type: 'web' })
  const config = { webhook_url: URL, webhook_enabled: true }
  for (const store_id of ['main', 'store_two']) {
    await till.stores.update(account, { store_id, store_config: { ...config, currency: 'USD' } })
  }
  for (const id of ['one', 'two']) {
    const file = fileOf(HEADER, `tx_${id},gold,2024-03-01T12:34:56Z,ann\n`)
    await till.purchases.import(account, { store_id: 'main', file, fileName: `file_${id}.csv` })
  }
  const { account_key, key_id } = await till.accounts.addKey(account)
  const caller = await till.accounts.authenticate(account_key)
  const session = await till.sessions.authenticate(shop.token)
  return { ...shop, key_id, caller, session }
}

const MAIN = { store_id: 'main' }

/** The lists and exports that read several pages, with a text of their first record. */
const READS: {
  readonly [what: string]: readonly [
    first: string,
    read: (till: Till, caller: KeyedAccount, project_id: string) => AsyncIterable<unknown>,
  ]
} = {
  'projects.all': ['"name":"Game"', (till, caller) => till.projects.all(caller)],
  'stores.all': ['"main"', (till, caller, project_id) => till.stores.all(caller, { project_id })],
  'items.all': ['gold', (till, caller) => till.items.all(caller, MAIN)],
  'imports.all': ['file_one', (till, caller) => till.imports.all(caller, MAIN)],
  'webhooks.all': ['main', (till, caller) => till.webhooks.all(caller)],
  'purchases.all': ['tx_one', (till, caller) => till.purchases.all(caller, MAIN)],
  'purchases.export': ['tx_one', (till, caller) => till.purchases.export(caller, MAIN)],
  'users.export': [
    'tx_one',
    (till, caller, project_id) => till.users.export(caller, { project_id, user_id: 'ann' }),
  ],
  'catalog.export': [
    '"gold"',
    (till, caller, project_id) => till.catalog.export(caller, { project_id }),
  ],
}

/** Reads until a value contains `first`, calls `revoke`, and asserts that nothing else is read. */
async function assertEnds(
  values: AsyncIterable<unknown>,
  first: string,
  revoke: () => Promise<void>,
  code: string,
) {
  let isRevoked = false
  const read = async () => {
    for await (const value of values) {
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      assert.doesNotMatch(text, /two/)
      if (!text.includes(first)) continue
      await revoke()
      isRevoked = true
    }
  }
  await assert.rejects(read(), { code })
  assert.ok(isRevoked)
}

for (const [what, [first, read]] of Object.entries(READS)) {
  test(`${what} ends when the key of its caller is revoked`, async () => {
    const { till, account, project_id, caller, key_id } = await createRecords()
    const revoke = () => till.accounts.revokeKey(account, key_id)
    const values = read(till, caller, project_id)
    await assertEnds(values, first, revoke, 'account_key_required')
  })
}

const PERIOD = { store_id: 'main', from: '2024-01-01' } as const
const CATALOG = { project: {}, stores: [] }

/** The calls that wait for a turn, with the method of the storage that they call in it. */
const WAITS: {
  readonly [what: string]: readonly [
    method: keyof Storage,
    call: (till: Till, caller: KeyedAccount, project_id: string) => Promise<unknown>,
  ]
} = {
  'catalog.plan': [
    'findCatalogState',
    (till, caller, project_id) => till.catalog.plan(caller, { project_id, catalog: CATALOG }),
  ],
  'catalog.apply': [
    'findCatalogState',
    (till, caller, project_id) => till.catalog.apply(caller, { project_id, catalog: CATALOG }),
  ],
  'purchases.summarize': [
    'summarizePurchases',
    (till, caller) => till.purchases.summarize(caller, PERIOD),
  ],
  'purchases.overview': [
    'readTotals',
    (till, caller) => till.purchases.overview(caller, { ...PERIOD, by: 'month' }),
  ],
  'purchases.explain': [
    'listItems',
    (till, caller) => till.purchases.explain(caller, { ...MAIN, file: fileOf(HEADER, ROW) }),
  ],
  'purchases.buyers': ['countBuyers', (till, caller) => till.purchases.buyers(caller, PERIOD)],
}

/** More than the calls of one kind that run at the same time. */
const BUSY = 10

for (const [what, [method, call]] of Object.entries(WAITS)) {
  test(`${what} is refused if the key of its caller was revoked while it waited for its turn`, async () => {
    const storage = await openStorage()
    const work = storage[method] as (...args: unknown[]) => Promise<unknown>
    const [entered, opened] = [createSignal(), createSignal()]
    const waiting = async (...args: unknown[]) => {
      entered.give()
      await opened.given
      return work(...args)
    }
    const { till, account, project_id } = await createShop({
      storage: { ...storage, [method]: waiting },
    })
    const { account_key, key_id } = await till.accounts.addKey(account)
    const caller = await till.accounts.authenticate(account_key)
    const others = Array.from({ length: BUSY }, () => call(till, account, project_id))
    await entered.given
    const refused = assert.rejects(call(till, caller, project_id), { code: 'account_key_required' })

    await till.accounts.revokeKey(account, key_id)
    opened.give()

    await refused
    await Promise.all(others)
  })
}

const ENDS: {
  readonly [what: string]: (
    records: Awaited<ReturnType<typeof createRecords>>,
    clock: ReturnType<typeof createClock>,
  ) => Promise<unknown>
} = {
  'is revoked': ({ till, account, project_id }) =>
    till.sessions.revoke(account, { project_id, user_id: 'player' }),
  expires: async ({ session }, { pass }) => pass((session.exp - session.iat + 6) * 1000),
}

for (const [what, end] of Object.entries(ENDS)) {
  test(`items.all ends when the token of its caller ${what}`, async () => {
    const clock = createClock()
    const records = await createRecords(clock.now)
    const { till, session } = records
    const values = till.items.all(session, MAIN)
    await assertEnds(values, 'gold', async () => void (await end(records, clock)), 'token_required')
  })
}
