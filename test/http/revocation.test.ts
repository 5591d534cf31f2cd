import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createFetchHandler } from '../../http/index.ts'
import { createTill } from '../../lib/index.ts'
import { takeInventory } from '../../lib/storage/copy.ts'
import { temporaryFolder } from '../support/folder.ts'
import { openPostgres, startPostgres } from '../support/postgres.ts'
import { assertProblem, createClient, rawRequest, serveShop } from '../support/server.ts'
import { openSqlite } from '../support/sqlite.ts'
import { createShop } from '../support/till.ts'

const server = await startPostgres()

test('no create succeeds after another server has revoked its key, and its mistakes stay hidden', async (t) => {
  const url = await server.createSchema(t)
  const here = createTill({ storage: await openPostgres(t, url) })
  const there = createTill({ storage: await openPostgres(t, url) })
  const { account } = await createShop(here)
  const send = createClient('http://shop.test', createFetchHandler(here))
  const create = async (account_key: string, name: string) => {
    const json = { store_id: 'main', name, display_name: 'Item', price: '1', type: 'consumable' }
    return (await send('POST /api/v1/items', { account_key, json })).status
  }
  for (const [i, name] of ['new', 'cached_0', 'not a name'].entries()) {
    const { account_key, key_id } = await here.accounts.addKey(account)
    // The key and the store are cached after the first ones.
    for (const last of [0, 1, 2]) {
      assert.equal(await create(account_key, i === 0 ? `cached_${last}` : `more_${i}${last}`), 200)
    }

    await there.accounts.revokeKey(account, key_id)

    assert.equal(await create(account_key, name), 401, name)
  }
  await assert.rejects(here.items.getByName(account, 'main', 'new'), { code: 'item_not_found' })
})

/** A server with a shop on SQLite, and the operator of its account, without a key. */
async function start(t: TestContext) {
  const storage = await openSqlite(join(temporaryFolder(t), 'till.db'))
  const shop = await serveShop(t, { storage })
  return { ...shop, storage, operator: await shop.till.accounts.get(shop.account_id) }
}

type Shop = Awaited<ReturnType<typeof start>>

interface Write {
  readonly request: string
  readonly by: 'withKey' | 'withToken'
  readonly type?: string
  body(shop: Shop): object | string
}

const importPurchases: Write = {
  request: 'POST /api/v1/purchases/import',
  by: 'withToken',
  type: 'multipart/form-data; boundary=cut',
  body: () => {
    const file = 'transaction_id,sku,purchased_at\r\nT-1,gold,2024-03-01T12:34:56Z\r\n'
    const parts = Object.entries({ store_id: 'main', 'file"; filename="f.csv': file })
    const texts = parts.map(
      ([name, value]) =>
        `--cut\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
    )
    return `${texts.join('')}--cut--`
  },
}

const WRITES = {
  'POST /items': {
    request: 'POST /api/v1/items',
    by: 'withKey',
    body: () => ({
      ...{ store_id: 'main', name: 'silver', display_name: 'Silver' },
      ...{ price: '99', type: 'consumable' },
    }),
  },
  'PUT /projects': {
    request: 'PUT /api/v1/projects',
    by: 'withToken',
    body: ({ project_id }) => ({ id: project_id, name: 'Taken over' }),
  },
  'an import': importPurchases,
} satisfies { readonly [name: string]: Write }

type Refusal = readonly [status: number, code: string]
type Revoke = (shop: Shop) => Promise<unknown>

const KEY: Refusal = [401, 'account_key_required']
const TOKEN: Refusal = [401, 'token_required']

/** On SQLite only: `test/services/interleaving.test.ts` and the storage contract have each write. */
const REVOCATIONS: { readonly [what: string]: [Revoke, Refusal, (keyof typeof WRITES)[]] } = {
  'its account key is revoked': [
    ({ till, operator, account }) => till.accounts.revokeKey(operator, account.key_id),
    KEY,
    ['POST /items'],
  ],
  'the tokens of its user are revoked': [
    ({ till, operator, project_id }) =>
      till.sessions.revoke(operator, { project_id, user_id: 'player' }),
    TOKEN,
    ['PUT /projects', 'an import'],
  ],
  'its project is disabled': [
    ({ till, operator, project_id: id }) =>
      till.projects.update(operator, { id, status: 'disabled' }),
    TOKEN,
    ['PUT /projects', 'an import'],
  ],
  'its store is disabled': [
    ({ till, operator }) => till.stores.update(operator, { store_id: 'main', status: 'disabled' }),
    [400, 'store_inactive'],
    ['an import'],
  ],
}

for (const [what, [revoke, refusal, writes]] of Object.entries(REVOCATIONS)) {
  for (const name of writes) {
    test(`${name} writes nothing when its last byte arrives after ${what}`, async (t) => {
      assertProblem(await sendAround(await start(t), WRITES[name], revoke), ...refusal)
    })
  }
}

test('a repeat with an idempotency key does not get the first answer after its key is revoked', async (t) => {
  const shop = await start(t)
  const headers = ['idempotency-key: k-1']
  const first = await sendAround(shop, WRITES['POST /items'], async () => {}, headers)
  assert.equal(first.status, 200, first.text)
  const [revoke] = REVOCATIONS['its account key is revoked'] ?? assert.fail()
  assertProblem(await sendAround(shop, WRITES['POST /items'], revoke, headers), ...KEY)
})

test('a write succeeds when other credentials are revoked', async (t) => {
  const shop = await start(t)
  const { till, operator, project_id } = shop
  for (const write of Object.values(WRITES)) {
    const reply = await sendAround(shop, write, async () => {
      const other = await till.accounts.addKey(operator)
      await till.accounts.revokeKey(operator, other.key_id)
      await till.sessions.revoke(operator, { project_id, user_id: 'other' })
    })
    assert.equal(reply.status, 200, reply.text)
  }
})

/** Sends the last byte of a request after its credential is verified and then revoked. */
async function sendAround(shop: Shop, write: Write, revoke: Revoke, headers: string[] = []) {
  const client = await shop.connect()
  const content = write.body(shop)
  const body = typeof content === 'string' ? content : JSON.stringify(content)
  const type = `content-type: ${write.type ?? 'application/json'}`
  const length = `content-length: ${Buffer.byteLength(body)}`
  const head = [type, shop[write.by], ...headers, 'expect: 100-continue', length]
  client.write(rawRequest(write.request, head))
  assert.equal((await client.reply()).status, 100)
  client.write(body.slice(0, -1))

  await revoke(shop)
  const before = await takeInventory(shop.storage, new Date().toISOString())
  client.write(body.slice(-1))
  const reply = await client.reply()

  if (reply.status !== 200) {
    assert.deepEqual(await takeInventory(shop.storage, new Date().toISOString()), before)
  }
  return reply
}
