import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type Account,
  type Caller,
  createMemoryStorage,
  createTill,
  type NewItem,
  type SessionRequest,
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

/** Every operation that takes the id of a project, a store or an item. */
const operations: Record<string, (till: Till, caller: Caller, name: Naming) => Promise<unknown>> = {
  'projects.get': (till, caller, { project }) => till.projects.get(caller, project),
  'projects.update': (till, caller, { project }) =>
    till.projects.update(caller, { id: project, name: 'Taken over' }),
  'projects.update of a config': (till, caller, { project }) =>
    till.projects.update(caller, { id: project, config: { webhook_secret: null } }),
  'stores.get': (till, caller, { store }) => till.stores.get(caller, store),
  'stores.list': (till, caller, { project }) => till.stores.list(caller, { project_id: project }),
  'stores.all': (till, caller, { project }) =>
    collect(till.stores.all(caller, { project_id: project })),
  'items.get': (till, caller, { item }) => till.items.get(caller, item),
  'items.list': (till, caller, { store }) => till.items.list(caller, { store_id: store }),
  'items.all': (till, caller, { store }) => collect(till.items.all(caller, { store_id: store })),
  'purchases.import': (till, caller, { store }) =>
    till.purchases.import(caller, { store_id: store, file: fileOf(FILE) }),
  'purchases.import as a dry run': (till, caller, { store }) =>
    till.purchases.import(caller, { store_id: store, file: fileOf(FILE), dryRun: true }),
}

/** The operations that name a record, and that only an account may call. */
const accountOperations: {
  readonly [name: string]: (till: Till, account: Account, name: Naming) => Promise<unknown>
} = {
  'projects.rotateKey': (till, account, { project }) =>
    till.projects.rotateKey(account, { id: project }),
  'projects.listSecrets': (till, account, { project }) =>
    till.projects.listSecrets(account, project),
  'stores.create': (till, account, { project }) =>
    till.stores.create(account, { project_id: project, store_type: 'web' }),
  'stores.update': (till, account, { store }) =>
    till.stores.update(account, { store_id: store, is_sandbox: true }),
  'stores.listSecrets': (till, account, { store }) => till.stores.listSecrets(account, store),
  'items.create': (till, account, { store }) =>
    till.items.create(account, { ...ITEM, store_id: store, name: 'intruder' }),
  'items.update': (till, account, { item }) => till.items.update(account, { id: item, price: '1' }),
  'items.archive': (till, account, { item }) => till.items.archive(account, item),
  'items.restore': (till, account, { item }) => till.items.restore(account, item),
  'items.history': (till, account, { item }) => till.items.history(account, { id: item }),
  'items.getByName': (till, account, { store }) => till.items.getByName(account, store, 'gold'),
  'purchases.record': (till, account, { store }) =>
    till.purchases.record(account, {
      ...{ store_id: store, transaction_id: 'intruder', sku: 'gold' },
      purchased_at: '2024-03-01T12:34:56Z',
    }),
  'purchases.list': (till, account, { store }) => till.purchases.list(account, { store_id: store }),
  'purchases.list of an import': (till, account, { import_store, import: import_id }) =>
    till.purchases.list(account, { store_id: import_store, import_id }),
  'purchases.all': (till, account, { store }) =>
    collect(till.purchases.all(account, { store_id: store })),
  'purchases.export': (till, account, { store }) =>
    collect(till.purchases.export(account, { store_id: store })),
  'purchases.summarize': (till, account, { store }) =>
    till.purchases.summarize(account, { store_id: store }),
  'imports.list': (till, account, { store }) => till.imports.list(account, { store_id: store }),
  'imports.get': (till, account, { import: id }) => till.imports.get(account, id),
  'imports.undo': (till, account, { import: import_id }) =>
    till.imports.undo(account, { import_id }),
  'catalog.export': (till, account, { project }) =>
    collect(till.catalog.export(account, { project_id: project })),
  'catalog.plan': (till, account, { project }) =>
    till.catalog.plan(account, { project_id: project, catalog: {} }),
  'catalog.apply': (till, account, { project }) =>
    till.catalog.apply(account, {
      project_id: project,
      catalog: { project: { name: 'Taken over' } },
    }),
  'sessions.issue': (till, account, { project }) =>
    till.sessions.issue(account, { project_id: project }),
  'sessions.revoke': (till, account, { project }) =>
    till.sessions.revoke(account, { project_id: project }),
  'users.export': (till, account, { project }) =>
    collect(till.users.export(account, { project_id: project, user_id: 'player' })),
  'users.erase': (till, account, { project }) =>
    till.users.erase(account, { project_id: project, user_id: 'player' }),
}

/** The operations of an account that name no record. */
const ownOperations: typeof accountOperations = {
  'accounts.addKey': (till, account) => till.accounts.addKey(account),
  'accounts.listKeys': (till, account) => till.accounts.listKeys(account),
  'accounts.revokeKey': (till, account) => till.accounts.revokeKey(account, 'key_1'),
  'projects.create': (till, account) => till.projects.create(account, GAME),
  'projects.list': (till, account) => till.projects.list(account),
  'projects.all': (till, account) => collect(till.projects.all(account)),
}

const FILE = 'transaction_id,sku,purchased_at\nintruder,gold,2024-03-01T12:34:56Z\n'
const OWN_FILE = FILE.replace('intruder', 'own')
const GAME = { name: 'Game', bundle_id: 'com.example.game', platform: 'web' }
const ITEM = { display_name: 'Gold', price: '499', type: 'consumable' as const }
const NOBODY: Naming = {
  project: 'prj_nobody',
  store: 'nobody',
  item: 'itm_nobody',
  import: 'imp_no',
  import_store: 'nobody',
}

describe('an account', () => {
  for (const [name, operation] of Object.entries({ ...operations, ...accountOperations })) {
    test(`gets the same error for a foreign record as for an unknown one: ${name}`, async () => {
      const { till, a, b } = await createTenants()
      const before = await everything(till, b)

      const foreign = await failureOf(operation(till, a.account, b.first))
      const unknown = await failureOf(operation(till, a.account, NOBODY))
      await operation(till, a.account, a.first)
      await operation(till, a.account, a.second)

      assert.deepEqual(foreign, unknown)
      assert.deepEqual(await everything(till, b), before)
    })
  }

  test('lists its own projects only', async () => {
    const { till, a, b } = await createTenants()

    const ids = (await collect(till.projects.all(a.account))).map(({ id }) => id)

    assert.deepEqual(ids, [a.first.project, a.second.project])
    assert.deepEqual((await collect(till.projects.all(b.account))).length, 2)
  })

  test('reads its own store when another account has one with the same id', async () => {
    const { till, a, b } = await createTenants()

    const [own] = (await till.items.list(a.account, { store_id: 'main' })).items
    const [others] = (await till.items.list(b.account, { store_id: 'main' })).items
    const before = await till.purchases.summarize(b.account, {})
    await till.purchases.import(a.account, { store_id: 'main', file: fileOf(FILE) })

    assert.equal(own?.project_id, a.first.project)
    assert.equal(others?.project_id, b.first.project)
    assert.equal((await till.stores.get(a.account, 'main')).project_id, a.first.project)
    assert.equal((await till.purchases.list(a.account, { store_id: 'main' })).purchases.length, 1)
    assert.deepEqual((await till.purchases.list(b.account, { store_id: 'main' })).purchases, [])
    assert.equal((await till.purchases.summarize(a.account, {})).length, 1)
    assert.deepEqual(await till.purchases.summarize(b.account, {}), before)
  })

  test('may use the store_id, item name and transaction id of another account', async () => {
    const { till, a, b } = await createTenants()
    const store = {
      project_id: a.first.project,
      store_id: b.second.store,
      store_type: 'web' as const,
    }

    await till.stores.create(a.account, store)
    await till.items.create(a.account, { ...ITEM, store_id: b.second.store, name: 'gold' })
    await till.purchases.import(b.account, { store_id: b.second.store, file: fileOf(FILE) })
    const request = { store_id: b.second.store, file: fileOf(FILE) }
    const { added } = await till.purchases.import(a.account, request)

    assert.equal(added, 1)
  })

  test('cannot create a project in another account', async () => {
    const { till, a, b } = await createTenants()
    const create = (account_id: string) =>
      failureOf(till.projects.create(a.account, { ...GAME, account_id }))

    const foreign = await create(b.account.account_id)

    assert.equal(foreign.code, 'invalid_request')
    assert.deepEqual(foreign, await create('acc_nobody'))
    assert.equal((await collect(till.projects.all(b.account))).length, 2)
  })

  test('cannot choose the account and the project of an item', async () => {
    const { till, a, b } = await createTenants()
    const { account_id } = b.account
    const item = { ...ITEM, store_id: 'main', name: 'mine' }

    for (const other of [{ account_id }, { project_id: b.first.project }]) {
      const created = till.items.create(a.account, { ...item, ...other } as NewItem)
      await assert.rejects(created, { code: 'invalid_request' })
    }
  })
})

describe('a session', () => {
  for (const [name, operation] of Object.entries(operations)) {
    test(`gets the same error for records of other accounts and projects as for unknown ones: ${name}`, async () => {
      const { till, a, b } = await createTenants()
      const session = await sessionOf(till, a.keys[0])
      const before = [await everything(till, a), await everything(till, b)]

      const unknown = await failureOf(operation(till, session, NOBODY))
      const sibling = await failureOf(operation(till, session, a.second))
      const foreign = await failureOf(operation(till, session, b.second))

      assert.deepEqual([sibling, foreign], [unknown, unknown])
      assert.deepEqual([await everything(till, a), await everything(till, b)], before)
      await operation(till, session, a.first)
    })
  }

  test('cannot list archived items', async () => {
    const { till, a } = await createTenants()
    const session = await sessionOf(till, a.keys[0])

    const listed = till.items.list(session, { store_id: 'main', archived: true })

    await assert.rejects(listed, { code: 'invalid_request', message: /archived/ })
  })

  test('lists only the stores of its own project', async () => {
    const { till, a } = await createTenants()

    const { project, stores } = await till.sessions.init(a.keys[1], { user_id: 'player' })

    assert.equal(project.id, a.second.project)
    assert.deepEqual(pluck(stores, 'store_id'), [a.second.store])
  })

  test('cannot choose its project, account or scopes', async () => {
    const { till, a, b } = await createTenants()
    const { account_id } = b.account

    for (const other of [
      { project_id: b.first.project },
      { account_id },
      { scope: 'everything' },
    ]) {
      const request = { user_id: 'player', ...other } as SessionRequest
      const token = till.sessions.token(a.keys[0], request)
      await assert.rejects(token, { code: 'invalid_request' })
    }
  })
})

test('owned purchases of a foreign store and of an unknown one fail in the same way', async () => {
  const { till, a, b } = await createTenants()
  const user = { project_id: a.first.project, user_id: 'player' }
  const { token } = await till.sessions.issue(a.account, user)
  const session = await till.sessions.authenticate(token)
  const owned = (caller: Caller, store_id: string) =>
    failureOf(till.purchases.owned(caller, { store_id, user_id: 'player' }))

  assert.deepEqual(await owned(a.account, b.second.store), await owned(a.account, 'nobody'))
  for (const { second } of [a, b]) {
    assert.deepEqual(await owned(session, second.store), await owned(session, 'nobody'))
  }
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

  for (const caller of wrong) {
    for (const call of Object.values({ ...operations, ...accountOperations, ...ownOperations })) {
      await assert.rejects(call(till, caller as never, a.first), TypeError)
    }
  }
  for (const call of Object.values({ ...accountOperations, ...ownOperations })) {
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
  return { account, first: first.naming, second: second.naming, keys: shops.map(({ key }) => key) }
}

async function createProject(till: Till, account: Account, store_ids: string[]) {
  const project = await till.projects.create(account, {
    account_id: account.account_id,
    name: 'Game',
    bundle_id: 'com.example.game',
    platform: 'mobile',
    config: { webhook_secret: 'first' },
  })
  const items = []
  for (const store_id of store_ids) {
    await till.stores.create(account, {
      project_id: project.id,
      store_id,
      store_type: 'custom',
      store_config: { api_key: 'ak_of_provider' },
    })
    items.push(await till.items.create(account, { ...ITEM, store_id, name: 'gold' }))
  }
  const store_id = store_ids.at(-1) ?? ''
  const { import_id } = await till.purchases.import(account, { store_id, file: fileOf(OWN_FILE) })
  const naming = {
    project: project.id,
    store: store_ids[0] ?? '',
    item: items[0]?.id ?? '',
    import: import_id,
    import_store: store_id,
  }
  return { key: project.public_key, naming }
}

async function sessionOf(till: Till, publicKey: string | undefined) {
  const { token } = await till.sessions.token(publicKey, { user_id: 'player' })
  return till.sessions.authenticate(token)
}

/** Every record that an account can read. */
async function everything(till: Till, { account }: { account: Account }) {
  const projects = await collect(till.projects.all(account))
  const stores = (
    await Promise.all(
      projects.map(({ id }) => collect(till.stores.all(account, { project_id: id }))),
    )
  ).flat()
  const items = await Promise.all(
    stores.flatMap(({ store_id }) =>
      [false, true].map((archived) => till.items.list(account, { store_id, archived })),
    ),
  )
  const purchases = await Promise.all(
    stores.map(({ store_id }) => till.purchases.list(account, { store_id })),
  )
  return { projects, stores, items, purchases }
}
