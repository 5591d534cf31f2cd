import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { createMemoryStorage, createTill, openSqliteStorage } from '../../lib/index.ts'
import { serveProcess } from '../support/cli.ts'
import { createShopFile } from '../support/served.ts'
import {
  assertProblem,
  createClient,
  createSignal,
  type Parts,
  type Reply,
  type Send,
  startServer,
} from '../support/server.ts'
import { createShop } from '../support/till.ts'

function newItem(name: string): Parts['json'] {
  return { store_id: 'main', name, display_name: 'Sword', price: '1', type: 'consumable' }
}

/** Sends the requests simultaneously, to the servers in turn. */
function sendAll(
  servers: readonly Send[],
  requests: readonly (readonly [request: string, parts: Parts])[],
): Promise<Reply[]> {
  return Promise.all(
    requests.map(([request, parts], index) => {
      const send = servers[index % servers.length] as Send
      return send(request, parts)
    }),
  )
}

/**
 * Asserts that exactly one of many creates succeeded, and that the others got the reason.
 */
function assertOneTook(replies: readonly Reply[], field: string): Reply {
  const [winner, ...others] = replies.filter(({ status }) => status === 200)
  assert.ok(winner, 'no create succeeded')
  assert.deepEqual(others, [])
  for (const reply of replies) {
    if (reply === winner) continue
    const { errors } = assertProblem(reply, 400, 'invalid_request')
    assert.deepEqual(
      errors?.map((error) => [error.field, error.code]),
      [[field, 'taken']],
    )
  }
  return winner
}

async function itemNames(send: Send, token: string): Promise<string[]> {
  const reply = await send('GET /api/v1/items?store_id=main', { token })
  return reply.json<{ items: { name: string }[] }>().items.map(({ name }) => name)
}

/** Servers that share one database. */
const setups: {
  readonly [name: string]: (t: TestContext, path: string) => Promise<readonly Send[]>
} = {
  'one server': async (t, path) => {
    const { send } = await startServer(t, { storage: await openSqliteStorage(path) })
    return [send]
  },
  'two server processes on one file': async (t, path) => {
    const args = ['--port', '0', '--db', path, '--no-webhooks']
    const [first, second] = await Promise.all([serveProcess(t, args), serveProcess(t, args)])
    return [createClient(first.url), createClient(second.url)]
  },
}

for (const [name, start] of Object.entries(setups)) {
  const ofThisFile = { after } as TestContext
  const { folder, db } = await createShopFile(ofThisFile)
  const servers = await start(ofThisFile, db)

  test(`${name}: one of 64 simultaneous creates of one SKU succeeds`, async (t) => {
    const { account_key, token } = await createShopFile(t, { folder })
    const json = newItem('sword')

    const replies = await sendAll(
      servers,
      Array.from({ length: 64 }, () => ['POST /api/v1/items', { account_key, json }] as const),
    )

    const { id } = assertOneTook(replies, 'name').json<{ id: string }>()
    for (const send of servers) {
      assert.deepEqual(await itemNames(send, token), ['gold', 'sword'])
      assert.equal((await send(`GET /api/v1/items/${id}`, { token })).status, 200)
    }
  })

  test(`${name}: 64 simultaneous creates of 64 SKUs all succeed`, async (t) => {
    const { account_key, token } = await createShopFile(t, { folder })
    const names = Array.from({ length: 64 }, (_, i) => `sword_${i}`)

    const replies = await sendAll(
      servers,
      names.map((name) => ['POST /api/v1/items', { account_key, json: newItem(name) }] as const),
    )

    assert.deepEqual(
      replies.map(({ status }) => status),
      Array(64).fill(200),
    )
    assert.equal(new Set(replies.map((reply) => reply.json<{ id: string }>().id)).size, 64)
    for (const send of servers) {
      assert.deepEqual((await itemNames(send, token)).sort(), ['gold', ...names].sort())
    }
  })

  test(`${name}: one of 16 simultaneous creates of one store_id succeeds`, async (t) => {
    const { account_key, project_id } = await createShopFile(t, { folder })
    const json = { project_id, store_id: 'second', store_type: 'web' }

    const replies = await sendAll(
      servers,
      Array.from({ length: 16 }, () => ['POST /api/v1/stores', { account_key, json }] as const),
    )

    assertOneTook(replies, 'store_id')
  })

  test(`${name}: simultaneous changes of different project fields are all kept`, async (t) => {
    const { token, project_id: id } = await createShopFile(t, { folder })
    const put = (change: object) =>
      ['PUT /api/v1/projects', { token, json: { id, ...change } }] as const

    for (let round = 0; round < 8; round++) {
      const changes = [{ name: `Game ${round}` }, { platform: 'ios' }, { config: { round } }]
      await sendAll(servers, changes.map(put))
    }

    const [send] = servers
    const [request, parts] = put({})
    const reply = await send?.(request, parts)
    const { name, platform, config } = reply?.json<{ [field: string]: unknown }>() ?? {}
    assert.deepEqual([name, platform, config], ['Game 7', 'ios', { round: 7 }])
  })

  test(`${name}: all servers accept the tokens of each server, from the first request on`, async (t) => {
    const { db, project, account, public_key } = await createShopFile(t)
    const servers = await start(t, db)
    const open = [
      'POST /api/v1/identity/auth/token',
      { public_key, json: { user_id: 'u' } },
    ] as const

    const issued = await sendAll(servers, Array(8).fill(open))

    assert.equal(account.account_id, project.account_id)
    for (const reply of issued) {
      const { token } = reply.json<{ token: string }>()
      for (const send of servers) assert.deepEqual(await itemNames(send, token), ['gold'])
    }
  })
}

test('servers that create their first signing key simultaneously accept each other’s tokens', async (t) => {
  const shared = createMemoryStorage()
  const first = await startServer(t, { storage: shared })
  // The second one has found no key. The first one creates its own before the second does.
  const looked = createSignal()
  const mayGoOn = createSignal()
  const storage = { ...shared }
  storage.listSigningKeys = async () => {
    const keys = await shared.listSigningKeys()
    looked.give()
    await mayGoOn.given
    return keys
  }
  const second = await startServer(t, { storage })
  const { account_id, ...account } = await first.till.accounts.create({ name: 'Studio' })
  const game = { name: 'Game', bundle_id: 'com.example.game', platform: 'web' }
  const project = { account_id, ...game }
  const { id, public_key } = await first.till.projects.create({ account_id, ...account }, project)
  const open = { public_key, json: { user_id: 'u' } }

  const opening = second.send('POST /api/v1/identity/auth/token', open)
  await looked.given
  const ours = await first.send('POST /api/v1/identity/auth/token', open)
  mayGoOn.give()
  const theirs = await opening

  for (const reply of [ours, theirs]) {
    const { token } = reply.json<{ token: string }>()
    for (const { send } of [first, second]) {
      const read = await send('PUT /api/v1/projects', { token, json: { id } })
      assert.equal(read.status, 200, read.text)
    }
  }
})

test('the first requests after a start are all accepted while the signing keys still load', async (t) => {
  const shared = createMemoryStorage()
  const { token } = await createShop(createTill({ storage: shared }))
  const asked = createSignal()
  const mayGoOn = createSignal()
  const storage = { ...shared }
  storage.listSigningKeys = async () => {
    asked.give()
    await mayGoOn.given
    return shared.listSigningKeys()
  }
  const { send } = await startServer(t, { storage })
  const list = () => send('GET /api/v1/items?store_id=main', { token })

  const first = list()
  await asked.given
  const second = list()
  // Both are in flight when a third request, which needs no key, is answered.
  await send('GET /healthz')
  mayGoOn.give()

  for (const reply of [await first, await second]) assert.equal(reply.status, 200, reply.text)
})
