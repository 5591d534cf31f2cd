import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { createFetchHandler } from '../../http/index.ts'
import { createTill } from '../../lib/index.ts'
import { takeInventory } from '../../lib/storage/copy.ts'
import { temporaryFolder } from '../support/folder.ts'
import { openPostgres, startPostgres } from '../support/postgres.ts'
import { assertProblem, rawRequest, serveShop } from '../support/server.ts'
import { openSqlite } from '../support/sqlite.ts'
import { createShop } from '../support/till.ts'

const server = await startPostgres()

type Shop = Awaited<ReturnType<typeof start>>

interface Write {
  readonly request: string
  headers(shop: Shop): string[]
  body(shop: Shop): string
}

const JSON_TYPE = 'content-type: application/json'
const byKey = ({ withKey }: Shop) => [JSON_TYPE, withKey]
const byToken = ({ withToken }: Shop) => [JSON_TYPE, withToken]
const json = (make: (shop: Shop) => object) => (shop: Shop) => JSON.stringify(make(shop))

const createItem: Write = {
  request: 'POST /api/v1/items',
  headers: byKey,
  body: json(() => ({
    store_id: 'main',
    name: 'silver',
    display_name: 'Silver',
    price: '99',
    type: 'consumable',
  })),
}
const createProject: Write = {
  request: 'POST /api/v1/projects',
  headers: byKey,
  body: json(({ account_id }) => ({
    account_id,
    name: 'New',
    bundle_id: 'com.example.new',
    platform: 'web',
  })),
}
const createStore: Write = {
  request: 'POST /api/v1/stores',
  headers: byKey,
  body: json(({ project_id }) => ({ project_id, store_id: 'new', store_type: 'web' })),
}
const updateProject: Write = {
  request: 'PUT /api/v1/projects',
  headers: byToken,
  body: json(({ project_id }) => ({ id: project_id, name: 'Taken over' })),
}
const importPurchases = (fields: { [name: string]: string } = {}): Write => ({
  request: 'POST /api/v1/purchases/import',
  headers: ({ withToken }) => ['content-type: multipart/form-data; boundary=cut', withToken],
  body: () => {
    const file = 'transaction_id,sku,purchased_at\r\nT-1,gold,2024-03-01T12:34:56Z\r\n'
    const parts = Object.entries({ store_id: 'main', ...fields, 'file"; filename="f.csv': file })
    const texts = parts.map(
      ([name, value]) =>
        `--cut\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
    )
    return `${texts.join('')}--cut--`
  },
})

const KEY_WRITES: Record<string, Write> = {
  'POST /items': createItem,
  'POST /projects': createProject,
  'POST /stores': createStore,
}
const TOKEN_WRITES: Record<string, Write> = {
  'PUT /projects': updateProject,
  'an import': importPurchases(),
  'a dry run': importPurchases({ dry_run: 'true' }),
}

type Revoke = (shop: Shop) => Promise<unknown>

const revokeKey: Revoke = ({ till, operator, account }) =>
  till.accounts.revokeKey(operator, account.key_id)
const setStatus =
  (status: string): Revoke =>
  ({ till, operator, project_id: id }) =>
    till.projects.update(operator, { id, status })
const disableStore: Revoke = ({ till, operator }) =>
  till.stores.update(operator, { store_id: 'main', status: 'disabled' })

const TOKEN_REVOCATIONS: Record<string, Revoke> = {
  'the tokens of its user are revoked': ({ till, operator, project_id }) =>
    till.sessions.revoke(operator, { project_id, user_id: 'player' }),
  'the tokens of its project are revoked': ({ till, operator, project_id }) =>
    till.sessions.revoke(operator, { project_id }),
  'its project is disabled': setStatus('disabled'),
  'its project is archived': setStatus('archived'),
}

test('no create succeeds after another server has revoked its key, and its mistakes stay hidden', async (t) => {
  const url = await server.createSchema(t)
  const here = createTill({ storage: await openPostgres(t, url) })
  const there = createTill({ storage: await openPostgres(t, url) })
  const { account } = await createShop(here)
  const handle = createFetchHandler(here)
  const create = async (account_key: string, name: string) => {
    const body = { store_id: 'main', name, display_name: 'Item', price: '1', type: 'consumable' }
    const headers = { 'content-type': 'application/json', 'x-account-key': account_key }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    return (await handle(new Request('http://shop.test/api/v1/items', init))).status
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

// On SQLite only: the contract of the storages has the authority of each write.
describe('a request whose last byte arrives after a revocation', () => {
  for (const [what, write] of Object.entries(KEY_WRITES)) {
    test(`writes nothing after its account key is revoked: ${what}`, async (t) => {
      const shop = await start(t)
      const reply = await sendAround(shop, write, revokeKey)
      assertProblem(reply, 401, 'account_key_required')
    })

    test(`writes nothing with an idempotency key either: ${what}`, async (t) => {
      const shop = await start(t)
      const reply = await sendAround(shop, write, revokeKey, ['idempotency-key: k-1'])
      assertProblem(reply, 401, 'account_key_required')
    })

    test(`does not replay the answer of an idempotency key: ${what}`, async (t) => {
      const shop = await start(t)
      const first = await sendAround(shop, write, async () => {}, ['idempotency-key: k-1'])
      assert.equal(first.status, 200, first.text)
      const again = await sendAround(shop, write, revokeKey, ['idempotency-key: k-1'])
      assertProblem(again, 401, 'account_key_required')
    })
  }

  for (const [what, write] of Object.entries(TOKEN_WRITES)) {
    for (const [when, revoke] of Object.entries(TOKEN_REVOCATIONS)) {
      test(`writes nothing after ${when}: ${what}`, async (t) => {
        const shop = await start(t)
        const reply = await sendAround(shop, write, revoke)
        assertProblem(reply, 401, 'token_required')
      })
    }
    if (write === updateProject) continue

    test(`writes nothing after its store is disabled: ${what}`, async (t) => {
      const shop = await start(t)
      const reply = await sendAround(shop, write, disableStore)
      assertProblem(reply, 400, 'store_inactive')
    })
  }

  for (const [what, write] of Object.entries({ ...KEY_WRITES, ...TOKEN_WRITES })) {
    test(`succeeds when other credentials are revoked: ${what}`, async (t) => {
      const shop = await start(t)
      const { till, operator, project_id } = shop
      const reply = await sendAround(shop, write, async () => {
        const other = await till.accounts.addKey(operator)
        await till.accounts.revokeKey(operator, other.key_id)
        await till.sessions.revoke(operator, { project_id, user_id: 'other' })
      })
      assert.equal(reply.status, 200, reply.text)
    })
  }
})

/** A server with a shop, and the operator of its account, without a key. */
async function start(t: TestContext) {
  const storage = await openSqlite(join(temporaryFolder(t), 'till.db'))
  const shop = await serveShop(t, { storage })
  return { ...shop, storage, operator: await shop.till.accounts.get(shop.account_id) }
}

/** Sends the last byte of a request after its credential is verified and then revoked. */
async function sendAround(shop: Shop, write: Write, revoke: Revoke, headers: string[] = []) {
  const client = await shop.connect()
  const body = write.body(shop)
  const expecting = [...write.headers(shop), ...headers, 'expect: 100-continue']
  const head = rawRequest(write.request, [
    ...expecting,
    `content-length: ${Buffer.byteLength(body)}`,
  ])
  client.write(head)
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
