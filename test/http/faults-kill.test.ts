import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createTill, openSqliteStorage } from '../../lib/index.ts'
import { tillkit } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'
import { ask, assertWhole, eachOf, itemNamed, startWriters } from '../support/load.ts'
import { createRandom } from '../support/random.ts'
import { childrenOf, createServedShop, type ServedProcess } from '../support/served.ts'
import { connectTo, eventually, rawRequest } from '../support/server.ts'

/** How often the server is killed; 50 in a full run. */
const KILLS = Number(process.env.TILLKIT_TEST_KILLS ?? 3)

const random = createRandom()

type Shop = Awaited<ReturnType<typeof createServedShop>>

/** Writes on 64 connections until some are acknowledged, how many is up to chance; then `end`. */
async function writeUntil(shop: Shop, server: ServedProcess, prefix: string, end: () => unknown) {
  const { acknowledged, unanswered, refused, stop } = startWriters(server.api, shop.account_key, {
    prefix,
  })
  const enough = 20 + random() * 200
  await eventually(() => acknowledged.size > enough || undefined, 'so many acknowledged items')
  await end()
  await stop()
  assert.deepEqual(refused, [])
  return { acknowledged, unanswered }
}

/** What was acknowledged is there and reads back, and nothing is there by half. */
async function assertKept(shop: Shop, server: ServedProcess, acknowledged: Map<string, string>) {
  const items = await server.items()
  const names = new Map(items.map(({ id, name }) => [id, name]))
  assert.equal(new Set(names.values()).size, items.length)
  items.forEach(assertWhole)
  const agent = new Agent({ keepAlive: true })
  const headers = { authorization: `Bearer ${shop.token}` }
  await eachOf(acknowledged, async ([id, name]) => {
    assert.equal(names.get(id), name, 'what was acknowledged is there')
    const { status, text } = await ask(agent, `${server.api}/items/${id}`, headers)
    assert.equal(status, 200)
    assertWhole(JSON.parse(text))
  })
  agent.destroy()
  return names
}

/**
 * Sends what had no answer once more, as a client does: it is there once, whether it was before.
 */
async function repeat(shop: Shop, server: ServedProcess, names: Iterable<string>) {
  const before = new Map((await server.items()).map(({ id, name }) => [name, id]))
  const agent = new Agent({ keepAlive: true })
  await eachOf(names, async (name) => {
    const headers = { 'x-account-key': shop.account_key, 'idempotency-key': name }
    const { status, text } = await ask(agent, `${server.api}/items`, headers, itemNamed(name))
    assert.equal(status, 200, text)
    const { id } = JSON.parse(text)
    assert.equal(before.get(name) ?? id, id, 'the repeat has the answer of the first')
  })
  agent.destroy()
}

/** The file is sound, and has an entry in the audit log for each item, no more. */
async function assertSound({ db }: Shop, items: number) {
  assert.equal((await tillkit(['check', '--db', db])).stdout, 'The database is sound\n')
  const till = createTill({ storage: await openSqliteStorage(db) })
  let entries = 0
  for await (const { action } of till.operations.allAudit({})) {
    if (action === 'item.create') entries++
  }
  await till.close()
  assert.equal(entries, items + 1, 'the shop has an item of its own')
}

test(`killed ${KILLS} times while 64 clients write, a server keeps all that it acknowledged`, async (t) => {
  const shop = await createServedShop(t)
  const all = new Map<string, string>()
  const figures = { acknowledged: 0, unanswered: 0, 'there all the same': 0 }
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
    figures.acknowledged += acknowledged.size
    figures.unanswered += unanswered.size
    figures['there all the same'] += [...unanswered].filter((name) => isThere.has(name)).length
    await repeat(shop, server, unanswered)
  }
  const items = await server.items()
  server.child.kill('SIGTERM')
  assert.deepEqual(await server.ended, { code: 0, signal: null })
  await assertSound(shop, items.length)
  t.diagnostic(JSON.stringify(figures))
})

test('a worker that is killed while 64 clients write takes nothing acknowledged along', async (t) => {
  const shop = await createServedShop(t)
  const server = await shop.serve(['--workers', '2'])
  const [victim = 0] = childrenOf(server.child.pid)
  const { acknowledged, unanswered } = await writeUntil(shop, server, 'worker', async () => {
    process.kill(victim, 'SIGKILL')
    const replaced = () => {
      const now = childrenOf(server.child.pid)
      return now.length === 2 && !now.includes(victim) ? true : undefined
    }
    await eventually(replaced, 'another worker')
  })
  await assertKept(shop, server, acknowledged)
  await repeat(shop, server, unanswered)
  const { length } = await server.items()
  server.child.kill('SIGTERM')
  assert.deepEqual(await server.ended, { code: 0, signal: null })
  await assertSound(shop, length)
})

test('when the first process is killed, its workers end too and a new one serves all', async (t) => {
  const shop = await createServedShop(t)
  const server = await shop.serve(['--workers', '2'])
  const { acknowledged, unanswered } = await writeUntil(shop, server, 'first', async () => {
    server.child.kill('SIGKILL')
    await server.ended
  })
  const next = await shop.serve(['--workers', '2'])
  await assertKept(shop, next, acknowledged)
  await repeat(shop, next, unanswered)
  await assertSound(shop, (await next.items()).length)
})

function terminate(pids: readonly number[]) {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGTERM')
    } catch {} // one that had nothing to do may have ended when the first was told
  }
}

const stops: [what: string, args: string[], pids: (first: number) => number[]][] = [
  ['the server', [], (first) => [first]],
  ['the first of its processes', ['--workers', '2'], (first) => [first]],
  // As systemd does unless told otherwise, and a terminal at Ctrl-C.
  ['all its processes at once', ['--workers', '2'], (first) => [first, ...childrenOf(first)]],
]
for (const [what, args, pids] of stops) {
  test(`SIGTERM to ${what} cuts no request that was begun`, async (t) => {
    const shop = await createServedShop(t)
    const server = await shop.serve(args)
    const upload = await beginImport(t, shop, server)
    const { acknowledged } = await writeUntil(shop, server, 'stop', async () => {
      terminate(pids(server.child.pid as number))
      await refused(server)
      upload.sendBody()
      assert.equal((await upload.reply()).status, 200)
      assert.deepEqual(await server.ended, { code: 0, signal: null })
    })
    const faults = server.log.filter((line) => !line.includes('"level":"warn"'))
    assert.deepEqual(faults, [])
    const next = await shop.serve()
    await assertKept(shop, next, acknowledged)
    const there = (await next.items()).map(({ id }) => id)
    const untold = there.filter((id) => !acknowledged.has(id))
    assert.deepEqual(untold, [], 'whoever wrote something was told so')
  })
}

/** An import that the server has begun to take: it has asked for the body. */
async function beginImport(t: TestContext, shop: Shop, server: ServedProcess) {
  const client = await connectTo(server.url)
  t.after(() => client.socket.destroy())
  const body = [
    '--x\r\ncontent-disposition: form-data; name="store_id"\r\n\r\nmain\r\n',
    '--x\r\ncontent-disposition: form-data; name="file"; filename="a.csv"\r\n\r\n',
    'transaction_id,sku,purchased_at\nT-1,gold,1700000000\n\r\n--x--\r\n',
  ].join('')
  client.write(
    rawRequest('POST /api/v1/purchases/import', [
      `authorization: Bearer ${shop.token}`,
      'content-type: multipart/form-data; boundary=x',
      `content-length: ${body.length}`,
      'expect: 100-continue',
    ]),
  )
  assert.equal((await client.reply()).status, 100)
  return { ...client, sendBody: () => client.write(body) }
}

for (const workers of ['1', '2']) {
  test(`a second signal ends a stop at once (workers: ${workers})`, async (t) => {
    const shop = await createServedShop(t)
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

test('a second signal ends a stop at once as PID 1, as in a container', {
  skip: hasNamespaces ? false : 'no unshare here, or no right to use it',
}, async (t) => {
  const db = join(temporaryFolder(t), 'till.db')
  const serve = [process.execPath, 'dist/cli/main.js', 'serve', '--db', db, '--port', '0']
  // The second signal cuts a minute of drain short; without it the process ends with 0.
  const args = ['--pid', '--fork', '--kill-child', ...serve, '--drain-delay', '60']
  const namespace = spawn('unshare', args, { stdio: ['ignore', 'pipe', 'ignore'] })
  t.after(() => namespace.kill('SIGKILL'))
  await once(namespace.stdout, 'data')
  const [pid = 0] = childrenOf(namespace.pid)
  const ended = once(namespace, 'exit')

  process.kill(pid, 'SIGTERM')
  await setTimeout(200)
  process.kill(pid, 'SIGTERM')

  assert.deepEqual(await ended, [143, null])
})

/** Resolves when a server answers no new connection any more. */
async function refused({ url }: ServedProcess) {
  for (let i = 0; i < 1_000; i++) {
    // One that comes in the very moment is held by node:cluster until the process ends.
    const signal = AbortSignal.timeout(1_000)
    const headers = { connection: 'close' }
    const isAnswered = await fetch(`${url}/healthz`, { headers, signal }).then(
      () => true,
      () => false,
    )
    if (!isAnswered) return
    await setTimeout(5)
  }
  assert.fail('it answered for ever')
}
