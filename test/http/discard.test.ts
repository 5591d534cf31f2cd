import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { createConnection } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import {
  assertProblem,
  eventually,
  inChunks,
  type RawClient,
  rawRequest,
  serveShop,
} from '../support/server.ts'

const IMPORT = 'POST /api/v1/purchases/import'
const FORM = 'content-type: multipart/form-data; boundary=x'
const LARGE = 12_000_000

const start = (t: TestContext, limits = {}) => serveShop(t, { limits })

/** A body of this length; its beginning decides the answer. */
function bodyOf(beginning: string, length = LARGE): string {
  return beginning + 'x'.repeat(length - beginning.length)
}

const PART = '--x\r\ncontent-disposition: form-data; name="file"\r\n\r\n'

/** Why an import is refused, its credential, its body and the answer. */
const refusals: readonly (readonly [string, 'x' | 'token', string, number, string])[] = [
  ['its credential', 'x', bodyOf(PART), 401, 'token_required'],
  [
    'a malformed delimiter in its middle',
    'token',
    bodyOf(`${PART}${'x'.repeat(3_000_000)}\r\n--x malformed\r\n`),
    400,
    'malformed_request',
  ],
  ['a part that is sent twice', 'token', bodyOf(`${PART}\r\n${PART}`), 400, 'invalid_request'],
  ['a file that is too large', 'token', bodyOf(PART, LARGE + 1_000_000), 413, 'body_too_large'],
]

test('an import that is refused early is answered, and its connection stays usable', {
  timeout: 60_000,
}, async (t) => {
  // The discard timeout has passed before the last request arrives.
  const limits = { uploadBytes: LARGE, discardTimeout: 5_000, keepAliveTimeout: 60_000 }
  const { connect, token } = await start(t, limits)
  const open: RawClient[] = []
  for (const [index, [what, credential, body, ...expected]] of refusals.entries()) {
    await t.test(`for ${what}`, async () => {
      const isLast = index === refusals.length - 1
      const length = isLast ? 'transfer-encoding: chunked' : `content-length: ${body.length}`
      const bearer = `authorization: Bearer ${credential === 'x' ? 'x' : token}`
      const head = rawRequest(IMPORT, [bearer, FORM, length])
      const client = await connect()
      client.socket.pause() // a client that reads when it has written everything
      const bytes = head + (isLast ? inChunks(body) : body)
      await new Promise((resolve) => client.socket.write(bytes, resolve))
      client.socket.resume()

      assertProblem(await client.reply(), ...expected)
      client.write(rawRequest('GET /healthz', []))
      assert.equal((await client.reply()).status, 200)
      open.push(client)
    })
  }

  await setTimeout(5_500)
  for (const client of open) {
    client.write(rawRequest('GET /healthz', []))
    assert.equal((await client.reply()).status, 200)
  }
})

test('a client that closes, or a proxy that still sends the refused body, reads the answer', {
  timeout: 60_000,
}, async (t) => {
  const { url, withToken } = await start(t)
  const refused = 'authorization: Bearer x'
  for (const [status, head, length] of [
    [400, [withToken, FORM, 'connection: close'], LARGE],
    [400, [withToken, FORM, 'connection: close'], 300_000],
    [401, [refused, FORM, 'expect: 100-continue'], 3_000_000],
  ] as const) {
    const socket = createConnection(Number(new URL(url).port), '127.0.0.1')
    t.after(() => socket.destroy())
    await once(socket, 'connect')
    socket.pause()
    socket.write(rawRequest(IMPORT, [...head, `content-length: ${length}`]))
    await setTimeout(20)
    const body = bodyOf('--x malformed\r\n', length)
    await new Promise((resolve) => socket.write(body, resolve))
    await setTimeout(50)
    let text = ''
    socket
      .setEncoding('utf8')
      .on('data', (chunk) => (text += chunk))
      .resume()
    await once(socket, 'close') // rejects for a reset

    assert.match(text, new RegExp(`^HTTP/1.1 ${status} `))
    assert.match(text, /connection: close/i)
    assert.match(text, status === 400 ? /"code":"malformed_request"/ : /"code":"token_required"/)
  }
})

test('a body over the discard limit gets its answer, then the connection closes', {
  timeout: 60_000,
}, async (t) => {
  const limits = { discardBytes: 1_000_000, discardTimeout: 1_000 }
  const { connect, withToken } = await start(t, limits)
  for (const connection of ['connection: keep-alive', 'connection: close']) {
    const head = [withToken, FORM, 'content-length: 200000000', connection]
    const body = bodyOf('--x malformed\r\n', 50_000_000)
    const client = await connect(rawRequest(IMPORT, head) + body)

    assertProblem(await client.reply(), 400, 'malformed_request')
    assert.equal(await client.ended, '')
    await eventually(() => client.socket.closed || undefined, 'an end of the connection')
  }
})

test('a refused body that has already arrived is not kept in memory', async (t) => {
  const { connect, withToken } = await start(t)
  let refused: IncomingMessage | undefined
  const onStart = (message: unknown) => {
    refused = (message as { request: IncomingMessage }).request
  }
  subscribe('http.server.request.start', onStart)
  t.after(() => unsubscribe('http.server.request.start', onStart))
  const client = await connect(rawRequest(IMPORT, [withToken, FORM, 'transfer-encoding: chunked']))
  await eventually(() => refused?.listenerCount('data') || undefined, 'a reader of the body')

  client.write(`9\r\n--x\r\nbad\n\r\n${inChunks('x'.repeat(20_000))}`)

  assertProblem(await client.reply(), 400, 'malformed_request')
  await eventually(() => refused?.readableEnded || undefined, 'an end of the body')
})

test('the server waits for a slow refused body until the discard timeout', {
  timeout: 60_000,
}, async (t) => {
  const slow = async (discardTimeout: number, pause: number) => {
    const { connect, withToken } = await start(t, { discardTimeout })
    const client = await connect(rawRequest(IMPORT, [withToken, FORM, 'content-length: 27']))
    client.write('--x malformed\r\n')
    assertProblem(await client.reply(), 400, 'malformed_request')
    for (let i = 0; i < 12 && !client.socket.destroyed; i++) {
      await setTimeout(pause)
      if (client.socket.writable) client.write('x')
    }
    return client
  }

  const [inTime, late] = await Promise.all([slow(60_000, 10), slow(300, 50)])

  inTime.write(rawRequest('GET /healthz', []))
  assert.equal((await inTime.reply()).status, 200)
  assert.equal(await late.ended, '')
})

test('earlier pipelined answers are sent before the connection of a refused body closes', {
  timeout: 60_000,
}, async (t) => {
  const limits = { discardBytes: 100_000, discardTimeout: 300 }
  const { connect, withToken, storage } = await start(t, limits)
  const { listItems } = storage
  storage.listItems = async (store, page) => {
    await setTimeout(1_500)
    return listItems(store, page)
  }
  const refused = rawRequest(IMPORT, [withToken, 'content-type: text/csv'], bodyOf('', 1_000_000))

  const list = rawRequest('GET /api/v1/items?store_id=main', [withToken])
  const client = await connect(list + refused)

  assert.equal((await client.reply()).status, 200)
  assertProblem(await client.reply(), 415, 'unsupported_media_type')
  assert.equal(await client.ended, '')
})
