import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient, TillError } from '../../client/index.ts'
import { routes } from '../../http/routes.ts'
import { start } from '../support/client/shop.ts'
import { pluck } from '../support/collect.ts'
import { startServer } from '../support/server.ts'

const CSV = 'transaction_id,sku,purchased_at\nT-1,gold,2026-01-31T12:00:00Z\n'

test('each method sends a request to its endpoint, and returns the answer', async (t) => {
  const server = await startServer(t)
  const { account_id, account_key } = await server.till.accounts.create({ name: 'Studio' })
  const studio = createClient({ url: server.url, accountKey: account_key })
  const game = { account_id, name: 'Game', bundle_id: 'com.example.game', platform: 'mobile' }
  const gold = { store_id: 'main', name: 'gold', display_name: 'Gold', type: 'consumable' } as const

  const project = await studio.projects.create(game)
  const { id, public_key } = project
  const till = createClient({ url: `${server.url}/`, publicKey: public_key, userId: 'player' })
  const web = { project_id: id, store_id: 'main', store_type: 'web' } as const
  const store = await studio.stores.create(web)
  const created = await studio.items.create({ ...gold, price: '499' })
  const item = await till.items.get(created.id)
  const { import_id, ...counts } = await till.purchases.import({ store_id: 'main', file: CSV })
  const changed = await till.projects.update({ id, name: 'Game 2', config: { a: 1 } })
  const { session, stores, project: opened } = await till.sessions.init()

  assert.deepEqual(project, { ...game, id, public_key, status: 'active', config: {} })
  const { store_id, project_id, store_config, ...summary } = store
  assert.deepEqual([store_id, project_id, store_config], ['main', id, {}])
  const metadata = { price: 499, type: 'consumable', store_id: 'main', metadata: {} }
  assert.deepEqual(item, { ...created, ...metadata })
  assert.deepEqual(await till.items.list({ store_id: 'main' }), { items: [item] })
  assert.match(import_id, /^imp_/)
  assert.deepEqual(counts, { rows: 1, skipped: 0, updated: 0, repeated: 0, passed_over: 0 })
  assert.deepEqual(changed, { ...project, name: 'Game 2', config: { a: 1 } })
  assert.deepEqual([opened.name, session.expires_in_seconds], ['Game 2', 3600])
  assert.deepEqual(stores, [{ id: 'main', ...summary }])
  assert.match((await till.sessions.token()).token, /^eyJ/)
  assert.equal((await till.sessions.accessToken()).ttl_seconds, 3600)
  const called = new Set(server.log.map(({ method, route }) => `${method} ${route}`))
  const isOfTen = ({ path, description }: (typeof routes)[number]) =>
    path.startsWith('/api/v1') && !description.isExtension
  const all = routes.filter(isOfTen)
  assert.deepEqual([...called].sort(), all.map(({ method, path }) => `${method} ${path}`).sort())
})

test('without a user, the token belongs to the project', async (t) => {
  const { client, proxy, shop } = await start(t)

  const item = await client({ userId: undefined }).items.get(shop.item.id)

  assert.equal(item.name, 'gold')
  assert.deepEqual(proxy.lines(), ['GET /identity/auth/access-token', `GET /items/${shop.item.id}`])
})

test('an iterator reads all items page by page', async (t) => {
  const { client, proxy, shop } = await start(t)
  for (const name of ['b', 'c', 'd', 'e']) {
    const item = { store_id: 'main', name, display_name: name, price: '1' }
    await shop.till.items.create(shop.account, { ...item, type: 'consumable' })
  }
  const till = client()

  const names: string[] = []
  for await (const { name } of till.items.all({ store_id: 'main', limit: 2 })) names.push(name)
  const { items, next } = await till.items.list({ store_id: 'main', limit: 4 })
  const last = await till.items.list({ store_id: 'main', limit: 4, cursor: next })

  assert.deepEqual(names, ['gold', 'b', 'c', 'd', 'e'])
  assert.equal(proxy.lines().filter((line) => line.startsWith('GET /items?')).length, 5)
  assert.deepEqual(pluck([...items, ...last.items], 'name'), names)
  assert.equal(last.next, undefined)
})

test('an iterator takes only the cursor of a link, which may lead elsewhere', async (t) => {
  const { client, proxy, shop } = await start(t)
  const { id } = shop.item
  const link = `<https://evil.example/shop/api/v1/items?store_id=x&cursor=${id}>; rel="next"`
  proxy.fail('GET /items', { status: 200, headers: { link }, body: '{"items":[]}' })

  const items = client().items.all({ store_id: 'main' })

  assert.equal((await items.next()).done, true)
  assert.equal(proxy.lines().at(-1), `GET /items?limit=100&store_id=main&cursor=${id}`)
})

test('an error has the code, the fields and the ids of the server', async (t) => {
  const { client, creator, shop } = await start(t)
  const till = client()
  const bad = 'transaction_id,sku,purchased_at\nT-1,unknown,2026-01-31T12:00:00Z\n'

  await assert.rejects(till.items.get('itm_unknown'), {
    name: 'TillError',
    code: 'item_not_found',
    status: 404,
    title: 'There is no such item',
    details: [],
  })
  await assert.rejects(till.purchases.import({ store_id: 'main', file: bad }), (error) => {
    assert.ok(error instanceof TillError)
    assert.deepEqual([error.code, error.status], ['invalid_purchases', 400])
    assert.deepEqual([error.details[0]?.line, error.details[0]?.column], [2, 'sku'])
    assert.match(error.requestId ?? '', /^[\w-]{1,64}$/)
    return true
  })
  const { name, display_name, type } = shop.item
  const taken = creator().items.create({ store_id: 'main', name, display_name, type, price: '1' })
  await assert.rejects(taken, {
    code: 'invalid_request',
    details: [{ field: 'name', code: 'taken', message: 'is taken in this store' }],
  })
  await assert.rejects(client({ publicKey: 'pk_unknown' }).sessions.init(), {
    code: 'invalid_public_key',
  })
})

test('an answer that is not one of tillkit is an error that says so', async (t) => {
  const { client, proxy, shop } = await start(t)
  const till = client({ attempts: 1 })
  const answers = [
    { status: 200, body: '<html>' },
    { status: 200, body: '"text"' },
    { status: 404, body: '<html>' },
    { status: 302, headers: { location: 'https://evil.example' } },
    { status: 304 },
    { status: 502, body: 'null' },
  ]
  for (const answer of answers) {
    proxy.fail('GET /items', answer)
    const expected = { code: 'unexpected_answer', status: answer.status, message: /check the url/ }
    await assert.rejects(till.items.get(shop.item.id), expected)
  }
})

test('a call without its credential is a TypeError', async () => {
  const url = 'http://127.0.0.1:1'
  const studio = createClient({ url, accountKey: 'ak_1' })
  const project = createClient({ url, publicKey: 'pk_1' })

  await assert.rejects(
    studio.items.get('itm_1'),
    TypeError('This call needs the option publicKey of createClient'),
  )
  await assert.rejects(project.sessions.init(), /TypeError.*option userId/)
  await assert.rejects(
    project.stores.create({ project_id: 'prj_1', store_type: 'web' }),
    /TypeError.*accountKey/,
  )
})
