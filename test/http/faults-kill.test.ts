// run: early
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createTill, openSqliteStorage } from '../../lib/index.ts'
import { tillkit } from '../support/cli.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { temporaryFolder } from '../support/folder.ts'
import { ask, assertWhole, eachOf, itemNamed, startWriters } from '../support/load.ts'
import { createRandom } from '../support/random.ts'
import {
  childrenOf,
  createShopFile,
  type ServedItems,
  type ServedProcess,
  type ShopFile,
} from '../support/served.ts'
import { connectTo, eventually, FORM_TYPE, RAW_IMPORT, rawRequest } from '../support/server.ts'
import { soakOnly } from '../support/soak.ts'

/** How often the server is killed; 50 times in a full run. */
const KILLS = Number(process.env.TILLKIT_TEST_KILLS ?? 2)

const random = createRandom()

/** Writes on 64 connections until a random number is acknowledged, then calls `end`. */
async function writeUntil(
  shop: ShopFile,
  server: ServedProcess,
  prefix: string,
  end: () => unknown,
) {
  const { acknowledged, unanswered, refused, stop } = startWriters(server.api, shop.account_key, {
    prefix,
  })
  const enough = 20 + random() * 60
  await eventually(() => acknowledged.size > enough || undefined, 'so many acknowledged items')
  await end()
  await stop()
  assert.deepEqual(refused, [])
  return { acknowledged, unanswered }
}

/** Asserts that all acknowledged records are stored and readable, and none is incomplete. */
async function assertKept(shop: ShopFile, server: ServedItems, acknowledged: Map<string, string>) {
  const items = await server.items()
  const names = new Map(items.map(({ id, name }) => [id, name]))
  assert.equal(new Set(names.values()).size, items.length)
  items.forEach(assertWhole)
  const agent = new Agent({ keepAlive: true })
  const headers = { authorization: `Bearer ${shop.token}` }
  await eachOf(acknowledged, async ([id, name]) => {
    assert.equal(names.get(id), name, 'an acknowledged item is stored')
    const { status, text } = await ask(agent, `${server.api}/items/${id}`, headers)
    assert.equal(status, 200)
    assertWhole(JSON.parse(text))
  })
  agent.destroy()
  return names
}

/**
 * Repeats the requests without an answer, as a client does: each record then exists exactly once.
 */
async function repeat(shop: ShopFile, server: ServedItems, names: Iterable<string>) {
  const before = new Map((await server.items()).map(({ id, name }) => [name, id]))
  const agent = new Agent({ keepAlive: true })
  await eachOf(names, async (name) => {
    const headers = { 'x-account-key': shop.account_key, 'idempotency-key': name }
    const { status, text } = await ask(agent, `${server.api}/items`, headers, itemNamed(name))
    assert.equal(status, 200, text)
    const { id } = JSON.parse(text)
    assert.equal(before.get(name) ?? id, id, 'the repeated request gets the first answer')
  })
  agent.destroy()
}

/** Asserts that the file is intact and has exactly one audit entry for each item. */
async function assertSound({ db }: ShopFile, items: number) {
  assert.equal((await tillkit(['check', '--db', db])).stdout, 'The database is sound\n')
  const till = createTill({ storage: await openSqliteStorage(db) })
  let entries = 0
  for await (const { action } of till.operator.allAudit({})) {
    if (action === 'item.create') entries++
  }
  await till.close()
  assert.equal(entries, items + 1, 'the shop has an item of its own')
}

test(`a server killed ${KILLS} times while 64 clients write keeps all acknowledged writes`, {
  skip: soakOnly,
}, async (t) => {
  const shop = await createShopFile(t)
  const all = new Map<string, string>()
  const counts = { acknowledged: 0, unanswered: 0, 'stored without an answer': 0 }
  let server = await shop.serve()
  for (let round = 0; round < KILLS; round++) {
    const { child, ended } = server
    const { acknowledged, unanswered } = await writeUntil(shop, server, `r${round}`, async () => {
      child.kill('SIGKILL')
      await ended
    })
    server = await shop.serve()
    const names = await assertKept(shop, server, acknowledged)
    for (const [id, name] of acknowledged) all.set(id, name)
    for (const [id, name] of all) assert.equal(names.get(id), name, 'also after later crashes')
    const isThere = new Set(names.values())
    counts.acknowledged += acknowledged.size
    counts.unanswered += unanswered.size
    counts['stored without an answer'] += [...unanswered].filter((name) => isThere.has(name)).length
    await repeat(shop, server, unanswered)
  }
  const items = await server.items()
  server.child.kill('SIGTERM')
  assert.deepEqual(await server.ended, { code: 0, signal: null })
  await assertSound(shop, items.length)
  t.diagnostic(JSON.stringify(counts))
})

test('when the primary process is killed its workers exit, and a new server has all records', async (t) => {
  const shop = await createShopFile(t)
  const server = await shop.serve(['--workers', '2'])
  const { acknowledged, unanswered } = await writeUntil(shop, server, 'first', async () => {
    server.child.kill('SIGKILL')
    await server.ended
  })
  const next = await shop.serveHere()
  await assertKept(shop, next, acknowledged)
  await repeat(shop, next, unanswered)
  await assertSound(shop, (await next.items()).length)
})

function terminate(pids: readonly number[]) {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGTERM')
    } catch {} // an idle one may have ended already
  }
}

const CLIENTS = 16
const stops: [what: string, args: string[], pids: (first: number) => number[]][] = [
  ['the server', [], (first) => [first]],
  ['the server with a drain delay', ['--drain-delay', '1'], (first) => [first]],
  ['the primary process', ['--workers', '2'], (first) => [first]],
  // The default of systemd, and of a terminal at Ctrl-C.
  ['all its processes at once', ['--workers', '2'], (first) => [first, ...childrenOf(first)]],
]
for (const [what, args, pids] of stops) {
  test(`SIGTERM to ${what} interrupts no request and resets no connection`, {
    skip: args.length > 0 && soakOnly,
  }, async (t) => {
    const shop = await createShopFile(t)
    const server = await shop.serve(args)
    const upload = await beginImport(t, shop, server)
    const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS })
    t.after(() => agent.destroy())
    const headers = { 'x-account-key': shop.account_key }
    const acknowledged = new Map<string, string>()
    // Each client uses one connection until an answer closes it.
    const client = async (number: number) => {
      for (let n = 0; ; n++) {
        const name = `load_${number}_${n}`
        const reply = await ask(agent, `${server.api}/items`, headers, itemNamed(name))
        assert.equal(reply.status, 200, reply.text)
        acknowledged.set(JSON.parse(reply.text).id, name)
        if (reply.headers.connection === 'close') return
      }
    }
    const clients = Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)))
    await eventually(() => acknowledged.size > 10 * CLIENTS || undefined, 'ten rounds')
    terminate(pids(server.child.pid as number))
    await clients
    await refused(server)
    upload.sendBody()
    assert.equal((await upload.reply()).status, 200)
    assert.deepEqual(await server.ended, { code: 0, signal: null })
    assert.equal(await upload.ended, '')

    const faults = server.log.filter((line) => line.includes('"level":"error"'))
    assert.deepEqual(faults, [])
    const names = await assertKept(shop, await shop.serveHere(), acknowledged)
    assert.equal(names.size, acknowledged.size, 'every stored item was acknowledged')
  })
}

/** An import for which the server has sent 100 Continue. */
async function beginImport(t: TestContext, shop: ShopFile, server: ServedProcess) {
  const client = await connectTo(server.url)
  t.after(() => client.socket.destroy())
  const length = `content-length: ${RAW_IMPORT.length}`
  const head = [`authorization: Bearer ${shop.token}`, FORM_TYPE, length, 'expect: 100-continue']
  client.write(rawRequest('POST /api/v1/purchases/import', head))
  assert.equal((await client.reply()).status, 100)
  return { ...client, sendBody: () => client.write(RAW_IMPORT) }
}

for (const workers of ['1', '2']) {
  test(`a second signal ends a stopping server at once (workers: ${workers})`, async (t) => {
    const shop = await createShopFile(t)
    const server = await shop.serve(['--workers', workers])
    const upload = await beginImport(t, shop, server)
    server.child.kill('SIGTERM')
    await refused(server)
    server.child.kill('SIGTERM')
    assert.deepEqual(await server.ended, { code: null, signal: 'SIGTERM' })
    assert.equal(await upload.ended, '')
  })
}

const hasNamespaces = spawnSync('unshare', ['--pid', '--fork', 'true']).status === 0

test('a second signal ends a stopping server at once as PID 1, as in a container', {
  skip: hasNamespaces ? false : 'no unshare here, or no right to use it',
}, async (t) => {
  const db = join(temporaryFolder(t), 'till.db')
  const serve = [process.execPath, 'dist/cli/main.js', 'serve', '--db', db, '--port', '0']
  // A second signal cuts the drain short: after the whole drain the exit code is 0.
  const args = ['--pid', '--fork', '--kill-child', ...serve, '--drain-delay', '60']
  const namespace = spawn('unshare', args, { stdio: ['ignore', 'pipe', 'ignore'] })
  t.after(() => namespace.kill('SIGKILL'))
  const [line] = await once(namespace.stdout, 'data')
  const url = /http:\/\/\S+/.exec(String(line))?.[0]
  const [pid = 0] = childrenOf(namespace.pid)
  const ended = once(namespace, 'exit')

  process.kill(pid, 'SIGTERM')
  await eventuallyHolds(async () => assert.equal((await fetch(`${url}/readyz`)).status, 503))
  process.kill(pid, 'SIGTERM')

  assert.deepEqual(await ended, [143, null])
})

/** Resolves when a server no longer answers new connections. */
async function refused({ url }: ServedProcess) {
  for (let i = 0; i < 1_000; i++) {
    // node:cluster may hold a connection of this moment until the process ends.
    const signal = AbortSignal.timeout(1_000)
    const headers = { connection: 'close' }
    const isRefused = await fetch(`${url}/healthz`, { headers, signal }).then(
      () => false,
      ({ name }: Error) => name !== 'TimeoutError',
    )
    if (isRefused) return
    await setTimeout(5)
  }
  assert.fail('the server never stopped answering')
}
