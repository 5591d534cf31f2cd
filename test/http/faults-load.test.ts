import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { assertWhole, type ShownItem, startWriters } from '../support/load.ts'
import {
  assertProblem,
  connectTo,
  eventually,
  importForm,
  type RawClient,
  rawRequest,
  serveShop,
  startServer,
} from '../support/server.ts'
import { soakOnly } from '../support/soak.ts'
import { createShop } from '../support/till.ts'

const WRITES = 300
const IMPORT = 'POST /api/v1/purchases/import'
const csv = 'transaction_id,sku,purchased_at\nT-1,gold,1700000000\n'

/** A connection with an import that sends one byte from time to time. */
async function dripImport(t: TestContext, url: string, token: string): Promise<RawClient> {
  const client = await connectTo(url)
  t.after(() => client.socket.destroy())
  const head = ['content-type: multipart/form-data; boundary=x', 'content-length: 100000']
  client.write(rawRequest(IMPORT, [`authorization: Bearer ${token}`, ...head]))
  client.write('--x\r\ncontent-disposition: form-data; name="file"\r\n\r\ntransaction_id,')
  return client
}

test('writes over the limit are 503 with Retry-After, and all others are served', {
  skip: soakOnly,
}, async (t) => {
  const { url, send, token, account_key, withKey } = await serveShop(t, {
    limits: { accountShare: 100, jsonTimeout: 3_600_000, writesInFlight: WRITES },
    options: { metrics: true },
  })
  const itemsNow = async () => {
    const { text } = await send('GET /api/v1/items?store_id=main', { token })
    return (JSON.parse(text) as { items: ShownItem[] }).items.slice(1) // without the shop's own
  }
  const slow: RawClient[] = []
  t.after(() => {
    for (const { socket } of slow) socket.destroy()
  })
  const head = [withKey, 'content-length: 100']
  while (slow.length < WRITES) {
    const opened = Array.from({ length: 100 }, async () => {
      const client = await connectTo(url)
      slow.push(client)
      client.write(rawRequest('POST /api/v1/items', head))
    })
    await Promise.all(opened)
  }
  const create = () => send('POST /api/v1/items', { account_key, json: {} })
  await eventually(() => slow.length === WRITES || undefined, 'as many connections')
  // The last request headers may still be on their way.
  let reply = await create()
  for (let i = 0; i < 100 && reply.status !== 503; i++) reply = await create()
  const { text: metrics } = await send('GET /metrics')
  assert.match(metrics, /^tillkit_http_requests_in_flight\{kind="writes"\} 300$/m)

  const { acknowledged, unanswered, refused, stop } = startWriters(`${url}/api/v1`, account_key, {
    clients: 64,
  })
  t.after(stop)
  await eventually(() => refused.length > 200 || undefined, 'a flood of refusals')
  for (let i = 0; i < 5; i++) {
    assert.equal((await send('GET /healthz')).status, 200)
    assert.equal((await send('GET /readyz')).status, 200)
    assert.deepEqual(await itemsNow(), [])
  }
  for (const { status, headers, text } of refused) {
    assert.deepEqual([status, headers['retry-after']], [503, '1'])
    assert.equal(JSON.parse(text).code, 'overloaded')
  }
  assert.deepEqual([acknowledged.size, unanswered.size], [0, 0])

  for (const { socket } of slow) socket.destroy()
  await eventually(
    () => acknowledged.size > 200 || undefined,
    'writes after the limit was released',
  )
  await stop()
  const items = await itemsNow()
  items.forEach(assertWhole)
  assert.equal(items.length, acknowledged.size)
  assert.equal((await send(`GET /api/v1/items/${items[0]?.id}`, { token })).status, 200)
})

test('slow imports of one project do not block imports of other projects', async (t) => {
  const { till, url, send, log } = await startServer(t)
  const [one, other] = [await createShop(till, 'One'), await createShop(till, 'Other')]
  const load = (token: string) => send(IMPORT, { token, body: importForm(csv) })
  const dripped: RawClient[] = []
  for (let i = 0; i < 32; i++) dripped.push(await dripImport(t, url, one.token))

  const refused = () => log.filter(({ status }) => status === 503).length
  await eventually(() => refused() === 28 || undefined, 'a refusal of all but four')
  const reply = await load(one.token)
  assertProblem(reply, 503, 'overloaded')
  assert.equal(reply.headers.get('retry-after'), '5')
  assert.equal((await load(other.token)).status, 200)

  // Refused imports hold no limit, and ended ones release it.
  for (let i = 0; i < 5; i++) assertProblem(await load(one.token), 503, 'overloaded')
  for (const { socket } of dripped) socket.destroy()
  await eventually(
    () => log.filter(({ status }) => status === 499).length >= 4 || undefined,
    'ends',
  )
  for (let i = 0; i < 5; i++) assert.equal((await load(one.token)).status, 200)
})
