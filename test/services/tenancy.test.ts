import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type Account,
  type Caller,
  createMemoryStorage,
  createTill,
  type NewItem,
  type Till,
} from '../../lib/index.ts'
import { collect, pluck } from '../support/collect.ts'
import { failureOf, fileOf } from '../support/till.ts'

/** The ids that a call names: foreign to the caller, unknown, or its own. */
interface Naming {
  readonly project: string
  readonly store: string
  readonly item: string
  readonly import: string
  readonly import_store: string
}

type Operation<C> = (till: Till, caller: C, name: Naming) => Promise<unknown>
type Operations<C> = { readonly [name: string]: Operation<C> }

const FILE = 'transaction_id,sku,purchased_at\nintruder,gold,2024-03-01T12:34:56Z\n'
const OWN_FILE = FILE.replace('intruder', 'own')
const GAME = { name: 'Game', bundle_id: 'com.example.game', platform: 'web' }
const ITEM = { display_name: 'Gold', price: '499', type: 'consumable' as const }

/** Every operation that takes the id of a project, a store or an item. */
const operations: Operations<Caller> = {
  'projects.get': ({ projects }, caller, { project }) => projects.get(caller, project),
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

/** The operations that name a record, and that only an account may call. */
const accountOperations: Operations<Account> = {
  'projects.rotateKey': ({ projects }, account, { project: id }) =>
    projects.rotateKey(account, { id }),
  'projects.listSecrets': ({ projects }, account, { project }) =>
    projects.listSecrets(account, project),
  'stores.create': ({ stores }, account, { project: project_id }) =>
    stores.create(account, { project_id, store_type: 'web' }),
  'stores.update': ({ stores }, account, { store: store_id }) =>
    stores.update(account, { store_id, is_sandbox: true }),
  'stores.listSecrets': ({ stores }, account, { store }) => stores.listSecrets(account, store),
  'items.create': ({ items }, account, { store: store_id }) =>
    items.create(account, { ...ITEM, store_id, name: 'intruder' }),
  'items.update': ({ items }, account, { item: id }) => items.update(account, { id, price: '1' }),
  'items.archive': ({ items }, account, { item }) => items.archive(account, item),
  'items.restore': ({ items }, account, { item }) => items.restore(account, item),
  'items.history': ({ items }, account, { item: id }) => items.history(account, { id }),
  'items.getByName': ({ items }, account, { store }) => items.getByName(account, store, 'gold'),
  'purchases.record': ({ purchases }, account, { store: store_id }) => {
    const sale = { store_id, transaction_id: 'intruder', sku: 'gold' }
    return purchases.record(account, { ...sale, purchased_at: '2024-03-01T12:34:56Z' })
  },
  'purchases.list': ({ purchases }, account, { store: store_id }) =>
    purchases.list(account, { store_id }),
  'purchases.list of an import': ({ purchases }, account, { import_store, import: import_id }) =>
    purchases.list(account, { store_id: import_store, import_id }),
  'purchases.all': ({ purchases }, account, { store: store_id }) =>
    collect(purchases.all(account, { store_id })),
  'purchases.export': ({ purchases }, account, { store: store_id }) =>
    collect(purchases.export(account, { store_id })),
  'purchases.summarize': ({ purchases }, account, { store: store_id }) =>
    purchases.summarize(account, { store_id }),
  'purchases.owned': ({ purchases }, account, { store: store_id }) =>
    purchases.owned(account, { store_id, user_id: 'player' }),
  'imports.list': ({ imports }, account, { store: store_id }) =>
    imports.list(account, { store_id }),
  'imports.get': ({ imports }, account, { import: id }) => imports.get(account, id),
  'imports.undo': ({ imports }, account, { import: import_id }) =>
    imports.undo(account, { import_id }),
  'catalog.export': ({ catalog }, account, { project: project_id }) =>
    collect(catalog.export(account, { project_id })),
  'catalog.plan': ({ catalog }, account, { project: project_id }) =>
    catalog.plan(account, { project_id, catalog: {} }),
  'catalog.apply': ({ catalog }, account, { project: project_id }) =>
    catalog.apply(account, { project_id, catalog: { project: { name: 'Taken over' } } }),
  'sessions.issue': ({ sessions }, account, { project: project_id }) =>
    sessions.issue(account, { project_id }),
  'sessions.revoke': ({ sessions }, account, { project: project_id }) =>
    sessions.revoke(account, { project_id }),
  'users.export': ({ users }, account, { project: project_id }) =>
    collect(users.export(account, { project_id, user_id: 'player' })),
  'users.erase': ({ users }, account, { project: project_id }) =>
    users.erase(account, { project_id, user_id: 'player' }),
}

/** The operations of an account that name no record. */
const ownOperations: Operations<Account> = {
  'accounts.addKey': ({ accounts }, account) => accounts.addKey(account),
  'accounts.listKeys': ({ accounts }, account) => accounts.listKeys(account),
  'accounts.revokeKey': ({ accounts }, account) => accounts.revokeKey(account, 'key_1'),
  'projects.create': ({ projects }, account) => projects.create(account, GAME),
  'projects.list': ({ projects }, account) => projects.list(account),
  'projects.all': ({ projects }, account) => collect(projects.all(account)),
}

const NOBODY: Naming = {
  ...{ project: 'prj_nobody', store: 'nobody', item: 'itm_nobody' },
  ...{ import: 'imp_no', import_store: 'nobody' },
}

describe('an account', () => {
  test('gets the same error for a foreign record as for an unknown one, in every operation', async () => {
    const { till, a, b } = await createTenants()
    const before = await everything(till, b)
    for (const [name, operation] of Object.entries({ ...operations, ...accountOperations })) {
      const foreign = await failureOf(operation(till, a.account, b.first))
      const unknown = await failureOf(operation(till, a.account, NOBODY))
      assert.deepEqual(foreign, unknown, name)
      await operation(till, a.account, a.first)
      await operation(till, a.account, a.second)
    }
    assert.deepEqual(await everything(till, b), before)
  })

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

test('no operation takes a project, an item, a store or nothing as its caller, nor a session for an account', async () => {
  const { till, a } = await createTenants()
  const session = await sessionOf(till, a.keys[0])
  const before = await everything(till, a)
  const wrong = [
    await till.projects.get(a.account, a.first.project),
    await till.items.get(a.account, a.first.item),
    await till.stores.get(a.account, 'main'),
    ...[undefined, 'acc_1'],
  ]
  // A session may ask for what its user owns.
  const { 'purchases.owned': owned, ...forAccounts } = { ...accountOperations, ...ownOperations }

  for (const caller of wrong) {
    for (const call of Object.values({ ...operations, ...forAccounts, owned })) {
      await assert.rejects((call as Operation<never>)(till, caller as never, a.first), TypeError)
    }
  }
  for (const call of Object.values(forAccounts)) {
    await assert.rejects(call(till, session as never, a.first), TypeError)
  }
  assert.deepEqual(await everything(till, a), before)
})

/** Two accounts with two projects each. The first project of each has a store `main`. */
async function createTenants() {
  const till = createTill({ storage: createMemoryStorage() })
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
  const import_store = store_ids.at(-1) ?? ''
  const request = { store_id: import_store, file: fileOf(OWN_FILE) }
  const { import_id } = await till.purchases.import(account, request)
  const naming = {
    ...{ project: id, store: store_ids[0] ?? '', item: items[0]?.id ?? '' },
    ...{ import: import_id, import_store },
  }
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
