// run: early
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { createTill, type Storage, type Till } from '../../lib/index.ts'
import { serveProcess } from '../support/cli.ts'
import { collect } from '../support/collect.ts'
import { temporaryFolder } from '../support/folder.ts'
import { openPostgres, startPostgres } from '../support/postgres.ts'
import {
  assertProblem,
  createClient,
  createSignal,
  importForm,
  type Parts,
  type Reply,
  type Send,
  startServer,
} from '../support/server.ts'
import { openSqlite } from '../support/sqlite.ts'
import { createShop } from '../support/till.ts'

const postgres = await startPostgres()

/** Servers on one database, and the operator's till. */
interface Group {
  readonly storage: Storage
  readonly till: Till
  readonly sends: readonly Send[]
}

async function serve(t: TestContext, db: string, args: readonly string[] = []) {
  const own = ['--db', db, '--port', '0', '--log', 'errors', '--no-webhooks']
  const served = await serveProcess(t, [...own, ...args])
  return { ...served, send: createClient(served.url) }
}

async function startOnPostgres(t: TestContext, args: readonly string[] = [], count = 2) {
  const db = await postgres.createSchema(t)
  const storage = await openPostgres(t, db, { max: 3 })
  const till = createTill({ storage })
  const starting = Array.from({ length: count }, () => serve(t, db, args))
  const servers = await Promise.all(starting)
  return { storage, till, servers, sends: servers.map(({ send }) => send) }
}

const groups: { readonly [name: string]: (t: TestContext) => Promise<Group> } = {
  async 'one server'(t) {
    const storage = await openSqlite(join(temporaryFolder(t), 'till.db'))
    const { till, send } = await startServer(t, { storage })
    return { storage, till, sends: [send] }
  },
  async 'two processes on one file'(t) {
    const db = join(temporaryFolder(t), 'till.db')
    const storage = await openSqlite(db)
    const servers = await Promise.all([serve(t, db), serve(t, db)])
    const till = createTill({ storage })
    t.after(() => till.close())
    return { storage, till, sends: servers.map(({ send }) => send) }
  },
  'three processes on PostgreSQL': (t) => startOnPostgres(t, [], 3),
}

const AUTH = '/api/v1/identity/auth'
const LIST = 'GET /api/v1/items?store_id=main'
const CREATE = 'POST /api/v1/items'

function newItem(name: string): object {
  return { store_id: 'main', name, display_name: name, price: '1', type: 'consumable' }
}

function everywhere({ sends }: Pick<Group, 'sends'>, request: string, parts: Parts) {
  return Promise.all(sends.map((send) => send(request, parts)))
}

async function statuses(...request: Parameters<typeof everywhere>): Promise<number[]> {
  return [...new Set((await everywhere(...request)).map(({ status }) => status))]
}

/** Sends all requests at once, to the servers in turn. */
function together({ sends }: Group, requests: readonly (readonly [string, Parts])[]) {
  return Promise.all(
    requests.map(([request, parts], i) => (sends[i % sends.length] as Send)(request, parts)),
  )
}

function at({ sends }: Pick<Group, 'sends'>, index: number): Send {
  return sends[index % sends.length] as Send
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

const shared: Group[] = []

for (const [name, start] of Object.entries(groups)) {
  const group = await start({ after } as TestContext)
  shared.push(group)
  const newShop = () => createShop(group.till)

  test(`${name}: all servers accept new credentials and refuse revoked ones at once`, async () => {
    const { till, account, account_key, project, project_id, public_key } = await newShop()
    const tokens = await Promise.all(group.sends.map((send) => openSession(send, public_key, 'u')))
    for (const token of tokens) assert.deepEqual(await statuses(group, LIST, { token }), [200])
    await till.sessions.revoke(account, { project_id, user_id: 'u' })
    for (const token of tokens) assert.deepEqual(await statuses(group, LIST, { token }), [401])
    const again = await openSession(at(group, 1), public_key, 'u')
    assert.deepEqual(await statuses(group, LIST, { token: again }), [200])

    const added = await till.accounts.addKey(account)
    const parts = { account_key: added.account_key, json: {} }
    assert.deepEqual(await statuses(group, CREATE, parts), [400])
    await till.accounts.revokeKey(account, added.key_id)
    assert.deepEqual(await statuses(group, CREATE, parts), [401])
    assert.deepEqual(await statuses(group, CREATE, { account_key, json: {} }), [400])

    const rotation = { id: project_id, grace_period: 0 }
    const rotated = await till.projects.rotateKey(account, rotation)
    const session = { json: { user_id: 'player' } }
    const init = `POST ${AUTH}/init`
    assert.deepEqual(
      await statuses(group, init, { public_key: rotated.public_key, ...session }),
      [200],
    )
    const former = { public_key: project.public_key, ...session }
    for (const reply of await everywhere(group, init, former)) {
      assertProblem(reply, 400, 'invalid_public_key')
    }
  })

  test(`${name}: of simultaneous creates of one SKU one succeeds, of other SKUs all`, async () => {
    const { till, account, account_key, token } = await newShop()
    const names = Array.from({ length: 32 }, (_, i) => `sword_${i}`)
    const creates = [...names, ...Array(32).fill('axe')].map((name) => {
      return [CREATE, { account_key, json: newItem(name) }] as const
    })

    const replies = await together(group, creates)

    const [made, ...refused] = replies
      .slice(names.length)
      .toSorted((a, b) => a.status - b.status) as [Reply, ...Reply[]]
    for (const reply of refused) {
      const { errors } = assertProblem(reply, 400, 'invalid_request')
      assert.deepEqual([errors?.[0]?.field, errors?.[0]?.code], ['name', 'taken'])
    }
    assert.equal(new Set(replies.slice(0, names.length).map(idOf)).size, names.length)
    assert.deepEqual(await statuses(group, `GET /api/v1/items/${idOf(made)}`, { token }), [200])
    const kept = await namesOf(till, account)
    assert.deepEqual(kept.toSorted(), ['gold', 'axe', ...names].toSorted())
  })

  test(`${name}: an idempotency key creates one record, whatever server gets it`, async () => {
    const { account_key, account, till } = await newShop()
    const headers = { 'idempotency-key': 'once' }
    const parts = { account_key, headers, json: newItem('item') }
    const first = await everywhere(group, CREATE, parts)
    const later = await everywhere(group, CREATE, parts)
    assert.equal(new Set([...first, ...later].map(idOf)).size, 1)
    const other = await at(group, 1)(CREATE, { ...parts, json: newItem('other') })
    assertProblem(other, 400, 'invalid_request')
    assert.deepEqual(await namesOf(till, account), ['gold', 'item'])
  })

  test(`${name}: simultaneous imports into one store add each row once`, async () => {
    const { token, account, till } = await newShop()
    const rows = Array.from({ length: 3_000 }, (_, row) => `T-${row},gold,1709294400,u\n`)
    const load = async (send: Send, count: number) => {
      const csv = `transaction_id,sku,purchased_at,user_id\n${rows.slice(0, count).join('')}`
      const reply = await send('POST /api/v1/purchases/import', { token, body: importForm(csv) })
      assert.equal(reply.text, '{"ok":true}')
      return Number(reply.headers.get('import-rows')) - Number(reply.headers.get('import-skipped'))
    }
    const added = await Promise.all(
      [3_000, 1_000, 2_000].map((size, i) => load(at(group, i), size)),
    )
    assert.equal(
      added.reduce((sum, each) => sum + each),
      3_000,
    )
    const stored = await collect(till.purchases.all(account, { store_id: 'main' }))
    assert.equal(stored.length, 3_000)
  })

  test(`${name}: every read that starts after an acknowledged write shows it`, async () => {
    const { account, account_key, project_id, public_key } = await newShop()
    // A token that the account issued has no limit of changes.
    const scopes = ['items:read', 'projects:write'] as const
    const { token } = await group.till.sessions.issue(account, { project_id, scopes })
    let etag = '"none"'
    for (let round = 1; round <= 12; round++) {
      const json = newItem(`item_${round}`)
      const id = idOf(await at(group, round)(CREATE, { account_key, json }))
      const item = await at(group, round + 1)(`GET /api/v1/items/${id}`, { token })
      const headers = { 'if-none-match': etag }
      const list = await at(group, round + 2)(LIST, { token, headers })
      assert.deepEqual([idOf(item), list.status], [id, 200])
      assert.equal(list.json<{ items: object[] }>().items.length, round + 1)
      etag = list.headers.get('etag') ?? ''
      // Changes of different fields are all kept.
      const changes = [{ name: `Game ${round}` }, { platform: 'ios' }, { config: { round } }]
      const puts = changes.map((change) => {
        return ['PUT /api/v1/projects', { token, json: { id: project_id, ...change } }] as const
      })
      for (const { status } of await together(group, puts)) assert.equal(status, 200)
      const parts = { public_key, json: { user_id: 'u' } }
      const { project } = (await at(group, round + 1)(`POST ${AUTH}/init`, parts)).json<{
        project: { name: string; platform: string }
      }>()
      assert.deepEqual([project.name, project.platform], [`Game ${round}`, 'ios'])
    }
  })
}

test('the first requests after a start are all accepted while the signing keys still load', async (t) => {
  const { storage, till } = shared[0] as Group
  const { token } = await createShop(till)
  const [asked, mayGoOn] = [createSignal(), createSignal()]
  const listSigningKeys = async () => {
    asked.give()
    await mayGoOn.given
    return storage.listSigningKeys()
  }
  const close = async () => {} // the storage belongs to another server
  const { send } = await startServer(t, { storage: { ...storage, listSigningKeys, close } })
  const replies = [send(LIST, { token })]
  await asked.given
  replies.push(send(LIST, { token }))
  // Both are in flight when a third request, which needs no key, is answered.
  await send('GET /healthz')
  mayGoOn.give()

  for (const { status, text } of await Promise.all(replies)) assert.equal(status, 200, text)
})
