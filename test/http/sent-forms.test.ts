import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testOnEach } from '../support/databases.ts'
import { assertProblem, serveShop } from '../support/server.ts'
import { openStorage } from '../support/till.ts'

// What clients send that read the specification literally, or that a serializer fills in.

const URL = 'https://hooks.example.com/till'

test('null changes nothing, but removes a secret from a configuration', async (t) => {
  const shop = await serveShop(t, { options: { manage: true } })
  const { send, till, account, account_key, project_id } = shop
  const line = `PATCH /manage/v1/projects/${project_id}`
  const patch = async (json: object) => {
    const reply = await send(line, { account_key, json })
    assert.equal(reply.status, 200, reply.text)
    return reply.json<{ name: string; config: object; secrets: string[] }>()
  }
  const set = { webhook_url: URL, webhook_secret: 'secret', sandbox_enabled: true }

  await patch({ config: set })
  const same = await patch({ name: null, platform: null, status: null, config: null })
  assert.deepEqual([same.name, same.config], ['Game', { webhook_url: URL, sandbox_enabled: true }])
  assert.deepEqual(same.secrets, ['webhook_secret'])
  const config = { webhook_url: URL, sandbox_enabled: null, webhook_secret: null, own: null }
  const changed = await patch({ config })
  assert.deepEqual(changed.config, { webhook_url: URL, own: null })
  assert.deepEqual(changed.secrets, [])
  const item = {
    store_id: 'main',
    name: 'gem',
    display_name: 'Gem',
    price: '1',
    type: 'consumable',
  }
  const { id, metadata } = await till.items.create(account, { ...item, meta: null } as never)
  assert.deepEqual(metadata, {})
  const kept = await till.items.update(account, { id, meta: null, price: null } as never)
  assert.deepEqual([kept.price, kept.version], [1, 1])
})

test('metadata is meta, and a field in another spelling is refused beside the right one', async (t) => {
  const { send, till, account, account_key, project_id } = await serveShop(t)
  const gem = { store_id: 'main', name: 'gem', display_name: 'Gem', price: '1', type: 'consumable' }
  const create = (json: object) => send('POST /api/v1/items', { account_key, json })
  const same = { ...gem, meta: { a: 1 }, metadata: { a: 1 } }

  assert.equal((await create(same)).status, 200)
  const problem = assertProblem(
    await create({ ...gem, name: 'axe', meta: { a: 1 }, metadata: {} }),
    400,
    'invalid_request',
  )
  assert.equal(problem.errors?.[0]?.field, 'metadata')
  const { id, metadata } = await till.items.getByName(account, 'main', 'gem')
  assert.deepEqual(metadata, { a: 1 })
  const changed = await till.items.update(account, { id, metadata: { b: 2 } } as never)
  assert.deepEqual(changed.metadata, { b: 2 })

  const rows: [line: string, json: object, field: string, meant: string][] = [
    [
      'POST /api/v1/stores',
      { project_id, store_type: 'web', isSandbox: true },
      'isSandbox',
      'is_sandbox',
    ],
    ['POST /api/v1/items', { ...gem, Store_ID: 'main' }, 'Store_ID', 'store_id'],
    ['POST /api/v1/items', { ...gem, 'display-name': 'x' }, 'display-name', 'display_name'],
  ]
  for (const [line, json, field, meant] of rows) {
    const { errors, detail } = assertProblem(
      await send(line, { account_key, json }),
      400,
      'invalid_request',
    )
    assert.deepEqual(errors, [{ field, code: 'unknown', message: `must be spelled ${meant}` }])
    assert.equal(detail, `The field ${field} must be spelled ${meant}`)
  }
  assert.equal((await till.stores.list(account, { project_id })).stores.length, 1)
  const other = { ...gem, name: 'bow', country: 'FI', sand_box: 1 }
  assert.equal((await create(other)).status, 200)
})

for (const status of ['disabled', 'inactive', 'suspended', 'archived']) {
  test(`a store that is ${status} takes no purchase, and a project opens no session`, async (t) => {
    const { send, till, account, account_key, project_id, public_key } = await serveShop(t, {
      options: { manage: true },
    })
    const sale = { transaction_id: 'T-1', sku: 'gold', purchased_at: '2026-01-31T12:00:00Z' }

    await till.stores.update(account, { store_id: 'main', status })
    const record = await send('POST /manage/v1/stores/main/purchases', { account_key, json: sale })
    assertProblem(record, 400, 'store_inactive')
    await till.projects.update(account, { id: project_id, status })
    const init = await send('POST /api/v1/identity/auth/init', {
      public_key,
      json: { user_id: 'a' },
    })
    assertProblem(init, 400, 'project_inactive')
  })
}

testOnEach('GET /items has only the item with a name, by any of its ways', async (t) => {
  const shop = await serveShop(t, { storage: await openStorage() })
  const { send, till, account, project_id, item, token } = shop
  const gem = { name: 'gem', display_name: 'Gem', price: '1', type: 'consumable' as const }
  await till.items.create(account, { store_id: 'main', ...gem })
  const second = await till.projects.create(account, {
    ...{ name: 'Second', bundle_id: 'com.example.second', platform: 'web' },
  })
  const hidden = { project_id: second.id, store_id: 'hidden', store_type: 'web' as const }
  await till.stores.create(account, hidden)
  await till.items.create(account, { store_id: 'hidden', ...gem, name: 'gold' })
  const list = (query: string, headers = {}) =>
    send(`GET /api/v1/items?${query}`, { token, headers })
  const names = async (query: string) => {
    const reply = await list(query)
    assert.equal(reply.status, 200, reply.text)
    return reply.json<{ items: { name: string }[] }>().items.map(({ name }) => name)
  }

  assert.deepEqual(await names('store_id=main&name=gold'), ['gold'])
  assert.deepEqual(await names('store_id=main&name=gold&limit=1'), ['gold'])
  assert.deepEqual(await names('store_id=main&name=none'), [])
  const first = await list('store_id=main&name=gold')
  const etag = first.headers.get('etag') ?? ''
  assert.notEqual(etag, (await list('store_id=main&name=gem')).headers.get('etag'))
  const again = await list('store_id=main&name=gold', { 'if-none-match': etag })
  assert.equal(again.status, 304)
  assert.equal((await list('store_id=main&name=gem', { 'if-none-match': etag })).status, 200)
  await till.items.update(account, { id: item.id, price: '5' })
  assert.equal((await list('store_id=main&name=gold', { 'if-none-match': etag })).status, 200)
  await till.items.archive(account, item.id)
  assert.deepEqual(await names('store_id=main&name=gold'), [])

  const unknown = await list('store_id=none&name=gold')
  const foreign = await list('store_id=hidden&name=gold')
  assert.equal(assertProblem(foreign, 400, 'invalid_request').errors?.[0]?.field, 'store_id')
  assert.equal(foreign.json<{ detail: string }>().detail, unknown.json<{ detail: string }>().detail)
  for (const [query, field] of [
    ['store_id=main&name=gem&cursor=x', 'cursor'],
    ['store_id=main&name=gem&name=gold', 'name'],
    ['store_id=main&page=2', 'page'],
  ]) {
    const problem = assertProblem(await list(String(query)), 400, 'invalid_request')
    assert.equal(problem.errors?.[0]?.field, field)
  }
  assert.equal(project_id.startsWith('prj_'), true)
})

test('PUT /projects says that its webhook URL waits for a confirmation', async (t) => {
  const { send, till, account, project_id: id, token } = await serveShop(t)
  const put = async (json: object) => {
    const reply = await send('PUT /api/v1/projects', { token, json: { id, ...json } })
    assert.equal(reply.status, 200, reply.text)
    return reply.headers.get('webhook-status')
  }
  const config = { webhook_url: URL }

  assert.equal(await put({ name: 'New' }), null)
  assert.equal(await put({ config }), 'unconfirmed')
  assert.equal(await put({ config }), 'unconfirmed')
  await till.webhooks.confirm(account, { endpoint_id: id })
  assert.equal(await put({ config }), null)
})

test('the secrets of stores whose ids differ only in dots have variables of their own', async (t) => {
  const { till, account, project_id } = await serveShop(t)
  for (const store_id of ['a.b', 'a_b', 'a.b.c', 'a_b.c', 'a.b_c']) {
    const store_config = { webhook_secret: store_id }
    await till.stores.create(account, { project_id, store_id, store_type: 'web', store_config })
  }
  let text = ''
  for await (const chunk of till.catalog.export(account, { project_id })) text += chunk
  const variables = [...text.matchAll(/"env": "(\w+)"/g)].map(([, name]) => name)
  assert.equal(new Set(variables).size, 5, variables.join())
  assert.ok(variables.includes('A_B_WEBHOOK_SECRET'))
  for (const store_id of ['.', '..', 'a/b', '']) {
    const store = { project_id, store_id, store_type: 'web' as const }
    await assert.rejects(till.stores.create(account, store), { code: 'invalid_request' })
  }
})

test('a search beside a name is refused, because it would be ignored', async (t) => {
  const { send, account_key } = await serveShop(t, { options: { manage: true } })
  const line = 'GET /manage/v1/stores/main/items?name=gem&search=gold'
  const problem = assertProblem(await send(line, { account_key }), 400, 'invalid_request')
  assert.equal(problem.errors?.[0]?.field, 'search')
})

test('a secret of a configuration in another spelling is refused, because others could read it', async (t) => {
  const { send, account_key, token, project_id: id } = await serveShop(t)
  const project = { id, config: { webhookSecret: 's3cret' } }
  const store = { project_id: id, store_type: 'custom', store_config: { 'API-Key': 's3cret' } }
  for (const [line, parts, field, meant] of [
    ['PUT /api/v1/projects', { token, json: project }, 'config.webhookSecret', 'webhook_secret'],
    ['POST /api/v1/stores', { account_key, json: store }, 'store_config.API-Key', 'api_key'],
  ] as const) {
    const problem = assertProblem(await send(line, parts), 400, 'invalid_request')
    assert.deepEqual(problem.errors, [
      { field, code: 'unknown', message: `must be spelled ${meant}` },
    ])
  }
  const own = { id, config: { custom_settings: { webhookSecret: 1 }, other: 2 } }
  assert.equal((await send('PUT /api/v1/projects', { token, json: own })).status, 200)
})

test('a mistyped key of a configuration is refused: it was stored, and the webhook was gone', async (t) => {
  const {
    send,
    account_key,
    token,
    project_id: id,
  } = await serveShop(t, {
    options: { manage: true },
  })
  const webhook_url = 'https://game.example/hook'
  const put = (config: object) => send('PUT /api/v1/projects', { token, json: { id, config } })
  const problemsOf = async (config: object) => {
    const { errors = [] } = assertProblem(await put(config), 400, 'invalid_request')
    return errors.map(({ field, message }) => `${field} ${message}`)
  }
  for (const [typed, meant] of [
    ['webhook_ulr', 'webhook_url'],
    ['webhok_url', 'webhook_url'],
    ['webhook_uri', 'webhook_url'],
    ['webhook_ur', 'webhook_url'],
    ['webhook_secert', 'webhook_secret'],
  ] as const) {
    const expected = `config.${typed} is unknown: did you mean ${meant}?`
    assert.deepEqual(await problemsOf({ [typed]: webhook_url }), [expected])
  }
  const patch = { account_key, json: { store_config: { webhook_url, webhook_enabeld: true } } }
  const reply = await send('PATCH /manage/v1/stores/main', patch)
  const { errors } = assertProblem(reply, 400, 'invalid_request')
  assert.equal(errors?.[0]?.field, 'store_config.webhook_enabeld')
  const others = {
    webhook_url,
    webhook_urls: [webhook_url],
    webhook_id: 'x',
    webhook_retries: 3,
    webhook_ttl: 60,
    theme: 'dark',
  }
  assert.equal((await put(others)).status, 200)
  const custom = { project_id: id, store_type: 'custom', store_config: { app_key: 'x' } }
  const made = await send('POST /api/v1/stores', { account_key, json: custom })
  assert.equal(made.status, 200, 'app_key is no mistyped api_key')
})
