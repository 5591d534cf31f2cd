import assert from 'node:assert/strict'
import { describe, test as testOnce } from 'node:test'
import { type Account, type Caller, createTill, type NewItem, type Till } from '../../lib/index.ts'
import { collect, pluck } from '../support/collect.ts'
import { testOnEach as test } from '../support/databases.ts'
import { failureOf, fileOf, openStorage } from '../support/till.ts'

/** The ids that a call names: foreign to the caller, unknown, or its own. */
interface Naming {
  readonly project: string
  readonly store: string
  readonly item: string
}

type Operation = (till: Till, caller: Caller, name: Naming) => Promise<unknown>
const FILE = 'transaction_id,sku,purchased_at\nintruder,gold,2024-03-01T12:34:56Z\n'
const GAME = { name: 'Game', bundle_id: 'com.example.game', platform: 'web' }
const ITEM = { display_name: 'Gold', price: '499', type: 'consumable' as const }

/** The calls that a session may make with the id of a project, a store or an item. */
const operations: Record<string, Operation> = {
  'projects.get': ({ projects }, caller, { project }) => projects.get(caller, project),
  'projects.hasUnconfirmedWebhook': ({ projects }, caller, { project }) =>
    projects.hasUnconfirmedWebhook(caller, project),
  'projects.update': ({ projects }, caller, { project: id }) =>
    projects.update(caller, { id, name: 'Taken over', config: { webhook_secret: null } }),
  'stores.get': ({ stores }, caller, { store }) => stores.get(caller, store),
  'stores.list': ({ stores }, caller, { project: project_id }) =>
    stores.list(caller, { project_id }),
  'stores.all': ({ stores }, caller, { project: project_id }) =>
    collect(stores.all(caller, { project_id })),
  'items.get': ({ items }, caller, { item }) => items.get(caller, item),
  'items.list': ({ items }, caller, { store: store_id }) => items.list(caller, { store_id }),
  'items.all': ({ items }, caller, { store: store_id }) => collect(items.all(caller, { store_id })),
  'purchases.import': ({ purchases }, caller, { store: store_id }) =>
    purchases.import(caller, { store_id, file: fileOf(FILE) }),
  'purchases.import as a dry run': ({ purchases }, caller, { store: store_id }) =>
    purchases.import(caller, { store_id, file: fileOf(FILE), dryRun: true }),
}

const NOBODY: Naming = { project: 'prj_nobody', store: 'nobody', item: 'itm_nobody' }

/** The methods without a caller. Those of `operations` and `outbox` are the operator's. */
const WITHOUT_CALLER =
  /^accounts\.(create|createIfMissing|get|list|all|ownerOf)$|authenticate$|^sessions\.(init|token|accessToken|isExpired)$/
/** A session may ask for what its user owns. */
const OF_SESSIONS = new Set([
  ...Object.keys(operations),
  'purchases.owned',
  'projects.hasUnconfirmedWebhook',
])

type Method = [name: string, call: (...args: unknown[]) => unknown]

/** Every method of a till whose first argument is the caller. */
function methodsOf(till: Till): Method[] {
  const { accounts, projects, stores, items, catalog, purchases, imports, sessions, users } = till
  const nouns = { accounts, projects, stores, items, catalog, purchases, imports, sessions, users }
  return Object.entries({ ...nouns, webhooks: till.webhooks }).flatMap(([noun, methods]) =>
    Object.entries(methods)
      .map(([verb, call]): Method => [`${noun}.${verb}`, call])
      .filter(([name]) => !WITHOUT_CALLER.test(name)),
  )
}

describe('an account', () => {
  test('cannot choose the account or the project of a record', async () => {
    const { till, a, b } = await createTenants()
    const { account_id } = b.account
    const create = (account_id: string) =>
      failureOf(till.projects.create(a.account, { ...GAME, account_id }))
    const foreign = await create(account_id)
    assert.equal(foreign.code, 'invalid_request')
    assert.deepEqual(foreign, await create('acc_nobody'))

    const item = { ...ITEM, store_id: 'main', name: 'mine' }
    for (const other of [{ account_id }, { project_id: b.first.project }]) {
      const created = till.items.create(a.account, { ...item, ...other } as NewItem)
      await assert.rejects(created, { code: 'invalid_request' })
    }
    assert.equal((await collect(till.projects.all(b.account))).length, 2)
  })
})

describe('a session', () => {
  test('gets the same error for records of other accounts and projects as for unknown ones', async () => {
    const { till, a, b } = await createTenants()
    const session = await sessionOf(till, a.keys[0])
    const before = [await everything(till, a), await everything(till, b)]
    for (const [name, operation] of Object.entries(operations)) {
      const unknown = await failureOf(operation(till, session, NOBODY))
      const sibling = await failureOf(operation(till, session, a.second))
      const foreign = await failureOf(operation(till, session, b.second))
      assert.deepEqual([sibling, foreign], [unknown, unknown], name)
    }
    assert.deepEqual([await everything(till, a), await everything(till, b)], before)
    for (const operation of Object.values(operations)) await operation(till, session, a.first)

    const user = { project_id: a.first.project, user_id: 'player' }
    const { token } = await till.sessions.issue(a.account, user)
    const issued = await till.sessions.authenticate(token)
    const owned = (store_id: string) =>
      failureOf(till.purchases.owned(issued, { store_id, user_id: 'player' }))
    for (const { second } of [a, b]) {
      assert.deepEqual(await owned(second.store), await owned('nobody'))
    }
  })
})

testOnce('no operation takes a record as its caller, nor a session for an account', async () => {
  const { till, a } = await createTenants()
  const session = await sessionOf(till, a.keys[0])
  const before = await everything(till, a)
  const wrong = [
    await till.projects.get(a.account, a.first.project),
    await till.items.get(a.account, a.first.item),
    await till.stores.get(a.account, 'main'),
    ...[undefined, 'acc_1'],
  ]
  const methods = methodsOf(till)
  assert.ok(methods.length > 40, String(methods.length))
  for (const [name, call] of methods) {
    const callers = OF_SESSIONS.has(name) ? wrong : [...wrong, session]
    for (const caller of callers) {
      const input = /^stores\.(list|all)$/.test(name) ? { project_id: a.first.project } : {}
      const called = async () => {
        const result = await call(caller, input)
        if (Symbol.asyncIterator in Object(result)) {
          await collect(result as AsyncIterable<unknown>)
        }
      }
      await assert.rejects(called, { name: 'TypeError' }, name)
    }
  }
  assert.deepEqual(await everything(till, a), before)
})

/** Two accounts with two projects each. The first project of each has a store `main`. */
async function createTenants() {
  const till = createTill({ storage: await openStorage() })
  const a = await createTenant(till, 'a')
  const b = await createTenant(till, 'b')
  return { till, a, b: { ...b, first: { ...b.first, store: 'only_b' } } }
}

async function createTenant(till: Till, name: string) {
  const { account_key, ...account } = await till.accounts.create({ name })
  const shops = [
    await createProject(till, account, ['main', `only_${name}`]),
    await createProject(till, account, [`second_${name}`]),
  ] as const
  const [first, second] = shops
  return { account, first: first.naming, second: second.naming, keys: pluck(shops, 'key') }
}

async function createProject(till: Till, account: Account, store_ids: string[]) {
  const config = { webhook_secret: 'first' }
  const { id, public_key } = await till.projects.create(account, { ...GAME, config })
  const items = []
  for (const store_id of store_ids) {
    const store_config = { api_key: 'ak_of_provider' }
    const store = { project_id: id, store_id, store_type: 'custom' as const, store_config }
    await till.stores.create(account, store)
    items.push(await till.items.create(account, { ...ITEM, store_id, name: 'gold' }))
  }
  const naming = { project: id, store: store_ids[0] ?? '', item: items[0]?.id ?? '' }
  return { key: public_key, naming }
}

async function sessionOf(till: Till, publicKey: string | undefined) {
  const { token } = await till.sessions.token(publicKey, { user_id: 'player' })
  return till.sessions.authenticate(token)
}

/** Every record that an account can read. */
async function everything(till: Till, { account }: { account: Account }) {
  const projects = await collect(till.projects.all(account))
  const lists = projects.map(({ id }) => collect(till.stores.all(account, { project_id: id })))
  const stores = (await Promise.all(lists)).flat()
  const records = stores.flatMap(({ store_id }): Promise<unknown>[] => [
    till.items.list(account, { store_id }),
    till.items.list(account, { store_id, archived: true }),
    till.purchases.list(account, { store_id }),
  ])
  return { projects, stores, records: await Promise.all(records) }
}
