import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createTill, type Till } from '../../lib/index.ts'
import { createBalancer } from '../support/balancer.ts'
import { serveProcess } from '../support/cli.ts'
import { collect } from '../support/collect.ts'
import { startWriters, type Writers } from '../support/load.ts'
import { openPostgres, startPostgres } from '../support/postgres.ts'
import {
  assertProblem,
  createClient,
  eventually,
  importForm,
  type Parts,
  type Reply,
  type Send,
} from '../support/server.ts'
import { soakOnly } from '../support/soak.ts'
import { createShop } from '../support/till.ts'

const postgres = await startPostgres({ restarts: !soakOnly })

interface Server extends Awaited<ReturnType<typeof serveProcess>> {
  readonly send: Send
}

/** A server process with its own client. */
async function startServer(t: TestContext, db: string, args: readonly string[] = []) {
  const own = ['--db', db, '--port', '0', '--log', 'errors', '--no-webhooks']
  const served = await serveProcess(t, [...own, ...args])
  return { ...served, send: createClient(served.url) }
}

/** Servers on a new database, and the operator's till. */
async function startServers(t: TestContext, args: readonly string[] = [], count = 3) {
  const db = await postgres.createSchema(t)
  const storage = await openPostgres(t, db, { max: 3 })
  const till = createTill({ storage })
  const starting = Array.from({ length: count }, () => startServer(t, db, args))
  return { db, storage, till, servers: await Promise.all(starting) }
}

/** Serves the tests that neither stop a server nor set its options. */
const shared = await startServers({ after } as TestContext)

/** A new shop on these servers. */
async function shopOn(servers: typeof shared | Promise<typeof shared>) {
  const running = await servers
  return { ...running, ...(await createShop(running.till)) }
}

function at(servers: readonly Server[], index: number): Send {
  return (servers[index % servers.length] as Server).send
}

function everywhere(servers: readonly Server[], request: string, parts: Parts): Promise<Reply[]> {
  return Promise.all(servers.map(({ send }) => send(request, parts)))
}

function statusesOf(replies: readonly Reply[]): number[] {
  return replies.map(({ status }) => status)
}

function newItem(name: string, store_id = 'main'): object {
  return { store_id, name, display_name: name, price: '1', type: 'consumable' }
}

async function openSession(send: Send, public_key: string, user_id = 'player'): Promise<string> {
  const parts = { public_key, json: { user_id } }
  return (await send(`POST ${AUTH}/token`, parts)).json<{ token: string }>().token
}

function idOf(reply: Reply): string {
  assert.equal(reply.status, 200, reply.text)
  return reply.json<{ id: string }>().id
}

async function namesOf(till: Till, account: Parameters<Till['items']['list']>[0]) {
  return (await collect(till.items.all(account, { store_id: 'main' }))).map(({ name }) => name)
}

/** Between the requests of a client under load. */
const PAUSE_MS = 10
/** Between the requests of a client that waits for a change of several seconds. */
const POLL_MS = 250

const AUTH = '/api/v1/identity/auth'
const LIST = 'GET /api/v1/items?store_id=main'
const CREATE = 'POST /api/v1/items'
const IMPORT = 'POST /api/v1/purchases/import'

test('all servers accept new credentials immediately', async () => {
  const { servers, till, account, account_key, project } = await shopOn(shared)

  for (let round = 0; round < 3; round++) {
    const user_id = `user_${round}`
    const token = await openSession(at(servers, round), project.public_key, user_id)
    assert.deepEqual(statusesOf(await everywhere(servers, LIST, { token })), [200, 200, 200])
    await till.sessions.revoke(account, { project_id: project.id, user_id })
    assert.deepEqual(statusesOf(await everywhere(servers, LIST, { token })), [401, 401, 401])
    const again = await openSession(at(servers, round + 1), project.public_key, user_id)
    const replies = await everywhere(servers, LIST, { token: again })
    assert.deepEqual(statusesOf(replies), [200, 200, 200])
  }

  const added = await till.accounts.addKey(account)
  const parts = { account_key: added.account_key, json: {} }
  assert.deepEqual(statusesOf(await everywhere(servers, CREATE, parts)), [400, 400, 400])
  await till.accounts.revokeKey(account, added.key_id)
  assert.deepEqual(statusesOf(await everywhere(servers, CREATE, parts)), [401, 401, 401])
  const kept = await everywhere(servers, CREATE, { account_key, json: {} })
  assert.deepEqual(statusesOf(kept), [400, 400, 400])

  const rotation = { id: project.id, gracePeriod: 0 }
  const { public_key } = await till.projects.rotateKey(account, rotation)
  const session = { json: { user_id: 'player' } }
  const opened = await everywhere(servers, `POST ${AUTH}/init`, { public_key, ...session })
  const former = { public_key: project.public_key, ...session }
  const refused = await everywhere(servers, `POST ${AUTH}/init`, former)
  assert.deepEqual(statusesOf(opened), [200, 200, 200])
  for (const reply of refused) assertProblem(reply, 400, 'invalid_public_key')
})

test('an idempotency key used at one server creates no second record at another', async () => {
  const { servers, account_key, account, till } = await shopOn(shared)

  for (let round = 0; round < 3; round++) {
    const parts = {
      account_key,
      headers: { 'idempotency-key': `once_${round}` },
      json: newItem(`item_${round}`),
    }
    const first = await everywhere(servers, CREATE, parts)
    const later = await everywhere(servers, CREATE, parts)
    assert.equal(new Set([...first, ...later].map(idOf)).size, 1)
    const other = { ...parts, json: newItem(`other_${round}`) }
    assertProblem(await at(servers, round)(CREATE, other), 400, 'invalid_request')
  }
  assert.equal((await namesOf(till, account)).length, 4)
})

test('exactly one of simultaneous creates of one SKU at several servers succeeds', async () => {
  const { servers, account_key, token } = await shopOn(shared)

  for (let round = 0; round < 4; round++) {
    const parts = { account_key, json: newItem(`sku_${round}`) }
    const replies = (await Promise.all([0, 1].map(() => everywhere(servers, CREATE, parts)))).flat()
    const made = replies.filter(({ status }) => status === 200)
    assert.equal(made.length, 1)
    for (const reply of replies) {
      if (reply !== made[0]) assertProblem(reply, 400, 'invalid_request')
    }
    const read = `GET /api/v1/items/${idOf(made[0] as Reply)}`
    assert.deepEqual(statusesOf(await everywhere(servers, read, { token })), [200, 200, 200])
  }
})

test('all servers see an import, and two imports into one store run one after another', async () => {
  const { servers, token, account, till } = await shopOn(shared)
  const fileOf = (count: number) => {
    const rows = Array.from({ length: count }, (_, row) => `T-${row},gold,1709294400,u\n`)
    return `transaction_id,sku,purchased_at,user_id\n${rows.join('')}`
  }
  const load = async (server: number, csv: string) => {
    const reply = await at(servers, server)(IMPORT, { token, body: importForm(csv) })
    assert.equal(reply.text, '{"ok":true}')
    return Number(reply.headers.get('import-rows')) - Number(reply.headers.get('import-skipped'))
  }

  assert.equal(await load(0, fileOf(500)), 500)
  assert.equal(await load(1, fileOf(500)), 0)
  // Each import waits for the previous one and then sees its rows: one of them adds each row.
  const sizes = [12_000, 1_000, 2_000]
  const added = await Promise.all(sizes.map((size, server) => load(server, fileOf(size))))
  assert.equal(
    added.reduce((sum, each) => sum + each),
    11_500,
  )
  let count = 0
  for await (const _ of till.purchases.all(account, { store_id: 'main' })) count++
  assert.equal(count, 12_000)
})

test('every read that starts after an acknowledged write shows it, at every server', async () => {
  const { servers, account_key, account, project, till, token } = await shopOn(shared)

  const client = async (number: number) => {
    const store_id = `client_${number}`
    await till.stores.create(account, {
      project_id: project.id,
      store_id,
      store_type: 'web',
      store_config: { currency: 'USD' },
    })
    const etags = new Map<number, string>()
    for (let round = 1; round <= 12; round++) {
      const json = newItem(`item_${round}`, store_id)
      const id = idOf(await at(servers, number + round)(CREATE, { account_key, json }))
      const one = number + round + 1
      const other = number + round + 2
      const headers = { 'if-none-match': etags.get(other % servers.length) ?? '"none"' }
      const [item, list] = await Promise.all([
        at(servers, one)(`GET /api/v1/items/${id}`, { token }),
        round % 3 === 0
          ? at(servers, other)(`GET /api/v1/items?store_id=${store_id}`, { token, headers })
          : undefined,
      ])
      assert.equal(idOf(item), id)
      if (!list) continue
      assert.equal(list.status, 200)
      assert.equal(list.json<{ items: object[] }>().items.length, round)
      etags.set(other % servers.length, list.headers.get('etag') ?? '')
    }
  }
  const rename = async () => {
    for (let round = 1; round <= 12; round++) {
      const name = `Game ${round}`
      const json = { id: project.id, name }
      const changed = await at(servers, round)('PUT /api/v1/projects', { token, json })
      assert.equal(changed.status, 200, changed.text)
      const parts = { public_key: project.public_key, json: { user_id: 'u' } }
      const opened = await at(servers, round + 1)(`POST ${AUTH}/init`, parts)
      assert.equal(opened.json<{ project: { name: string } }>().project.name, name)
    }
  }
  await Promise.all([rename(), ...[0, 1, 2].map(client)])
})

// Ends the tokens of the tests before it.
test('all servers sign with a new key within its handover time, and no token fails', {
  skip: soakOnly,
}, async () => {
  const { servers, till, storage, project, token } = await shopOn(shared)
  const [before] = await storage.listSigningKeys()
  const { kid } = await till.operations.rotateSigningKeys()

  const signers = new Set<number>()
  for (let turn = 0; signers.size < servers.length; turn++) {
    assert.ok(turn < 1_000, 'some server never signs with the new key')
    const made = await openSession(at(servers, turn), project.public_key)
    const head = JSON.parse(Buffer.from(made.split('.')[0] ?? '', 'base64url').toString())
    if (head.kid === kid) signers.add(turn % servers.length)
    await setTimeout(POLL_MS)
    for (const each of [made, token]) {
      const replies = await everywhere(servers, LIST, { token: each })
      assert.deepEqual(statusesOf(replies), [200, 200, 200])
    }
  }

  const added = { kid: 'added', secret: new Uint8Array(32), created_at: new Date().toISOString() }
  await storage.rotateSigningKeys(added, () => [before?.kid ?? ''])
  const refusing = new Set<number>()
  for (let turn = 0; refusing.size < servers.length; turn++) {
    assert.ok(turn < 1_000, 'some server never lets go of the key')
    const { status } = await at(servers, turn)(LIST, { token })
    if (status === 401) refusing.add(turn % servers.length)
    else assert.ok(!refusing.has(turn % servers.length), 'a key that was dropped is back')
    await setTimeout(POLL_MS)
  }
})

test('worker processes on PostgreSQL act as one server', { skip: soakOnly }, async (t) => {
  const { servers, account_key, token } = await shopOn(startServers(t, ['--workers', '2'], 1))
  const headers = { connection: 'close' } // so that any worker may get it
  for (let round = 0; round < 10; round++) {
    const json = newItem(`new_${round}`)
    const id = idOf(await at(servers, 0)(CREATE, { account_key, json, headers }))
    const read = await at(servers, 0)(`GET /api/v1/items/${id}`, { token, headers })
    assert.equal(idOf(read), id)
  }
  servers[0]?.child.kill('SIGTERM')
  assert.equal(await servers[0]?.closed, 0)
})

/** Two clients at each server that create items. The names of their items begin with `at`. */
function startWritersAt(t: TestContext, servers: readonly Server[], account_key: string) {
  const writers = servers.map(({ url }, index) =>
    startWriters(`${url}/api/v1`, account_key, { clients: 2, prefix: `at_${index}` }),
  )
  const stop = () => Promise.all(writers.map((each) => each.stop()))
  t.after(stop)
  return { writers, stop }
}

/** Waits until each has this many more successful answers. */
async function progress(writers: readonly Writers[], more: number): Promise<void> {
  const goals = writers.map(({ acknowledged }) => acknowledged.size + more)
  const isThere = () => writers.every((each, i) => each.acknowledged.size >= Number(goals[i]))
  await eventually(() => isThere() || undefined, 'progress')
}

function assertKept(names: readonly string[], writers: readonly Writers[]): void {
  const kept = new Set(names)
  assert.equal(kept.size, names.length, 'a name is stored twice')
  const acknowledged = writers.flatMap((each) => [...each.acknowledged.values()])
  assert.deepEqual(
    acknowledged.filter((name) => !kept.has(name)),
    [],
  )
  const made = names.filter((name) => !name.startsWith('at_'))
  assert.deepEqual(made, ['gold'])
}

test('a killed server loses no acknowledged write and does not affect others', {
  skip: soakOnly,
}, async (t) => {
  const { servers, account_key, till, account } = await shopOn(startServers(t, [], 2))
  const { writers, stop } = startWritersAt(t, servers, account_key)
  const others = writers.slice(1)
  await progress(writers, 15)

  servers[0]?.child.kill('SIGKILL')

  await servers[0]?.closed
  await progress(others, 30)
  await stop()
  for (const { refused, unanswered } of others) {
    assert.deepEqual([refused, unanswered.size], [[], 0])
  }
  assertKept(await namesOf(till, account), writers)
})

test('while PostgreSQL restarts requests are 503; then all works, with nothing lost or duplicated', {
  skip: soakOnly || postgres.isForeign,
}, async (t) => {
  const { servers, account_key, till, account, token } = await shopOn(startServers(t, [], 2))
  const { writers, stop } = startWritersAt(t, servers, account_key)
  await progress(writers, 15)

  await postgres.stop()
  await eventually(
    () => writers.every(({ refused }) => refused.length > 0) || undefined,
    'a refusal by each server',
  )
  const read = await at(servers, 0)(LIST, { token })
  const ready = await everywhere(servers, 'GET /readyz', {})
  const alive = await everywhere(servers, 'GET /healthz', {})
  await postgres.start()

  await progress(writers, 15)
  await stop()
  assertProblem(read, 503, 'storage_unavailable')
  assert.deepEqual(statusesOf(ready), [503, 503])
  assert.deepEqual(statusesOf(alive), [200, 200])
  for (const { refused, unanswered } of writers) {
    assert.equal(unanswered.size, 0)
    for (const { status, headers, text } of refused) {
      const { code, detail } = JSON.parse(text)
      assert.deepEqual([status, code], [503, 'storage_unavailable'])
      assert.doesNotMatch(detail, /127\.0\.0\.1|postgres|ECONN/)
      assert.match(headers['retry-after'] ?? '', /^\d+$/)
    }
  }
  assertKept(await namesOf(till, account), writers)
})

test('a rolling restart under load fails no request', { skip: soakOnly }, async (t) => {
  const drained = ['--drain-delay', '1']
  const { servers, db, account_key, token, till, account } = await shopOn(
    startServers(t, drained, 2),
  )
  const balancer = createBalancer(servers.map(({ url }) => url))
  t.after(balancer.stop)
  const isServing = (count: number) =>
    eventually(() => balancer.ready().length === count || undefined, `${count} ready servers`)
  await isServing(2)

  const answers: { status: number; text: string }[] = []
  const created: string[] = []
  let isStopped = false
  const load = async (client: number) => {
    for (let number = 0; !isStopped; number++) {
      const name = `roll_${client}_${number}`
      const headers = { 'x-account-key': account_key, 'content-type': 'application/json' }
      const body = JSON.stringify(newItem(name))
      const made = await balancer.send('POST', '/api/v1/items', headers, body)
      answers.push(made)
      created.push(name)
      const path = `/api/v1/items/${JSON.parse(made.text).id}`
      answers.push(await balancer.send('GET', path, { authorization: `Bearer ${token}` }))
      await setTimeout(3 * PAUSE_MS)
    }
  }
  const loads = Promise.all([0, 1, 2, 3].map(load))
  // `loads` reports a failure later.
  loads.catch(() => {
    isStopped = true
  })
  const roll = async () => {
    for (const server of servers) {
      server.child.kill('SIGTERM')
      assert.equal(await server.closed, 0)
      await startServer(t, db, [...drained, '--port', new URL(server.url).port])
      await isServing(2)
    }
  }
  try {
    await roll()
    // Fails unless connections are kept alive.
    await eventually(
      () => answers.length > 10 * balancer.opened() || undefined,
      'ten answers for each connection',
    )
  } finally {
    isStopped = true
  }
  await loads

  assert.deepEqual(
    answers.filter(({ status }) => status !== 200),
    [],
  )
  assert.deepEqual(new Set(await namesOf(till, account)), new Set(['gold', ...created]))
})
