import assert from 'node:assert/strict'
import { describe, type TestContext, test as testOnce } from 'node:test'
import { createTill, KEY_SCOPES, type KeyScope, type Storage, type Till } from '../../lib/index.ts'
import { operations as rows } from '../../lib/operations.ts'
import { collect } from '../support/collect.ts'
import { testOnEach as test } from '../support/databases.ts'
import { type Operation, operations } from '../support/openapi/document.ts'
import { createManagedShop, exampleOf } from '../support/openapi/requests.ts'
import { assertProblem, startServer } from '../support/server.ts'
import { openStorage } from '../support/till.ts'

/** Every operation that takes an account key: the three endpoints and the management API. */
const OPERATIONS = operations.filter(({ scheme }) => scheme === 'accountKey')

/** Operations that any key may call. */
const OPEN = ['getAccount']

/** Operations that write nothing, though they are no GET. */
const READS = ['planCatalog', 'checkToken', 'explainFile']

const BOW = { name: 'bow', display_name: 'Bow', price: '99', type: 'consumable' }

/** Bodies in place of the examples: one key sets a scope that it has, and the catalog has a change. */
const BODIES: { readonly [id: string]: object } = {
  addKey: { scopes: ['admin'] },
  changeKey: { scopes: ['admin'] },
  applyCatalog: { catalog: { stores: [{ store_id: 'main', items: [BOW] }] } },
}

function scopeOf({ id, scopes }: Operation): KeyScope | undefined {
  assert.equal(scopes.length, OPEN.includes(id) ? 0 : 1, id)
  return scopes[0] as KeyScope | undefined
}

/** A server on a storage, and a shop with a key for each scope. */
async function startShop(t: TestContext, wrap = (storage: Storage) => storage) {
  const storage = await openStorage()
  const owner = createTill({ storage })
  const shop = await createManagedShop(owner)
  const server = await startServer(t, { storage: wrap(storage), options: { manage: true } })
  const { account } = shop
  const keys: { [scope: string]: string } = {}
  for (const scope of KEY_SCOPES) {
    const added = await owner.accounts.addKey(account, { name: scope, scopes: [scope] })
    keys[scope] = added.account_key
  }
  const ask = (operation: Operation, scope: KeyScope) => {
    const { line, parts } = exampleOf(operation, shop)
    const { [operation.id]: json = parts.json } = BODIES
    return server.send(line, { ...parts, json, account_key: keys[scope] })
  }
  const entries = async () => (await collect(owner.operator.allAudit({}))).length
  return { ...server, owner, shop, keys, ask, entries }
}

testOnce(
  'every operation states the scope of its row, and the three endpoints need `catalog`',
  () => {
    const stated = OPERATIONS.map((each) => [each.id, scopeOf(each) ?? 'any'])
    const expected = rows.map(({ id, scope }) => [id, scope])
    const endpoints = ['createItem', 'createProject', 'createStore'].map((id) => [id, 'catalog'])
    assert.deepEqual(stated.sort(), [...expected, ...endpoints].sort())
  },
)

test('each operation answers a key with its scope, and refuses a key with only another one', async (t) => {
  const { ask, entries } = await startShop(t)
  for (const operation of OPERATIONS) {
    const needed = scopeOf(operation)
    const before = await entries()
    for (const scope of KEY_SCOPES.filter((each) => needed && each !== needed)) {
      const reply = await ask(operation, scope)
      const problem = assertProblem(reply, 401, 'insufficient_scope')
      const cell = `${operation.id} with ${scope}`
      assert.equal(problem.detail, `The account key does not have the scope ${needed}`, cell)
      const challenge = 'AccountKey realm="tillkit", error="insufficient_scope"'
      assert.equal(reply.headers.get('www-authenticate'), challenge, cell)
    }
    assert.equal(await entries(), before, operation.id)
    for (const scope of needed ? [needed] : KEY_SCOPES) {
      const reply = await ask(operation, scope)
      assert.equal(reply.status, 200, `${operation.id} with ${scope}: ${reply.text}`)
    }
  }
})

test('the transaction of a write refuses a key that has lost the scope meanwhile', async (t) => {
  const { ask, entries } = await startShop(t, withOutdatedKeys)
  const writes = OPERATIONS.filter(({ id, method }) => method !== 'GET' && !READS.includes(id))
  const before = await entries()
  for (const operation of writes) {
    const needed = scopeOf(operation)
    for (const scope of KEY_SCOPES.filter((each) => each !== needed)) {
      const problem = assertProblem(await ask(operation, scope), 401, 'insufficient_scope')
      const message = `The account key does not have the scope ${needed}`
      assert.equal(problem.detail, message, `${operation.id} with ${scope}`)
    }
  }
  assert.equal(await entries(), before)
})

test('a key that has lost the scope meanwhile learns nothing from the error of its request', async (t) => {
  const { send, keys } = await startShop(t, withOutdatedWrites)
  const item = { ...BOW, store_id: 'none' }
  const reply = await send('POST /api/v1/items', { account_key: keys.read as string, json: item })
  assertProblem(reply, 401, 'insufficient_scope')
})

/** A storage that lets keys begin a write, as before another server has limited them. */
function withOutdatedWrites(storage: Storage): Storage {
  return { ...storage, stale: withOutdatedKeys(storage).stale }
}

/** A storage whose keys seem to have all scopes, as before another server has limited them. */
function withOutdatedKeys(storage: Storage): Storage {
  const findAccountByKeyHash: Storage['findAccountByKeyHash'] = async (hash) => {
    const { scopes: _, ...found } = (await storage.findAccountByKeyHash(hash)) ?? {}
    return 'key_id' in found ? (found as never) : undefined
  }
  return { ...storage, findAccountByKeyHash, stale: { ...storage.stale, findAccountByKeyHash } }
}

/** The methods of the library that are no operation, and the scope of each. */
const FURTHER: { readonly [method: string]: KeyScope } = {
  'accounts.addKey': 'admin',
  'accounts.listKeys': 'admin',
  'accounts.pageOfKeys': 'admin',
  'accounts.listAudit': 'admin',
  'accounts.updateKey': 'admin',
  'accounts.revokeKey': 'admin',
  'projects.hasUnconfirmedWebhook': 'read',
  'projects.listSecrets': 'read',
  'projects.all': 'read',
  'stores.listSecrets': 'read',
  'stores.all': 'read',
  'items.getByName': 'read',
  'items.all': 'read',
  'sessions.issue': 'tokens',
  'sessions.check': 'tokens',
  'sessions.revoke': 'tokens',
  'purchases.import': 'purchases',
  'purchases.all': 'read',
  'purchases.export': 'read',
  'imports.all': 'read',
  'webhooks.all': 'admin',
  'webhooks.log': 'admin',
}

/** The methods without a caller that is an account. */
const WITHOUT_ACCOUNT =
  /^accounts\.(create|createIfMissing|get|list|all|ownerOf)$|authenticate$|^sessions\.(init|token|accessToken|isExpired)$/

function methodsOf(till: Till) {
  const { accounts, projects, stores, items, catalog, purchases, imports, sessions, users } = till
  const nouns = { accounts, projects, stores, items, catalog, purchases, imports, sessions, users }
  return Object.entries({ ...nouns, webhooks: till.webhooks }).flatMap(([noun, methods]) =>
    Object.entries(methods)
      .map(([verb, call]) => [`${noun}.${verb}`, call as (...args: unknown[]) => unknown] as const)
      .filter(([name]) => !WITHOUT_ACCOUNT.test(name)),
  )
}

describe('the library', () => {
  test('refuses a method for a key without its scope, before it reads the input', async (t) => {
    const { owner: till, keys } = await startShop(t)
    for (const [name, call] of methodsOf(till)) {
      const row = rows.find((each) => each.name === name)
      const needed = row?.scope ?? FURTHER[name] ?? assert.fail(`the scope of ${name}`)
      for (const scope of KEY_SCOPES) {
        const key = await till.accounts.authenticate(keys[scope])
        const run = async () => {
          const input = name === 'accounts.addKey' ? { scopes: [scope] } : { nothing: 1 }
          const result = await call(key, input)
          if (Symbol.asyncIterator in Object(result))
            await collect(result as AsyncIterable<unknown>)
        }
        const code = await run().then(
          () => undefined,
          ({ code }) => code,
        )
        const isRefused = code === 'insufficient_scope'
        assert.equal(isRefused, scope !== needed, `${name} with ${scope}: ${code}`)
      }
    }
  })
})

test('a key gets nothing through HEAD, an ETag, a cursor or the idempotency key of another key', async (t) => {
  const { send, shop, keys, entries } = await startShop(t)
  const { account_key, project_id } = shop
  const as = (scope: KeyScope) => ({ account_key: keys[scope] as string })
  const refuse = async (line: string, scope: KeyScope, parts: object = {}) => {
    const reply = await send(line, { ...as(scope), ...parts })
    assert.equal(reply.status, 401, `${line} with ${scope}: ${reply.text}`)
    assert.equal(reply.headers.get('etag'), null)
  }
  const project = `/manage/v1/projects/${project_id}`
  const seen = await send(`GET ${project}`, { account_key })
  const etag = seen.headers.get('etag') ?? ''
  await refuse(`HEAD ${project}`, 'purchases')
  await refuse(`GET ${project}`, 'purchases', { headers: { 'if-none-match': etag } })
  await refuse(`PATCH ${project}`, 'read', { headers: { 'if-match': etag }, json: {} })
  const page = await send('GET /manage/v1/purchases?store_id=main&limit=1', { account_key })
  const { next } = page.json<{ next: string }>()
  await refuse(`GET /manage/v1/purchases?store_id=main&limit=1&cursor=${next}`, 'catalog')

  const headers = { 'idempotency-key': 'once' }
  const game = { name: 'Third', bundle_id: 'com.example.third', platform: 'web' }
  const json = {
    ...game,
    account_id: shop.account_id,
    config: { webhook_url: 'https://h.example/' },
  }
  const create = (line: string, parts: object) => send(line, { headers, json, ...parts })
  const first = await create('POST /api/v1/projects', as('catalog'))
  assert.equal(first.status, 200, first.text)
  const { id } = first.json<{ id: string }>()
  const before = await entries()
  for (const scope of KEY_SCOPES.filter((each) => each !== 'catalog')) {
    await refuse('POST /api/v1/projects', scope, { headers, json })
    await refuse('POST /manage/v1/projects', scope, { headers, json })
  }
  // The owner's key gets the first answer again, and does not activate the webhook by that.
  assert.deepEqual((await create('POST /api/v1/projects', { account_key })).json(), first.json())
  assert.equal(await entries(), before)
  const hook = await send(`GET /manage/v1/webhooks/${id}`, as('admin'))
  assert.equal(hook.json<{ state: string }>().state, 'unconfirmed')
})

test('a key without admin leaves no webhook in a store where somebody turns webhooks on later', async (t) => {
  const { send, shop, keys } = await startShop(t)
  const as = (scope: KeyScope, store_config: object, store_id = 'main') =>
    send(`PATCH /manage/v1/stores/${store_id}`, {
      account_key: keys[scope] as string,
      json: { store_config },
    })
  const planted = { webhook_url: 'https://evil.example/', webhook_secret: 'planted' }
  const { project_id } = shop
  const json = { project_id, store_id: 'other', store_type: 'web', store_config: planted }
  const account_key = keys.catalog as string
  const refused = [
    await as('catalog', planted),
    await as('catalog', { webhook_secret: 'planted' }),
    await send('POST /manage/v1/stores', { account_key, json }),
    await send(`POST /manage/v1/projects/${project_id}/catalog/apply`, {
      account_key,
      json: { catalog: { stores: [{ store_id: 'main', store_config: planted }] } },
    }),
  ]
  for (const reply of refused) {
    const { errors = [] } = assertProblem(reply, 400, 'invalid_request')
    assert.match(errors[0]?.message ?? '', /must be true, because the key lacks the scope admin/)
  }

  const waiting = await as('catalog', { ...planted, webhook_enabled: true })
  assert.equal(waiting.status, 200, waiting.text)
  const off = await as('catalog', { webhook_url: planted.webhook_url, webhook_enabled: false })
  assertProblem(off, 400, 'invalid_request')
  const hook = await send(`GET /manage/v1/webhooks/${encodeURIComponent(`${project_id}/main`)}`, {
    account_key: keys.admin as string,
  })
  assert.equal(hook.json<{ state: string }>().state, 'unconfirmed')
})

test('the tokens of a key with tokens do nothing that the key may not', async (t) => {
  const { send, shop, keys } = await startShop(t)
  const { project_id } = shop
  const line = `POST /manage/v1/projects/${project_id}/tokens`
  const issue = (json: object) => send(line, { account_key: keys.tokens as string, json })
  for (const scope of ['projects:write', 'purchases:import']) {
    assertProblem(await issue({ scopes: ['items:read', scope] }), 401, 'insufficient_scope')
  }
  const { token } = (await issue({ user_id: 'ann' })).json<{ token: string }>()

  assert.equal((await send('GET /api/v1/items?store_id=main', { token })).status, 200)
  const put = await send('PUT /api/v1/projects', { token, json: { id: project_id, name: 'Mine' } })
  assertProblem(put, 401, 'insufficient_scope')
  for (const account_key of [token, `Bearer ${token}`]) {
    const reply = await send('GET /manage/v1/projects', { account_key })
    assertProblem(reply, 401, 'account_key_required')
  }
})
