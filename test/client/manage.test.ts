import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { createManageClient, type ManageClient } from '../../client/manage.ts'
import { pluck } from '../support/collect.ts'
import { listenOn } from '../support/listen.ts'

const store_id = 'main'
const user = { project_id: 'prj_1', user_id: 'ann/1' }

/** A call, and the request that it sends. */
const CALLS: readonly (readonly [(manage: ManageClient) => Promise<unknown>, string])[] = [
  [({ account }) => account(), 'GET /account'],
  [({ keys }) => keys.list({ limit: 2 }, { timeout: 5_000 }), 'GET /keys?limit=2'],
  [({ keys }) => keys.add({}, { timeout: 5_000 }), 'POST /keys {}'],
  [({ keys }) => keys.add({ name: 'api' }), 'POST /keys name=api'],
  [({ keys }) => keys.revoke('key_1'), 'DELETE /keys/key_1 {}'],
  [({ audit }) => audit.list({ limit: 2, cursor: undefined }), 'GET /audit?limit=2'],
  [({ projects }) => projects.get('prj 1'), 'GET /projects/prj%201'],
  [
    ({ projects }) => projects.rotateKey({ id: 'prj_1', grace_period: 5 }),
    'POST /projects/prj_1/rotate-key grace_period=5',
  ],
  [({ items }) => items.list({ store_id, search: 'a b' }), 'GET /stores/main/items?search=a+b'],
  [({ items }) => items.update({ id: 'itm_1', price: '5' }), 'PATCH /items/itm_1 price=5'],
  [({ items }) => items.archive('itm_1'), 'POST /items/itm_1/archive {}'],
  [({ purchases }) => purchases.list({ transaction_id: 'T' }), 'GET /purchases?transaction_id=T'],
  [
    ({ purchases }) => purchases.summarize({ store_id, by: ['day', 'sku'] }),
    'GET /summary?store_id=main&by=day%2Csku',
  ],
  [({ users }) => users.export(user), 'GET /projects/prj_1/users/ann%2F1'],
  [
    ({ users }) => users.erase({ ...user, delete: true }),
    'POST /projects/prj_1/users/ann%2F1/erase delete=true',
  ],
  [
    ({ webhooks }) => webhooks.confirm({ endpoint_id: 'prj_1/main' }),
    'POST /webhooks/prj_1%2Fmain/confirm {}',
  ],
]

async function serve(t: { after(task: () => void): void }, status = 200) {
  const requests: {
    line: string
    key: string | string[] | undefined
    match: string | undefined
  }[] = []
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const fields = Object.entries(body ? JSON.parse(body) : {}).map(([k, v]) => ` ${k}=${v}`)
    const sent = body && fields.length === 0 ? ' {}' : fields.join('')
    const line = `${request.method} ${request.url?.replace('/manage/v1', '')}${sent}`
    requests.push({
      line,
      key: request.headers['idempotency-key'],
      match: request.headers['if-match'],
    })
    // As a proxy that compresses sends it.
    response.writeHead(status, { etag: 'W/"tag"' }).end('{}')
  })
  const url = await listenOn(t, server)
  return { requests, manage: createManageClient({ url, accountKey: 'ak_1', attempts: 2 }) }
}

test('a method fills the path and sends the other fields', async (t) => {
  const { requests, manage } = await serve(t)
  for (const [call] of CALLS) await call(manage)
  assert.deepEqual(
    pluck(requests, 'line'),
    CALLS.map(([, line]) => line),
  )
})

test('a project has the ETag of its answer, and a change sends it as If-Match', async (t) => {
  const { requests, manage } = await serve(t)
  const { etag } = await manage.projects.get('prj_1')
  const changed = await manage.projects.update({ id: 'prj_1', name: 'B' }, { ifMatch: etag })

  assert.equal(etag, '"tag"')
  assert.equal(changed.etag, '"tag"')
  assert.deepEqual(
    requests.map(({ match }) => match),
    [undefined, '"tag"'],
  )
  assert.equal('etag' in (await manage.items.get('itm_1')), false)
  const options = { ifMatch: etag } as object
  assert.throws(() => manage.items.update({ id: 'itm_1' }, options), /no option ifMatch/)
})

test('after a lost answer, only what is safe is sent again', async (t) => {
  const { requests, manage } = await serve(t, 502)
  const item = { store_id, name: 'a', display_name: 'A', price: '1', type: 'consumable' } as const
  const attempts = async (call: Promise<unknown>) => {
    requests.length = 0
    await assert.rejects(call)
    return requests.length
  }

  assert.equal(await attempts(manage.items.get('itm_1')), 2)
  assert.equal(await attempts(manage.items.archive('itm_1')), 2)
  assert.equal(await attempts(manage.items.update({ id: 'itm_1', price: '1' })), 1)
  assert.equal(await attempts(manage.items.create(item)), 2)
  assert.equal(requests[0]?.key, requests[1]?.key)
  assert.ok(requests[0]?.key)
})

test('wrong options and ids that a URL cannot have are a TypeError', async (t) => {
  const { requests, manage } = await serve(t)
  assert.throws(() => manage.items.get('..'), /The id \.\. cannot be part of a URL/)
  assert.throws(() => manage.items.get('itm_1', { singal: 1 } as object), /no option singal/)
  assert.throws(() => manage.items.get('a', { idempotencyKey: 'b' } as object), /no option/)
  assert.throws(() => manage.items.get('a', null as never), /options must be an object/)
  assert.deepEqual(requests, [])
})

test('an upload or a long call waits as long as the call says, and otherwise an hour', async (t) => {
  const slow = createServer((_, response) => setTimeout(() => response.end('{}'), 300))
  const url = await listenOn(t, slow)
  const options = { accountKey: 'ak_1', timeout: 50, attempts: 1 }
  const { imports, users } = createManageClient({ url, ...options })
  const file = { store_id, file: 'T-1' }

  await assert.rejects(imports.create(file, { timeout: 50 }), { code: 'timeout' })
  await assert.rejects(users.erase(user, { timeout: 50 }), { code: 'timeout' })
  await imports.create(file)
  await imports.create(file, { timeout: undefined })
  await users.erase(user, { timeout: undefined })
})
