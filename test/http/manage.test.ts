import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createManageClient } from '../../client/manage.ts'
import { etagOf } from '../../lib/index.ts'
import { collect } from '../support/collect.ts'
import { type Operation, operations } from '../support/openapi/document.ts'
import { createManagedShop, exampleOf, knownValues } from '../support/openapi/requests.ts'
import {
  assertProblem,
  createSignal,
  importForm,
  type Parts,
  type Reply,
  serveShop,
  startServer,
} from '../support/server.ts'

const CSV = 'transaction_id,sku,purchased_at\nT-9,gold,2026-01-31T12:00:00Z\n'

const GEM = { name: 'gem', display_name: 'Gem', price: '99', type: 'consumable' }
const MANAGED = operations.filter(({ path }) => path.startsWith('/manage/'))

/** A server with two accounts that have the same records. */
async function startManaged(t: TestContext) {
  const server = await startServer(t, { options: { manage: true } })
  const { till } = server
  const fill = async (name: string) => {
    const shop = await createManagedShop(till, name)
    const { account, project_id } = shop
    // The accounts' own stores have the same id, so a foreign one needs another.
    const store_id = `store-of-${name}`
    await till.stores.create(account, { project_id, store_id, store_type: 'web' })
    return { ...shop, ids: knownValues(shop), hidden: { ...knownValues(shop), store_id } }
  }
  const [own, foreign] = [await fill('own'), await fill('foreign')]
  const asOwn = (line: string, parts: Parts = {}) =>
    server.send(line, { account_key: own.account_key, ...parts })
  return { ...server, own, foreign, asOwn }
}

type Managed = Awaited<ReturnType<typeof startManaged>>

const withoutRequest = ({ status, text }: Reply) => {
  const { request_id: _, ...problem } = JSON.parse(text)
  return { status, problem }
}

test('every operation needs a key, and treats foreign records like unknown ones', async (t) => {
  const shared = await startManaged(t)
  for (const operation of MANAGED) {
    await t.test(operation.id, () => assertRefusals(operation, shared))
  }
})

async function assertRefusals(operation: Operation, { send, foreign, own }: Managed) {
  const { line, parts } = exampleOf(operation, own)
  const session = { token: own.token, public_key: own.public_key }
  for (const other of [{ account_key: undefined }, { account_key: undefined, ...session }]) {
    assertProblem(await send(line, { ...parts, ...other }), 401, 'account_key_required')
  }
  if (!operation.path.includes('{') && !/^(add(Store|Item)|listPurchases)$/.test(operation.id))
    return
  const unknown = Object.entries(own.ids).map(([name, value]) => {
    return [name, ['user_id', 'file'].includes(name) ? value : 'none']
  })
  const answers = [foreign.hidden, Object.fromEntries(unknown)].map(async (ids) => {
    const request = exampleOf(operation, own, ids)
    return withoutRequest(await send(request.line, request.parts))
  })
  const [theirs, nobodys] = await Promise.all(answers)
  assert.ok([400, 404].includes(theirs?.status ?? 0), `${operation.id} ${theirs?.status}`)
  assert.deepEqual(theirs, nobodys)
}

test('a body cannot name another id than the path, which would be ignored', async (t) => {
  const { asOwn, own } = await startManaged(t)
  const changes = MANAGED.filter(({ method, path }) => method !== 'GET' && path.includes('{'))
  for (const operation of changes) {
    const { line, parts } = exampleOf(operation, own)
    const [, name = ''] = /\{(\w+)\}/.exec(operation.path) ?? []
    const { body, json = {} } = parts
    if (body instanceof FormData) body.set(name, 'other')
    const sent = body ? parts : { ...parts, json: { ...(json as object), [name]: 'other' } }

    const problem = assertProblem(await asOwn(line, sent), 400, 'invalid_request')

    assert.equal(problem.detail, `${name} differs from that in the path: send it only in the path`)
    assert.equal(problem.errors?.[0]?.field, name)
  }
  const sale = { transaction_id: 'T-9', sku: 'gold', purchased_at: '2026-01-31T12:00:00Z' }
  for (const store_id of ['main', null]) {
    const json = { ...sale, store_id }
    assert.equal((await asOwn('POST /manage/v1/stores/main/purchases', { json })).status, 200)
  }
})

test('the summary of a foreign store is refused like that of an unknown one', async (t) => {
  const { asOwn, own, foreign } = await startManaged(t)
  const ask = (store_id: string) => asOwn(`GET /manage/v1/summary?store_id=${store_id}`)

  assert.equal((await ask(own.hidden.store_id)).status, 200)
  const theirs = await ask(foreign.hidden.store_id)
  assertProblem(theirs, 400, 'invalid_request')
  assert.deepEqual(withoutRequest(theirs), withoutRequest(await ask('none')))
})

test('HEAD is answered like GET, and writes no audit entry', async (t) => {
  const { till, asOwn, own } = await startManaged(t)
  const count = async () => (await till.operator.listAudit({ limit: 1000 })).entries.length
  const before = await count()
  for (const operation of MANAGED.filter(({ method }) => method === 'GET')) {
    const { line } = exampleOf(operation, own)
    assert.equal((await asOwn(line.replace('GET', 'HEAD'))).status, 200, line)
  }
  assert.equal(await count(), before)
})

const MISTAKES: readonly (readonly [line: string, parts: Parts, field: string])[] = [
  ['GET /projects?limit=0', {}, 'limit'],
  ['GET /stores/main/items?archived=perhaps', {}, 'archived'],
  ['GET /summary?by=month,year', {}, 'by'],
  ['GET /overview?store_id=main&from=2026-01-31T12:00:00Z', {}, 'from'],
  ['GET /stores/main/owned', {}, 'user_id'],
  ['POST /items', { json: { ...GEM, store_id: 'main', price: 4.99 } }, 'price'],
  ['PATCH /items/ITEM', { json: { version: '1' } }, 'version'],
  ['POST /projects/PROJECT/rotate-key', { json: { grace_period: -1 } }, 'grace_period'],
  [
    'POST /projects/PROJECT/catalog/plan',
    { json: { catalog: {}, archive_missing: 1 } },
    'archive_missing',
  ],
  ['POST /projects/PROJECT/catalog/apply', { json: { catalog: {}, digest: 1 } }, 'digest'],
  ['POST /projects/PROJECT/catalog/plan', { json: { file: 1 } }, 'file'],
  ['POST /projects/PROJECT/catalog/plan', { json: { file: 'sku', catalog: {} } }, 'file'],
  ['POST /projects/PROJECT/catalog/plan', { json: { file: 'sku', store_id: 'x y' } }, 'store_id'],
  ['POST /projects/PROJECT/users/ann/erase', { json: { delete: 'yes' } }, 'delete'],
  ['POST /stores/main/imports', { body: importForm(CSV, { price_unit: 'x' }) }, 'price_unit'],
  ['POST /stores/main/imports', { body: importForm(CSV, { map: '{' }) }, 'map'],
  ['POST /stores/main/imports', { body: importForm(CSV, { map: '{"x":"y"}' }) }, 'map'],
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

test('the text of a catalog file is planned like a catalog, and its mistakes have lines', async (t) => {
  const { asOwn, own } = await startManaged(t)
  const target = `POST /manage/v1/projects/${own.project.id}/catalog/plan`
  const plan = (json: object) => asOwn(target, { json })
  const file = 'sku,display_name,price\nshield,Shield,250\n'
  const problem = assertProblem(await plan({ file, store_id: 'main' }), 400, 'invalid_request')
  assert.deepEqual(
    problem.errors?.map(({ line, column }) => [line, column]),
    [[2, 'type']],
  )
  const spreadsheet = await plan({ file, store_id: 'main', type: 'consumable' })
  const json = JSON.stringify({ stores: [{ store_id: 'main', items: [SHIELD] }] })
  const catalog = await plan({ file: json })
  assert.deepEqual(spreadsheet.json<{ changes: [] }>().changes.length, 1)
  assert.deepEqual(spreadsheet.json(), catalog.json())
  assertProblem(await plan({ file, store_id: 'foreign' }), 400, 'invalid_request')
})

const SHIELD = { name: 'shield', display_name: 'Shield', price: '250', type: 'consumable' }

test('a request applies 1,500 changes of a catalog, because SQLite makes them in one turn', async (t) => {
  const { asOwn, own, till } = await startManaged(t)
  const { account, project } = own
  const items = Array.from({ length: 1_501 }, (_, i) => ({
    ...GEM,
    type: 'consumable' as const,
    name: `gem_${i}`,
  }))
  const catalog = { stores: [{ store_id: 'main', items }] }
  await till.catalog.apply(account, { project_id: project.id, catalog })
  const archive = async (kept: readonly object[]) =>
    asOwn(`POST /manage/v1/projects/${project.id}/catalog/apply`, {
      json: { catalog: { stores: [{ store_id: 'main', items: kept }] }, archive_missing: true },
    })
  const countArchived = async () =>
    (await collect(till.items.all(account, { store_id: 'main', archived: true }))).length

  const problem = assertProblem(await archive([]), 400, 'invalid_request')
  assert.deepEqual([problem.errors?.[0]?.field, await countArchived()], ['catalog', 0])
  const kept = [own.item.name, 'gem_0'].map((name) => ({ name }))
  assert.match((await archive(kept)).text, /"archived":1500,/)
  assert.equal(await countArchived(), 1_500)
})

test('an unknown field of a body is ignored, and a repeated idempotency key creates a record once', async (t) => {
  const { asOwn } = await startManaged(t)
  const headers = { 'idempotency-key': 'once' }
  const json = { ...GEM, store_id: 'main', account_id: 'acc_other', nothing: 1 }
  const create = () => asOwn('POST /manage/v1/items', { headers, json })
  const [first, second] = [await create(), await create()]
  assert.equal(first.status, 200, first.text)
  assert.deepEqual(second.json(), first.json())
})

test('a misspelt query parameter is refused, because the answer would be that without it', async (t) => {
  const { asOwn } = await startManaged(t)
  const rows: [line: string, field: string, message: RegExp][] = [
    ['GET /manage/v1/summary?til=2026-02-01', 'til', /^is unknown. The parameters are .*\bto\b/],
    [
      'GET /manage/v1/summary?store=main',
      'store',
      /^is unknown. The parameters are .*\bstore_id\b/,
    ],
    ['GET /manage/v1/purchases?store_id=main&userid=ann', 'userid', /^must be spelled user_id$/],
    ['HEAD /manage/v1/stores/main?x=1', 'x', /^is unknown. There are no parameters$/],
    ['POST /manage/v1/stores/main/imports?dry_run=true', 'dry_run', /^is unknown/],
  ]
  for (const [line, field, message] of rows) {
    const reply = await asOwn(line)
    assert.equal(reply.status, 400, line)
    if (line.startsWith('HEAD')) continue
    const { errors, detail } = assertProblem(reply, 400, 'invalid_request')
    assert.deepEqual([errors?.length, errors?.[0]?.field, errors?.[0]?.code], [1, field, 'unknown'])
    assert.match(errors?.[0]?.message ?? '', message)
    assert.equal(detail, `The parameter ${field} ${errors?.[0]?.message}`)
  }
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
  const read = await asOwn('GET /manage/v1/stores/main')
  assert.equal(read.headers.get('etag'), etagOf(await till.stores.get(own.account, 'main')))
})

test('an import that is refused names up to 1,000 mistakes, and stores nothing', async (t) => {
  const { asOwn } = await startManaged(t)
  const rows = Array.from({ length: 1_500 }, (_, i) => `T-${i},nothing,never\n`)
  const csv = `transaction_id,sku,purchased_at\n${rows.join('')}`
  const reply = await asOwn('POST /manage/v1/stores/main/imports', { body: importForm(csv) })
  const { errors = [], detail } = assertProblem(reply, 400, 'invalid_purchases')
  assert.equal(errors.length, 1_000)
  assert.match(detail, /^1,500 mistakes/)
  assert.deepEqual([errors[0]?.line, errors[999]?.line], [2, 1_001])
  const { imports } = (await asOwn('GET /manage/v1/stores/main/imports')).json<{ imports: [] }>()
  assert.equal(imports.length, 1)
})

test('an import names each unknown SKU once, with its rows', async (t) => {
  const { asOwn } = await startManaged(t)
  const rows = Array.from({ length: 1_500 }, (_, i) => `T-${i},new_${i % 2},2026-01-31T12:00:00Z\n`)
  const csv = `transaction_id,sku,purchased_at\n${rows.join('')}T-x,new_0,never\n`
  const reply = await asOwn('POST /manage/v1/stores/main/imports', { body: importForm(csv) })
  const { errors = [], detail } = assertProblem(reply, 400, 'invalid_purchases')
  assert.equal(detail, '2 unknown SKUs in 1500 rows, and 1 other mistake')
  assert.deepEqual(
    errors.map(({ line, code }) => [line, code]),
    [
      [2, 'unknown_sku'],
      [3, 'unknown_sku'],
      [1502, 'invalid'],
    ],
  )
})

test('an unknown SKU has its title and what it sold in each currency', async (t) => {
  const { asOwn } = await startManaged(t)
  const at = '2026-01-31T12:00:00Z'
  const csv = [
    'transaction_id,sku,purchased_at,quantity,price,currency,status,Product title',
    `T-1,com.game.gem,${at},1,499,USD,,💎 80 Gems (Demo Game)`,
    `T-2,com.game.gem,${at},2,1198,USD,,💎 80 Gems (Demo Game)`,
    `T-3,com.game.gem,${at},1,0,USD,,💎 80 Gems (Demo Game)`,
    `T-4,com.game.gem,${at},1,700,USD,refunded,💎 80 Gems (Demo Game)`,
    `T-5,com.game.gem,${at},1,80,JPY,,💎 80 Gems (Demo Game)`,
    `T-6,com.game.gift,${at},1,,,,`,
  ]
  const body = importForm(csv.join('\n'))
  const reply = await asOwn('POST /manage/v1/stores/main/imports', { body })
  const { errors = [] } = assertProblem(reply, 400, 'invalid_purchases')
  assert.deepEqual(
    errors.map(({ sku, title, rows, sales }) => ({ sku, title, rows, sales })),
    [
      {
        sku: 'com.game.gem',
        title: '💎 80 Gems (Demo Game)',
        rows: 5,
        sales: [
          { currency: 'USD', total: '1697', price: '599' },
          { currency: 'JPY', total: '80', price: '80' },
        ],
      },
      { sku: 'com.game.gift', title: undefined, rows: 1, sales: [] },
    ],
  )
})

test('keys tell which one is used', async (t) => {
  const { asOwn, send } = await startManaged(t)
  type Key = { account_key: string; key_id: string; current: boolean }
  const { account_key, key_id } = (await asOwn('POST /manage/v1/keys')).json<Key>()
  const { keys } = (await send('GET /manage/v1/keys', { account_key })).json<{ keys: Key[] }>()
  assert.deepEqual(
    keys.filter(({ current }) => current).map((key) => key.key_id),
    [key_id],
  )
})

test('an account that the host has authenticated does not reach the management API', async (t) => {
  let account_id = ''
  const options = { manage: true, authenticateAccount: () => account_id }
  const { till, send } = await startServer(t, { options })
  account_id = (await till.accounts.create({ name: 'Studio' })).account_id
  assertProblem(await send('GET /manage/v1/account'), 401, 'account_key_required')
})

test('a plain page of items or purchases is served while the account has its share of reports', async (t) => {
  const limits = { reportsInFlight: 2 }
  const { send, storage, account_key } = await serveShop(t, { options: { manage: true }, limits })
  const [held, released] = [createSignal(), createSignal()]
  const { summarizePurchases } = storage
  storage.summarizePurchases = async (...args) => {
    held.give()
    await released.given
    return summarizePurchases(...args)
  }
  const get = (path: string) => send(`GET /manage/v1/${path}`, { account_key })
  const summary = get('summary?store_id=main&by=month')
  await held.given

  assertProblem(await get('stores/main/items?search=gold'), 503, 'overloaded')
  assertProblem(await get('purchases?store_id=main&sku=gold'), 503, 'overloaded')
  assert.equal((await get('stores/main/items?limit=1')).status, 200)
  assert.equal((await get('purchases?store_id=main&limit=1')).status, 200)
  released.give()
  assert.equal((await summary).status, 200)
})

test('an export whose next page takes longer than the limit for slow readers is sent whole', async (t) => {
  const options = { manage: true }
  const shop = await serveShop(t, { options, limits: { answerTimeout: 50 } })
  const { send, account_key, project_id, storage } = shop
  const { listItems } = storage
  storage.listItems = async (...args) => {
    await setTimeout(200)
    return listItems(...args)
  }

  const { text } = await send(`GET /manage/v1/projects/${project_id}/catalog`, { account_key })

  assert.equal(JSON.parse(text).stores[0].items[0].name, 'gold')
})

test('the client gets the explanation of a file that the library gives, and nothing is stored', async (t) => {
  const server = await serveShop(t, { options: { manage: true } })
  const { till, account, account_key, url } = server
  const { purchases } = createManageClient({ url, accountKey: account_key })
  const file = 'Order No,Article,When\nA-1,gold,13/05/2026\n'
  const answer = await purchases.explain({ store_id: 'main', file })
  const bytes = [Buffer.from(file)]
  assert.deepEqual(answer, await till.purchases.explain(account, { store_id: 'main', file: bytes }))
  assert.deepEqual(answer.layout, {
    columns: { transaction_id: 'Order No', sku: 'Article', purchased_at: 'When' },
    date_format: 'DD/MM/YYYY',
    zone: 'UTC',
  })
  const path = 'POST /manage/v1/stores/main/explanations'
  const unsupported = await server.send(path, { account_key, body: importForm('{"a":1}') })
  assertProblem(unsupported, 400, 'invalid_purchases')
  const empty = await server.send(path, { account_key, body: new FormData() })
  assertProblem(empty, 400, 'invalid_request')
  const header = await server.send('POST /manage/v1/stores/main/imports', {
    ...{ account_key, body: importForm(file) },
  })
  assert.match(header.text, /purchases explain proposes a layout for any file/)
  assert.deepEqual((await till.imports.list(account, { store_id: 'main' })).imports, [])
})
