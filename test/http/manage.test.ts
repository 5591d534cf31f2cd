import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { manageRoutes } from '../../http/manage/routes.ts'
import { createMemoryStorage, etagOf, TillError } from '../../lib/index.ts'
import {
  assertProblem,
  createSignal,
  importForm,
  type Parts,
  type ProblemBody,
  type Reply,
  serveShop,
  startServer,
} from '../support/server.ts'
import { createShop, fileOf } from '../support/till.ts'

const SECRET = 'whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQ='
const CSV = 'transaction_id,sku,purchased_at\nT-9,gold,2026-01-31T12:00:00Z\n'

/** A server with two accounts that have the same records. */
async function startManaged(t: Parameters<typeof startServer>[0]) {
  const server = await startServer(t, {
    storage: createMemoryStorage(),
    options: { manage: true, corsOrigins: ['*'] },
  })
  const { till } = server
  const fill = async (name: string) => {
    const shop = await createShop(till, name)
    const { account, project } = shop
    const config = { webhook_url: 'https://shop.example/hook', webhook_secret: SECRET }
    await till.projects.update(account, { id: project.id, config })
    await till.stores.update(account, {
      store_id: 'main',
      store_config: { webhook_secret: SECRET, currency: 'USD' },
    })
    // The accounts' own stores have the same id, so a foreign one needs another.
    const store_id = `store-of-${name}`
    const store = { project_id: project.id, store_id, store_type: 'web' } as const
    await till.stores.create(account, store)
    const { key_id } = await till.accounts.addKey(account)
    const file = fileOf('transaction_id,sku,purchased_at\nT-1,gold,2026-01-31T12:00:00Z\n')
    const { import_id } = await till.purchases.import(account, { store_id: 'main', file })
    await till.webhooks.test(account, project.id)
    await till.outbox.claim({ holder: name })
    const { deliveries } = await till.webhooks.log(account, { endpoint_id: project.id })
    const webhook_id = deliveries[0]?.webhook_id ?? ''
    const ids = { id: project.id, webhook_id, project_id: project.id, endpoint_id: project.id }
    const more = { store_id, item_id: shop.item.id, import_id, key_id, user_id: 'ann' }
    return { ...shop, ids: { ...ids, ...more } }
  }
  const [own, foreign] = [await fill('own'), await fill('foreign')]
  const asOwn = (line: string, parts: Parts = {}) =>
    server.send(line, { account_key: own.account_key, ...parts })
  return { ...server, own, foreign, asOwn }
}

type Ids = Awaited<ReturnType<typeof startManaged>>['own']['ids']

function lineOf({ method, path }: { method: string; path: string }, ids: Ids): string {
  const target = path.replaceAll(/:(\w+)/g, (_, name) => encodeURIComponent(ids[name as 'id']))
  const query = path.endsWith('/owned') ? '?user_id=ann' : ''
  const found = /\/(v1\/purchases|status-changes)$/.test(path) ? '?transaction_id=T-1' : ''
  return `${method} ${target}${query}${found}`
}

const UNKNOWN: Ids = {
  ...{ id: 'prj_none', project_id: 'prj_none', endpoint_id: 'prj_none', store_id: 'none' },
  ...{ item_id: 'itm_none', import_id: 'imp_none', key_id: 'key_none', user_id: 'ann' },
  webhook_id: 'msg_0_none',
}

/** A valid body for each route that needs one. */
const BODIES: { readonly [id: string]: (ids: Ids) => Parts } = {
  addProject: () => ({ json: { name: 'New', bundle_id: 'com.example.new', platform: 'web' } }),
  addStore: ({ project_id }) => ({ json: { project_id, store_type: 'web' } }),
  addItem: ({ store_id }) => ({ json: { store_id, ...GEM } }),
  createImport: () => ({ body: importForm(CSV, { dry_run: 'true' }) }),
  planCatalog: () => ({ json: { catalog: { stores: [] } } }),
  applyCatalog: () => ({ json: { catalog: { stores: [] } } }),
  changeItem: () => ({ json: { price: '599' } }),
  recordPurchase: () => ({
    json: { transaction_id: 'T-5', sku: 'gold', purchased_at: '2026-01-31T12:00:00Z' },
  }),
  replayWebhook: () => ({ json: { since: '2026-01-01' } }),
}
const GEM = { name: 'gem', display_name: 'Gem', price: '99', type: 'consumable' }

const withoutRequest = ({ status, text }: Reply) => {
  const { request_id: _, ...problem } = JSON.parse(text)
  return { status, problem }
}

test('every route needs a key, and treats foreign records like unknown ones', async (t) => {
  const shared = await startManaged(t)
  for (const route of manageRoutes) {
    await t.test(route.description.id, async (t) => {
      await assertRefusals(route, shared)
      // Only a write changes the records that the other routes need.
      await assertAnswer(route, route.method === 'GET' ? shared : await startManaged(t))
    })
  }
})

type Managed = Awaited<ReturnType<typeof startManaged>>
type ManageRoute = (typeof manageRoutes)[number]

async function assertRefusals(route: ManageRoute, { send, asOwn, foreign, own }: Managed) {
  const { id } = route.description
  const partsOf = (ids: Ids) => BODIES[id]?.(ids) ?? {}
  const line = lineOf(route, own.ids)
  const session = { token: own.token, public_key: own.project.public_key }
  for (const parts of [{}, session, { account_key: 'ak_unknown' }]) {
    const refused = await send(line, { ...partsOf(own.ids), ...parts })
    assertProblem(refused, 401, 'account_key_required')
  }
  if (!route.path.includes(':') && id !== 'addStore' && id !== 'addItem') return
  const theirs = await asOwn(lineOf(route, foreign.ids), partsOf(foreign.ids))
  const nobodys = await asOwn(lineOf(route, UNKNOWN), partsOf(UNKNOWN))
  assert.ok([400, 404].includes(theirs.status), theirs.text)
  assert.deepEqual(withoutRequest(theirs), withoutRequest(nobodys))
}

async function assertAnswer(route: ManageRoute, { asOwn, own }: Managed) {
  const { id } = route.description
  const isAboutMain = id === 'recordPurchase' || id === 'createImport'
  const ids = isAboutMain ? { ...own.ids, store_id: 'main' } : own.ids
  const headers = { origin: 'https://other.example' }
  const reply = await asOwn(lineOf(route, ids), { ...BODIES[id]?.(ids), headers })
  if (id !== 'confirmWebhook') assert.equal(reply.status, 200, reply.text)
  assert.equal(reply.headers.get('cache-control'), 'no-store')
  assert.equal(reply.headers.get('access-control-allow-origin'), null)
  assert.ok(!reply.text.includes(SECRET), reply.text)
}

test('HEAD is answered like GET, and writes no audit entry', async (t) => {
  const { till, asOwn, own } = await startManaged(t)
  const count = async () => (await till.operations.listAudit({ limit: 1000 })).entries.length
  const before = await count()
  for (const route of manageRoutes.filter(({ method }) => method === 'GET')) {
    const { status } = await asOwn(lineOf(route, own.ids).replace('GET', 'HEAD'))
    assert.equal(status, 200, route.path)
  }
  assert.equal(await count(), before)
})

test('without the option, no path of the management API exists', async (t) => {
  const { till, send } = await startServer(t, { storage: createMemoryStorage() })
  const { account_key } = await till.accounts.create({ name: 'Studio' })
  for (const path of ['/manage/v1/account', '/manage/v1/projects', '/manage/v1/nothing']) {
    const reply = await send(`GET ${path}`, { account_key })
    const { detail } = assertProblem(reply, 404, 'route_not_found')
    assert.equal(detail, 'No route has this path')
  }
})

const MISTAKES: readonly (readonly [line: string, parts: Parts, field: string])[] = [
  ['GET /projects?limit=0', {}, 'limit'],
  ['GET /audit?cursor=x', {}, 'cursor'],
  ['GET /stores/main/items?archived=perhaps', {}, 'archived'],
  ['GET /stores/main/purchases?status=lost', {}, 'status'],
  ['GET /stores/main/summary?by=month,year', {}, 'by'],
  ['GET /stores/main/summary?from=yesterday', {}, 'from'],
  ['GET /stores/main/overview?by=year', {}, 'by'],
  ['GET /stores/main/overview?from=2026-01-31T12:00:00Z', {}, 'from'],
  ['GET /stores/main/buyers?from=yesterday', {}, 'from'],
  ['GET /stores/main/owned', {}, 'user_id'],
  ['POST /projects', { json: { name: '', bundle_id: 'a.b', platform: 'web' } }, 'name'],
  ['POST /items', { json: { ...GEM, store_id: 'main', price: 4.99 } }, 'price'],
  ['PATCH /items/ITEM', { json: { version: '1' } }, 'version'],
  ['POST /projects/PROJECT/rotate-key', { json: { grace_period: -1 } }, 'grace_period'],
  ['POST /projects/PROJECT/catalog/plan', { json: { archive_missing: 1 } }, 'archive_missing'],
  ['POST /projects/PROJECT/catalog/apply', { json: { catalog: {}, digest: 1 } }, 'digest'],
  ['POST /projects/PROJECT/users/ann/erase', { json: { delete: 'yes' } }, 'delete'],
  ['POST /stores/main/imports', { body: importForm(CSV, { price_unit: 'x' }) }, 'price_unit'],
  ['POST /stores/main/imports', { body: importForm(CSV, { map: '{' }) }, 'map'],
  ['POST /stores/main/imports', { body: importForm(CSV, { map: '{"x":"y"}' }) }, 'map'],
  ['POST /stores/main/imports', { body: importForm(CSV, { dryrun: 'true' }) }, 'dryrun'],
  ['POST /stores/main/purchases', { json: { sku: 'gold' } }, 'transaction_id'],
  ['POST /webhooks/PROJECT/confirm', { json: { url: 1 } }, 'url'],
  ['POST /webhooks/PROJECT/replay', { json: {} }, 'from'],
]

test('an error names the wrong field', async (t) => {
  const { asOwn, own } = await startManaged(t)
  for (const [line, parts, field] of MISTAKES) {
    const [method, path = ''] = line.split(' ')
    const target = path.replace('PROJECT', own.project.id).replace('ITEM', own.item.id)
    const problem = assertProblem(
      await asOwn(`${method} /manage/v1${target}`, parts),
      400,
      'invalid_request',
    )
    assert.equal(problem.errors?.[0]?.field, field, `${line}: ${problem.detail}`)
  }
})

test('a summary of the account has its live stores, or its sandbox stores alone', async (t) => {
  const { asOwn, till, own } = await startManaged(t)
  await till.stores.update(own.account, { store_id: own.ids.store_id, is_sandbox: true })
  const item = { ...GEM, store_id: own.ids.store_id, type: 'consumable' } as const
  await till.items.create(own.account, item)
  const purchased_at = '2026-01-31T12:00:00Z'
  const purchase = { transaction_id: 'T-1', sku: 'gem', purchased_at }
  await till.purchases.record(own.account, { store_id: own.ids.store_id, ...purchase })
  const stores = async (query: string) => {
    const reply = await asOwn(`GET /manage/v1/summary?by=store${query}`)
    const { summaries } = reply.json<{ summaries: { store_id: string; purchased: number }[] }>()
    return summaries.map(({ store_id, purchased }) => `${purchased} ${store_id}`)
  }

  assert.deepEqual(await stores(''), ['1 main'])
  assert.deepEqual(await stores('&sandbox=true'), [`1 ${own.ids.store_id}`])
})

test('unknown fields and parameters are ignored', async (t) => {
  const { asOwn } = await startManaged(t)
  const created = await asOwn('POST /manage/v1/items', {
    json: { ...GEM, store_id: 'main', account_id: 'acc_other', nothing: 1 },
  })
  assert.equal(created.status, 200, created.text)
  assert.equal((await asOwn('GET /manage/v1/projects?nothing=1')).status, 200)
})

test('an item is changed only in the version that was read', async (t) => {
  const { asOwn, own } = await startManaged(t)
  const change = (price: string) =>
    asOwn(`PATCH /manage/v1/items/${own.item.id}`, { json: { price, version: 1 } })

  assert.equal((await change('599')).status, 200)
  assertProblem(await change('699'), 409, 'version_conflict')
  const history = await asOwn(`GET /manage/v1/items/${own.item.id}/history`)
  const { entries } = history.json<{ entries: { actor: string; data: { price: object } }[] }>()
  assert.deepEqual(
    entries.map(({ actor, data }) => [actor, data.price]),
    [[`key:${own.account.key_id}`, { old: 499, new: 599 }]],
  )
})

test('a project and a store are changed only while they have the ETag that was read', async (t) => {
  const { asOwn, own, till } = await startManaged(t)
  for (const [path, change, other] of [
    [`projects/${own.project.id}`, { name: 'B' }, { name: 'C' }],
    ['stores/main', { is_sandbox: true }, { is_sandbox: false }],
  ] as const) {
    const read = await asOwn(`GET /manage/v1/${path}`)
    const etag = String(read.headers.get('etag'))
    const update = (json: object, match: string) =>
      asOwn(`PATCH /manage/v1/${path}`, { json, headers: { 'if-match': match } })

    const changed = await update(change, `"other", ${etag}`)

    assert.equal(changed.status, 200, changed.text)
    assert.notEqual(changed.headers.get('etag'), etag)
    assertProblem(await update(other, etag), 412, 'etag_mismatch')
    assert.equal(
      (await asOwn(`GET /manage/v1/${path}`)).headers.get('etag'),
      changed.headers.get('etag'),
    )
    assert.equal((await update(other, '*')).status, 200)
  }
  // A key that is also the name of a method of each object.
  const named = { json: { config: { toString: 1 } } }
  assert.equal((await asOwn(`PATCH /manage/v1/projects/${own.project.id}`, named)).status, 200)
  const store = await till.stores.get(own.account, 'main')
  const read = await asOwn('GET /manage/v1/stores/main')
  assert.equal(read.headers.get('etag'), etagOf(store))
  const { config } = await till.projects.get(own.account, own.project.id)
  const sent = { id: own.project.id, config: { ...config, webhook_secret: SECRET } }
  const project = await till.projects.update(own.account, sent)
  assert.equal(etagOf(project), etagOf(await till.projects.get(own.account, project.id)))
  const stale = till.projects.update(own.account, { id: project.id }, { ifMatch: '"other"' })
  await assert.rejects(stale, { code: 'etag_mismatch' })
})

test('a repeated idempotency key creates a record once', async (t) => {
  const { asOwn } = await startManaged(t)
  const headers = { 'idempotency-key': 'once' }
  const create = () =>
    asOwn('POST /manage/v1/items', { headers, json: { ...GEM, store_id: 'main' } })
  const [first, second] = [await create(), await create()]
  assert.equal(first.status, 200, first.text)
  assert.deepEqual(second.json(), first.json())
})

test('an import that is refused names up to 1,000 mistakes, and stores nothing', async (t) => {
  const { asOwn } = await startManaged(t)
  const rows = Array.from({ length: 1_500 }, (_, i) => `T-${i},nothing,2026-01-31T12:00:00Z\n`)
  const csv = `transaction_id,sku,purchased_at\n${rows.join('')}`
  const reply = await asOwn('POST /manage/v1/stores/main/imports', { body: importForm(csv) })
  const { errors = [], detail } = assertProblem(reply, 400, 'invalid_purchases')
  assert.equal(errors.length, 1_000)
  assert.match(detail, /^1500 mistakes/)
  assert.deepEqual([errors[0]?.line, errors[999]?.line], [2, 1_001])
  const { imports } = (await asOwn('GET /manage/v1/stores/main/imports')).json<{ imports: [] }>()
  assert.equal(imports.length, 1)
})

test('a revoked key is refused at once, and keys tell which one is used', async (t) => {
  const { asOwn, own, send } = await startManaged(t)
  const added = (await asOwn('POST /manage/v1/keys')).json<{
    account_key: string
    key_id: string
  }>()
  const { account_key, key_id } = added
  const { keys } = (await send('GET /manage/v1/keys', { account_key })).json<{
    keys: { key_id: string; current: boolean }[]
  }>()
  assert.deepEqual(
    keys.filter(({ current }) => current).map((key) => key.key_id),
    [key_id],
  )
  assert.equal((await asOwn(`DELETE /manage/v1/keys/${key_id}`)).status, 200)
  assertProblem(await send('GET /manage/v1/account', { account_key }), 401, 'account_key_required')
  assert.equal((await asOwn('GET /manage/v1/account')).text.includes(own.account.account_id), true)
})

test('the overview of a store counts its purchases and buyers', async (t) => {
  const { asOwn } = await startManaged(t)
  const purchase = { sku: 'gold', purchased_at: '2026-02-01T12:00:00Z', currency: 'USD' }
  const json = { ...purchase, transaction_id: 'T-6', user_id: 'ann', price: '499' }
  await asOwn('POST /manage/v1/stores/main/purchases', { json })

  const overview = await asOwn('GET /manage/v1/stores/main/overview?from=2026-02-01&by=day')
  const counts = { purchased: 1, pending: 0, refunded: 0, cancelled: 0 }
  const total = { currency: 'USD', ...counts, revenue: '499', refunded_total: '0' }
  assert.deepEqual(overview.json(), {
    ...counts,
    currency_count: 1,
    currencies: [total],
    periods: [{ day: '2026-02-01', ...total }],
    items: [{ sku: 'gold', display_name: 'Gold', ...total }],
  })
  const before = await asOwn('GET /manage/v1/stores/main/overview?to=2026-01-31')
  assert.equal(before.json<{ purchased: number }>().purchased, 0)
  const { buyers } = (await asOwn('GET /manage/v1/stores/main/buyers')).json<{ buyers: object[] }>()
  assert.deepEqual(buyers, [{ currency: 'USD', new: 1, returning: 0 }])
})

test('an account that the host has authenticated does not reach the management API', async (t) => {
  const storage = createMemoryStorage()
  let account_id = ''
  const options = { manage: true, authenticateAccount: () => account_id }
  const { till, send } = await startServer(t, { storage, options })
  account_id = (await till.accounts.create({ name: 'Studio' })).account_id
  const reply: Reply = await send('GET /manage/v1/account')
  assert.equal(assertProblem(reply, 401, 'account_key_required').status, 401)
  assert.equal(reply.json<ProblemBody>().code, 'account_key_required')
})

test('a plain page of items or purchases is served while the account has its share of reports', async (t) => {
  const { storage, isHeld, release } = createHeldStorage()
  const { send, account_key } = await serveShop(t, {
    storage,
    options: { manage: true },
    limits: { reportsInFlight: 2 },
  })
  const get = (path: string) => send(`GET /manage/v1/stores/main/${path}`, { account_key })
  const summary = get('summary?by=month')
  await isHeld

  assertProblem(await get('items?search=gold'), 503, 'overloaded')
  assertProblem(await get('purchases?sku=gold'), 503, 'overloaded')
  assert.equal((await get('items?limit=1')).status, 200)
  assert.equal((await get('purchases?limit=1')).status, 200)
  release()
  assert.equal((await summary).status, 200)
})

test('an export whose next page takes longer than the limit for slow readers is sent whole', async (t) => {
  const storage = createMemoryStorage()
  const { listCatalogItems } = storage
  storage.listCatalogItems = async (...args) => {
    await setTimeout(200)
    return listCatalogItems(...args)
  }
  const options = { manage: true }
  const shop = await serveShop(t, { storage, options, limits: { answerTimeout: 50 } })
  const { send, account_key, project_id } = shop

  const { text } = await send(`GET /manage/v1/projects/${project_id}/catalog`, { account_key })

  assert.equal(JSON.parse(text).stores[0].items[0].name, 'gold')
})

test('an export that fails after its beginning breaks the connection', async (t) => {
  const storage = createMemoryStorage()
  const { send, account_key, project_id } = await serveShop(t, {
    storage,
    options: { manage: true },
  })
  storage.listCatalogItems = async () => {
    throw new TillError('storage_unavailable', 'The database is away')
  }

  await assert.rejects(send(`GET /manage/v1/projects/${project_id}/catalog`, { account_key }))
})

/** A storage whose summaries wait. */
function createHeldStorage() {
  const { given, give: release } = createSignal()
  const { given: isHeld, give: hold } = createSignal()
  const memory = createMemoryStorage()
  const summarizePurchases: typeof memory.summarizePurchases = async (...args) => {
    hold()
    await given
    return memory.summarizePurchases(...args)
  }
  return { storage: { ...memory, summarizePurchases }, isHeld, release }
}
