import assert from 'node:assert/strict'
import { Agent, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createHandler } from '../../http/index.ts'
import { createTill, openSqliteStorage, type Till } from '../../lib/index.ts'
import { serveHere, serveProcess } from '../support/cli.ts'
import { ask } from '../support/load.ts'
import { createShopFile } from '../support/served.ts'
import {
  assertProblem,
  connectTo,
  createClient,
  eventually,
  importForm,
  rawRequest,
  type Send,
} from '../support/server.ts'
import { soakOnly } from '../support/soak.ts'
import { createShop } from '../support/till.ts'

/** Opens the database for a moment. No server may hold it exclusively. */
async function withTill<T>(path: string, work: (till: Till) => Promise<T>): Promise<T> {
  const till = createTill({ storage: await openSqliteStorage(path) })
  try {
    return await work(till)
  } finally {
    await till.close()
  }
}

/** The tests of a stop under load also send webhooks. */
const SILENT = ['--no-webhooks']

async function startProcess(t: TestContext, path: string, args: readonly string[] = SILENT) {
  const server = await serveProcess(t, ['--port', '0', '--db', path, ...args])
  return { ...server, send: createClient(server.url) }
}

/** A server in this process, which takes a tenth of the CPU time. */
async function startHere(t: TestContext, path: string) {
  const server = await serveHere(t, ['--port', '0', '--db', path, ...SILENT])
  return { ...server, send: createClient(server.url) }
}

async function openSession(send: Send, public_key: string): Promise<string> {
  const parts = { public_key, json: { user_id: 'player' } }
  return (await send('POST /api/v1/identity/auth/token', parts)).json<{ token: string }>().token
}

async function itemsOf(send: Send, token: string) {
  const reply = await send('GET /api/v1/items?store_id=main', { token })
  assert.equal(reply.status, 200, reply.text)
  return reply.json<{ items: { id: string; name: string; display_name: string }[] }>().items
}

function newItem(name: string): object {
  return { store_id: 'main', name, display_name: `Item ${name}`, price: '1', type: 'consumable' }
}

test('SIGTERM finishes a request in flight, accepts no other, and exits with 0', async (t) => {
  const { db: path, account_key, public_key } = await createShopFile(t)
  const { child, closed, url, send, log } = await startProcess(t, path)
  const token = await openSession(send, public_key)
  const body = JSON.stringify(newItem('late'))
  const client = await connectTo(url)
  t.after(() => client.socket.destroy())
  const head = [`x-account-key: ${account_key}`, `content-length: ${body.length}`]
  client.write(rawRequest('POST /api/v1/items', head) + body.slice(0, 20))
  // The server has received it when it has answered a later request.
  assert.equal((await send('GET /healthz')).status, 200)

  child.kill('SIGTERM')
  await untilRefused(url)
  client.write(body.slice(20))
  const reply = await client.reply()

  assert.equal(reply.status, 200)
  assert.equal(await closed, 0)
  assert.equal(await client.ended, '')
  const again = await startHere(t, path)
  const names = (await itemsOf(again.send, token)).map(({ name }) => name)
  assert.deepEqual(names, ['gold', 'late'])
  const logged = log.join('\n')
  assert.match(logged, /"route":"\/api\/v1\/items","status":200/)
  for (const text of [account_key, public_key, token, 'late']) {
    assert.ok(!logged.includes(text), `logs ${text}`)
  }
})

async function untilRefused(url: string): Promise<void> {
  for (let attempts = 0; attempts < 2_000; attempts++) {
    const client = await connectTo(url).catch(() => undefined)
    if (!client) return
    client.socket.destroy()
    await setTimeout(5)
  }
  throw new Error('the server never stopped to take connections')
}

const CLIENTS = 16

for (const args of [[], ['--drain-delay', '1'], ['--workers', '2']]) {
  test(`SIGTERM under load resets no connection: serve ${args.join(' ')}`, {
    skip: soakOnly,
  }, async (t) => {
    const { db: path, account_key } = await createShopFile(t)
    const { child, closed, url } = await startProcess(t, path, args)
    const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS })
    t.after(() => agent.destroy())
    const headers = { 'x-account-key': account_key }
    const acknowledged: string[] = []
    const closing: number[] = []

    // Each client uses one connection until an answer closes it.
    const client = async (number: number) => {
      for (let n = 0; ; n++) {
        const name = `load_${number}_${n}`
        const reply = await ask(agent, `${url}/api/v1/items`, headers, newItem(name))
        assert.equal(reply.status, 200, reply.text)
        acknowledged.push(name)
        if (reply.headers.connection === 'close') return closing.push(number)
      }
    }
    const clients = Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)))
    await eventually(() => acknowledged.length > 10 * CLIENTS || undefined, 'ten rounds')
    child.kill('SIGTERM')
    await clients

    assert.equal(await closed, 0)
    assert.equal(closing.length, CLIENTS)
    const names = await withTill(path, (till) => namesIn(till, account_key))
    assert.deepEqual(new Set(names), new Set(['gold', ...acknowledged]))
  })
}

async function namesIn(till: Till, account_key: string): Promise<string[]> {
  const account = await till.accounts.authenticate(account_key)
  const names: string[] = []
  let cursor: string | undefined
  do {
    const from = cursor === undefined ? {} : { cursor }
    const page = await till.items.list(account, { store_id: 'main', ...from })
    names.push(...page.items.map(({ name }) => name))
    cursor = page.next
  } while (cursor !== undefined)
  return names
}

test('the handler works in any node:http server, without a log', async (t) => {
  const { till, account, item, token, account_key, public_key } = await createShop()
  const handler = createHandler(till, { limits: { jsonBytes: 200 } })
  const server = createServer((request, response) => {
    response.setHeader('x-mounted', 'yes')
    handler(request, response)
  })
  t.after(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const send = createClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const csv = 'transaction_id,sku,purchased_at\nT-1,gold,1709294400\n'

  const opened = await send('POST /api/v1/identity/auth/init', {
    public_key,
    json: { user_id: 'u' },
  })
  const read = await send(`GET /api/v1/items/${item.id}`, { token })
  const created = await send('POST /api/v1/items', { account_key, json: newItem('silver') })
  const large = await send('POST /api/v1/items', { account_key, json: newItem('x'.repeat(200)) })
  const imported = await send('POST /api/v1/purchases/import', { token, body: importForm(csv) })
  const nowhere = await send('GET /nowhere')

  assert.deepEqual(
    [opened.status, read.status, created.status, imported.text],
    [200, 200, 200, '{"ok":true}'],
  )
  assertProblem(large, 413, 'body_too_large')
  assertProblem(nowhere, 404, 'route_not_found')
  assert.equal(nowhere.headers.get('x-mounted'), 'yes')
  assert.equal((await till.purchases.list(account, { store_id: 'main' })).purchases.length, 1)
})
