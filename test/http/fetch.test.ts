import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { receiveBody } from '../../http/body.ts'
import { FetchExchange } from '../../http/fetch-exchange.ts'
import { createFetchHandler, type HandlerOptions, type LogEntry } from '../../http/index.ts'
import { createMemoryStorage, type Together } from '../../lib/index.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { assertProblem, createClient, createSignal } from '../support/server.ts'
import { createShop, memoryTill } from '../support/till.ts'

const LIST = '/api/v1/items?store_id=main'
const ORIGIN = 'http://shop.example'

/** A shop in memory behind a fetch handler. */
async function start(options: HandlerOptions<Request> = {}) {
  const storage = createMemoryStorage()
  const till = memoryTill({ storage })
  const shop = await createShop(till)
  const log: LogEntry[] = []
  const handler = createFetchHandler(till, { log: (entry) => void log.push(entry), ...options })
  const send = createClient(ORIGIN, (request) => handler(request))
  const withToken = { headers: { authorization: `Bearer ${shop.token}` } }
  return { ...shop, storage, till, log, handler, send, withToken }
}

/** Adds so many large items that the list is streamed. */
async function fill({ storage, item }: Awaited<ReturnType<typeof start>>, items = 40) {
  const metadata = { text: 'x'.repeat(60_000) }
  for (let i = 0; i < items; i++) {
    await storage.insertItem({ ...item, id: `itm_${i}`, name: `item_${i}`, metadata })
  }
}

test('a prefix without the option basePath is 404, and the answer says so', async () => {
  const { send, token } = await start()

  const prefixed = assertProblem(await send(`GET /shop${LIST}`, { token }), 404, 'route_not_found')
  const other = assertProblem(await send('GET /api/v1/nowhere'), 404, 'route_not_found')

  assert.match(prefixed.detail, /basePath/)
  assert.equal(other.detail, 'No route has this path')
})

test('the limits and the log use the address that the host passes', async () => {
  const { handler, log, withToken } = await start({ rateLimitAddress: 1 })
  const ask = async (client: string) =>
    (await handler(new Request(ORIGIN + LIST, withToken), { client })).status

  assert.deepEqual([await ask('192.0.2.1'), await ask('192.0.2.1')], [200, 429])
  assert.equal(await ask('192.0.2.2'), 200)
  assert.equal(log.at(-1)?.client, '192.0.2.2')
})

test('a body that the host has read is refused with advice', async () => {
  const { handler, account } = await start()
  const type = { 'content-type': 'application/json' }
  const headers = { 'x-account-key': account.account_key, ...type }
  const request = new Request(`${ORIGIN}/api/v1/items`, { method: 'POST', headers, body: '{}' })
  await request.text()

  const answer = await handler(request)

  assert.equal(answer.status, 500)
  assert.match(await answer.text(), /body_already_read.*mount/)
})

test('a list is read from the storage only as fast as the host reads the answer', async () => {
  const shop = await start()
  await fill(shop)
  const { handler, log, storage, withToken } = shop
  let pages = 0
  const { listItems } = storage
  storage.listItems = (...args) => {
    pages++
    return listItems(...args)
  }

  const answer = await handler(new Request(ORIGIN + LIST, withToken))
  const before = pages
  const { items } = (await answer.json()) as { items: object[] }

  assert.equal(items.length, 41)
  assert.ok(before < 3 && pages > before, `${before} of ${pages} pages`)
  assert.deepEqual(
    log.map(({ status, level }) => [status, level]),
    [[200, 'info']],
  )
})

test('an answer that nobody reads, or not to its end, is logged as 499', async () => {
  const shop = await start({ limits: { answerTimeout: 50 } })
  await fill(shop)
  const { handler, log, withToken } = shop

  const unread = await handler(new Request(ORIGIN + LIST, withToken))
  const cancelled = await handler(new Request(ORIGIN + LIST, withToken))
  await cancelled.body?.cancel()

  await eventuallyHolds(() => assert.equal(log.length, 2))
  await assert.rejects(unread.text(), /reads too slowly/)
  assert.deepEqual(
    log.map(({ status, level }) => [status, level]),
    [
      [499, 'info'],
      [499, 'info'],
    ],
  )
})

test('a storage that fails in the middle of a list fails the body, and the log says why', async () => {
  const shop = await start()
  await fill(shop)
  const { handler, log, storage, withToken } = shop
  const { listItems } = storage
  let pages = 0
  storage.listItems = (...args) => {
    if (++pages > 2) throw new Error('the disk is gone')
    return listItems(...args)
  }

  const answer = await handler(new Request(ORIGIN + LIST, withToken))
  await assert.rejects(answer.text())

  assert.equal(log[0]?.status, 500)
  assert.match(log[0]?.error ?? '', /the disk is gone/)
})

/** The body of an import with this many rows, made while it is read. */
function createUpload(rows: number) {
  const upload = { pulled: 0, cancelled: false }
  const part = (name: string) => `--boundary\r\ncontent-disposition: form-data; name="${name}"`
  async function* chunks() {
    try {
      yield `${part('store_id')}\r\n\r\nmain\r\n${part('file')}; filename="a.csv"\r\n\r\n`
      yield 'transaction_id,sku,purchased_at\n'
      for (let row = 0; row < rows; upload.pulled++) {
        let text = ''
        for (const last = row + 1000; row < last; row++) text += `T-${row},gold,1709294400\n`
        yield text
      }
      yield '\r\n--boundary--\r\n'
    } finally {
      upload.cancelled = true
    }
  }
  const encoder = new TextEncoder()
  async function* bytes() {
    for await (const chunk of chunks()) yield encoder.encode(chunk)
  }
  const body: ReadableStream = ReadableStream.from(bytes())
  return { upload, body, type: 'multipart/form-data; boundary=boundary' }
}

function importRequest(token: string, { body, type }: ReturnType<typeof createUpload>) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': type }
  const init = { method: 'POST', headers, body, duplex: 'half' as const }
  return new Request(`${ORIGIN}/api/v1/purchases/import`, init)
}

test('an import is read as a stream', async () => {
  const { handler, token } = await start()
  const upload = createUpload(20_000)

  const answer = await handler(importRequest(token, upload))

  assert.equal(await answer.text(), '{"ok":true}')
  assert.equal(answer.headers.get('import-rows'), '20000')
})

test('the body of a polyfilled ReadableStream is read', async () => {
  const { handler, token } = await start()
  const request = importRequest(token, createUpload(1))
  const { body } = createUpload(2_000)
  Object.defineProperty(request, 'body', { value: { getReader: () => body.getReader() } })

  assert.equal((await handler(request)).headers.get('import-rows'), '2000')
})

const together: Together = (work) => work()

test('a body is not read ahead while a chunk is written', async () => {
  let pulls = 0
  const pull = (controller: ReadableStreamDefaultController) => {
    if (++pulls < 3) controller.enqueue(Buffer.from('chunk'))
    else controller.close()
  }
  const body = new ReadableStream({ pull }, { highWaterMark: 0 })
  const request = importRequest('', { ...createUpload(0), body })
  const written = createSignal()

  const limits = { bytes: 100, timeout: 60_000 }
  const received = receiveBody(new FetchExchange(request, together), limits, () => written.given)
  await setTimeout(20)
  assert.equal(pulls, 1)
  written.give()
  await received
  assert.equal(pulls, 3)
})

test('a large chunk is split, because a form is parsed with copies of a chunk', async () => {
  const init = { method: 'POST', body: Buffer.alloc(150_000) }
  const sizes: number[] = []

  await receiveBody(
    new FetchExchange(new Request(ORIGIN, init), together),
    { bytes: 150_000, timeout: 60_000 },
    ({ length }) => void sizes.push(length),
  )

  assert.deepEqual(sizes, [65_536, 65_536, 18_928])
})

test('an upload over the limit gets 413, and at most discardBytes of the rest are read', async () => {
  const limits = { uploadBytes: 100_000, discardBytes: 200_000 }
  const { handler, token } = await start({ limits })
  const upload = createUpload(1_000_000)

  const answer = await handler(importRequest(token, upload))

  assert.equal(answer.status, 413)
  await eventuallyHolds(() => assert.ok(upload.upload.cancelled))
  assert.ok(upload.upload.pulled < 30, `${upload.upload.pulled} chunks`)
})

test('a client that hangs up during its upload is logged as 499, not as an error', async () => {
  const { handler, token, log } = await start()
  const upload = createUpload(10)
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(Buffer.from('--')),
    pull: (controller) => controller.error(new Error('reset')),
  })

  await handler(importRequest(token, { ...upload, body }))

  assert.deepEqual([log[0]?.status, log[0]?.level], [499, 'info'])
})
