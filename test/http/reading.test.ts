import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { assertProblem, serveShop } from '../support/server.ts'
import { createShop } from '../support/till.ts'

/** A server with a shop that has `gold` and this many more items. */
async function start(t: TestContext, items = 0) {
  const shop = await serveShop(t, { storage: 'file' })
  const { till, send } = shop
  const fields = { store_id: 'main', display_name: 'Item', price: '1', type: 'consumable' as const }
  const names = Array.from({ length: items }, (_, i) => `item_${i}`)
  await Promise.all(names.map((name) => till.items.create(shop.account, { ...fields, name })))
  const read = (path: string, headers: { [name: string]: string } = {}) =>
    send(`GET /api/v1${path}`, { token: shop.token, headers })
  return { ...shop, read, fields, names: ['gold', ...names] }
}

type Shop = Awaited<ReturnType<typeof start>>

function namesIn(reply: { json(): unknown }): string[] {
  return (reply.json() as { items: { name: string }[] }).items.map(({ name }) => name)
}

/** Follows the links from page to page. */
async function readPages({ read }: Shop, limit: number): Promise<string[][]> {
  const pages: string[][] = []
  let path: string | undefined = `/items?store_id=main&limit=${limit}`
  while (path !== undefined) {
    const page = await read(path)
    assert.equal(page.status, 200)
    pages.push(namesIn(page))
    path = /^<\/api\/v1(\/items\?[^>]+)>; rel="next"$/.exec(page.headers.get('link') ?? '')?.[1]
  }
  return pages
}

test('the Link headers lead through all pages, which contain the whole list in order', async (t) => {
  const shop = await start(t, 9)
  for (const limit of [1, 3, 5, 10, 1000]) {
    const pages = await readPages(shop, limit)
    assert.deepEqual(pages.flat(), shop.names)
    assert.ok(pages.every(({ length }) => length <= limit))
    assert.equal(pages.length, Math.ceil(10 / limit))
  }
})

test('a cursor that is not from this store is refused, a foreign one like an unknown one', async (t) => {
  const { till, read, account, project } = await start(t)
  const other = await createShop(till, 'Other')
  const side = { project_id: project.id, store_id: 'side', store_type: 'web' as const }
  await till.stores.create(account, side)
  const fields = { store_id: 'side', display_name: 'Item', price: '1', type: 'consumable' as const }
  const aside = await till.items.create(account, { ...fields, name: 'aside' })
  const bodies = []
  for (const cursor of ['itm_none', other.item.id, aside.id, '', '%00', 'x'.repeat(65)]) {
    const refused = await read(`/items?store_id=main&limit=1&cursor=${cursor}`)
    assertProblem(refused, 400, 'invalid_request')
    bodies.push({ ...(refused.json() as object), request_id: '' })
  }
  assert.deepEqual(bodies[1], bodies[0])
  assert.deepEqual(bodies[2], bodies[0])
})

test('If-None-Match with the etag of an item or a list gets 304', async (t) => {
  const { read, item } = await start(t, 3)
  for (const path of [
    `/items/${item.id}`,
    '/items?store_id=main',
    '/items?store_id=main&limit=2',
  ]) {
    const first = await read(path)
    const etag = first.headers.get('etag') ?? ''
    assert.match(etag, /^"[\w-]{22}"$/)
    assert.equal(first.headers.get('cache-control'), 'private, no-cache')
    for (const asked of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await read(path, { 'if-none-match': asked })
      assert.deepEqual([again.status, again.text, again.headers.get('etag')], [304, '', etag])
    }
    const others = await read(path, { 'if-none-match': '"other"' })
    assert.deepEqual([others.status, others.text], [200, first.text])
  }
})

test('an item and its lists change with each update, archive and restore', async (t) => {
  const { till, read, account, item, fields } = await start(t, 3)
  const { id } = item
  const paths = [`/items/${id}`, '/items?store_id=main', '/items?store_id=main&limit=2']
  const readAll = () => Promise.all(paths.map((path) => read(path)))
  let before = await readAll()
  const statuses: number[][] = []
  for (const change of [
    () => till.items.update(account, { id, price: '599' }),
    () => till.items.update(account, { id, price: '599' }),
    () => till.items.archive(account, id),
    () => till.items.restore(account, id),
    () => till.items.create(account, { ...fields, name: 'later' }),
  ]) {
    await change()
    const etags = before.map(({ headers }) => headers.get('etag') ?? '')
    const again = paths.map((path, i) => read(path, { 'if-none-match': etags[i] as string }))
    statuses.push((await Promise.all(again)).map(({ status }) => status))
    before = await readAll()
  }

  // The body of an item is the same before and after it is archived.
  assert.deepEqual(statuses, [
    [200, 200, 200],
    [304, 304, 304],
    [304, 200, 200],
    [304, 200, 200],
    [304, 200, 304],
  ])
  assert.equal(before[0]?.json<{ price: number }>().price, 599)
})

test('an archived item leaves all pages, also after its cursor, and is still read by its id', async (t) => {
  const shop = await start(t, 5)
  const { till, read, account, names, item } = shop
  const body = (await read(`/items/${item.id}`)).text

  await till.items.archive(account, item.id)

  const others = names.slice(1).toSorted()
  assert.deepEqual((await readPages(shop, 1)).flat().toSorted(), others)
  const rest = await read(`/items?store_id=main&limit=9&cursor=${item.id}`)
  assert.deepEqual(namesIn(rest).toSorted(), others)
  assert.equal((await read(`/items/${item.id}`)).text, body)
})

test('a last page is not 304 after another page follows: it has a new link', async (t) => {
  const { till, read, account, fields } = await start(t, 17)
  const path = '/items?store_id=main&limit=18'
  const last = await read(path)
  assert.equal(last.headers.get('link'), null)

  await till.items.create(account, { ...fields, name: 'later' })
  const asked = { 'if-none-match': last.headers.get('etag') ?? '' }
  const page = await read(path, asked)

  assert.equal(page.status, 200)
  assert.equal(page.text, last.text)
  assert.match(page.headers.get('link') ?? '', /rel="next"/)
})

test('a client without access gets no 304', async (t) => {
  const { till, send, item } = await start(t)
  const { token } = await createShop(till, 'Other')
  const headers = { 'if-none-match': '*' }
  const foreign = await send(`GET /api/v1/items/${item.id}`, { token, headers })
  assertProblem(foreign, 404, 'item_not_found')
  assertProblem(await send(`GET /api/v1/items/${item.id}`, { headers }), 401, 'token_required')
})

test('a store larger than a page is sent as one list with its own etag', async (t) => {
  const { read, send, token, names, till, account, fields } = await start(t, 2_345)
  const whole = await read('/items?store_id=main')
  assert.equal(whole.status, 200)
  assert.deepEqual(namesIn(whole).toSorted(), names.toSorted())
  assert.equal(whole.headers.get('content-length'), null)
  assert.equal(whole.headers.get('link'), null)
  const etag = whole.headers.get('etag') ?? ''
  assert.equal((await read('/items?store_id=main', { 'if-none-match': etag })).status, 304)
  const head = await send('HEAD /api/v1/items?store_id=main', { token })
  assert.equal(head.headers.get('etag'), etag)
  assert.equal(head.text, '')

  await till.items.create(account, { ...fields, name: 'later' })
  const grown = await read('/items?store_id=main', { 'if-none-match': etag })
  assert.equal(grown.status, 200)
  assert.deepEqual(namesIn(grown), [...namesIn(whole), 'later'])
})

test('a repeated Idempotency-Key gets the same headers and body', async (t) => {
  const { send, account_id, account_key } = await start(t)
  const project = { account_id, bundle_id: 'com.example.other', platform: 'web' }
  const create = (name: string, key: string) =>
    send('POST /api/v1/projects', {
      account_key,
      headers: { 'idempotency-key': key },
      json: { ...project, name, config: { webhook_secret: 'a secret that comes back' } },
    })
  const first = await create('once', 'a key')
  assert.equal(first.status, 200)
  const again = await create('once', 'a key')
  assert.deepEqual(again.json(), first.json())
  const publicKey = (reply: typeof first) => reply.headers.get('x-public-project-key')
  assert.equal(publicKey(again), publicKey(first))
  assertProblem(await create('another', 'a key'), 400, 'invalid_request')
  assertProblem(await create('another', 'x'.repeat(256)), 400, 'invalid_request')
})

test('a query parameter in another spelling is refused, and an unknown one is ignored', async (t) => {
  const { send, token } = await serveShop(t)
  for (const name of ['storeId', 'Store_ID', 'storeid']) {
    const reply = await send(`GET /api/v1/items?store_id=main&${name}=other`, { token })
    const { errors } = assertProblem(reply, 400, 'invalid_request')
    assert.deepEqual(errors, [
      { field: name, code: 'unknown', message: 'must be spelled store_id' },
    ])
  }
  const reply = await send('GET /api/v1/items?store_id=main&_=123', { token })
  assert.equal(reply.status, 200, reply.text)
})
