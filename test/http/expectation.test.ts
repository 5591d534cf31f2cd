// run: runtime
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import {
  assertProblem,
  FORM_TYPE,
  inChunks,
  RAW_IMPORT,
  rawRequest,
  serveShop,
  startServer,
} from '../support/server.ts'

const EXPECT = 'expect: 100-continue'
async function start(t: TestContext) {
  const shop = await serveShop(t)
  return { ...shop, client: await shop.connect() }
}

test('a client that waits for 100 Continue gets it, and its request is carried out', async (t) => {
  const { client, withToken, withKey } = await start(t)
  const form = RAW_IMPORT
  const heads = [`content-length: ${form.length}`, 'transfer-encoding: chunked']
  const bodies = [form, inChunks(form)]

  for (const [index, framing] of heads.entries()) {
    client.write(
      rawRequest('POST /api/v1/purchases/import', [withToken, FORM_TYPE, EXPECT, framing]),
    )
    assert.equal((await client.reply()).status, 100)
    client.write(bodies[index] ?? '')

    const reply = await client.reply()
    assert.deepEqual([reply.status, reply.text], [200, '{"ok":true}'])
    assert.equal(reply.headers.get('connection'), 'keep-alive')
  }
  const head = [withKey, EXPECT, 'content-length: 2', 'connection: close']
  client.write(rawRequest('POST /api/v1/items', head))
  assert.equal((await client.reply()).status, 100)
  client.write('{}')
  const reply = await client.reply()
  assert.deepEqual([reply.status, reply.headers.get('connection')], [400, 'close'])
  assert.equal(await client.ended, '')
})

test('a refused request gets its answer instead of 100 Continue, and the connection closes', async (t) => {
  const { connect, withToken, withKey } = await start(t)
  const IMPORT = 'POST /api/v1/purchases/import'
  const CREATE = 'POST /api/v1/items'
  const small = 'content-length: 1000'
  const rows: [status: number, code: string, request: string, headers: string[]][] = [
    [401, 'token_required', IMPORT, ['authorization: Bearer x', FORM_TYPE, small]],
    [413, 'body_too_large', IMPORT, [withToken, FORM_TYPE, `content-length: ${1024 ** 3 + 1}`]],
    [415, 'unsupported_media_type', IMPORT, [withToken, 'content-type: text/csv', small]],
    [400, 'malformed_request', IMPORT, [withToken, 'content-type: multipart/form-data', small]],
    [401, 'account_key_required', CREATE, ['x-account-key: ak_x', small]],
    [413, 'body_too_large', CREATE, [withKey, 'content-length: 262145']],
    [405, 'method_not_allowed', 'PUT /api/v1/purchases/import', [withToken, small]],
  ]

  for (const [status, code, request, headers] of rows) {
    const client = await connect(rawRequest(request, [...headers, EXPECT]))

    const reply = await client.reply()

    assertProblem(reply, status, code)
    assert.equal(reply.headers.get('connection'), 'close')
    assert.equal(await client.ended, '')
  }
})

test('an HTTP/1.0 request never gets 100 Continue', async (t) => {
  const { client, withKey } = await start(t)

  client.write(
    `POST /api/v1/items HTTP/1.0\r\n${withKey}\r\n${EXPECT}\r\ncontent-length: 2\r\n\r\n{}`,
  )

  assertProblem(await client.reply(), 400, 'invalid_request')
})

for (const { what, discardTimeout, body } of [
  { what: 'neither sends the refused body nor', discardTimeout: 300, body: '' },
  { what: 'sends the refused body and does not', discardTimeout: 60_000, body: 'x'.repeat(1000) },
]) {
  test(`a client that ${what} close its side is disconnected`, { timeout: 20_000 }, async (t) => {
    const limits = { discardTimeout }
    const options = { metrics: true }
    const { connect, send } = await startServer(t, {
      limits,
      options,
    })
    const client = await connect(rawRequest('POST /api/v1/items', [EXPECT, 'content-length: 1000']))

    assertProblem(await client.reply(), 401, 'account_key_required')
    assert.equal(await client.ended, '') // at once, whatever it sends
    client.write(body)
    const isGone = async () =>
      /^tillkit_http_connections 1$/m.test((await send('GET /metrics')).text)
    while (!(await isGone())) await setTimeout(20)
  })
}
