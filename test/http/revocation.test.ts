import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFetchHandler } from '../../http/index.ts'
import { createTill } from '../../lib/index.ts'
import { itemNamed } from '../support/load.ts'
import { openPostgres, startPostgres } from '../support/postgres.ts'
import { createClient, FORM_TYPE, RAW_IMPORT, rawRequest, serveShop } from '../support/server.ts'
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

test('a list that is being sent ends when another server revokes its token', async (t) => {
  const url = await server.createSchema(t)
  const storage = await openPostgres(t, url)
  const here = createTill({ storage })
  const there = createTill({ storage: await openPostgres(t, url) })
  const { account, project_id, item, token } = await createShop(here)
  for (let i = 0; i < 40; i++) {
    const large = { description: 'x'.repeat(60_000), name: `item_${i}`, id: `itm_${i}` }
    await storage.insertItem({ ...item, ...large })
  }
  const handle = createFetchHandler(here)
  const headers = { authorization: `Bearer ${token}` }
  const list = await handle(new Request('http://shop.test/api/v1/items?store_id=main', { headers }))
  const reader = (list.body as ReadableStream<Uint8Array>).getReader()
  const read = async () => {
    const { value, done } = await reader.read()
    return done ? undefined : Buffer.from(value).toString()
  }
  assert.match((await read()) ?? '', /item_0/)

  await there.sessions.revoke(account, { project_id })

  let last: string | undefined = ''
  const readRest = async () => {
    for (let text = await read(); text !== undefined; text = await read()) last = text
  }
  await assert.rejects(readRest())
  assert.doesNotMatch(last, /item_39/)
})

type Shop = Awaited<ReturnType<typeof serveShop>>

const create = ({ withKey }: Shop) => {
  const headers = [withKey, 'content-type: application/json']
  return ['POST /api/v1/items', headers, JSON.stringify(itemNamed('late'))] as const
}
const load = ({ withToken }: Shop) =>
  ['POST /api/v1/purchases/import', [withToken, FORM_TYPE], RAW_IMPORT] as const

const revokeOthers = async ({ till, account, project_id }: Shop) => {
  const { key_id } = await till.accounts.addKey(account)
  await till.accounts.revokeKey(account, key_id)
  await till.sessions.revoke(account, { project_id, user_id: 'other' })
}

/** `test/services/interleaving.test.ts` has each write and each revocation. */
const REVOCATIONS: readonly [
  what: string,
  request: typeof create | typeof load,
  revoke: (shop: Shop) => Promise<unknown>,
  answer: string,
][] = [
  [
    'its account key',
    create,
    async ({ till, account: { account_id, key_id } }) =>
      till.accounts.revokeKey(await till.accounts.get(account_id), key_id),
    '401 account_key_required',
  ],
  [
    'the tokens of its user',
    load,
    ({ till, account, project_id }) =>
      till.sessions.revoke(account, { project_id, user_id: 'player' }),
    '401 token_required',
  ],
  ['another key and the tokens of another user', create, revokeOthers, '200 '],
  ['another key and the tokens of another user', load, revokeOthers, '200 '],
]

for (const [what, request, revoke, answer] of REVOCATIONS) {
  test(`a request whose last byte arrives after ${what} is revoked: ${answer}`, async (t) => {
    const shop = await serveShop(t, { storage: 'file' })
    const [line, headers, body] = request(shop)
    const head = [...headers, 'expect: 100-continue', `content-length: ${body.length}`]
    const client = await shop.connect(rawRequest(line, head))
    assert.equal((await client.reply()).status, 100)
    client.write(body.slice(0, -1))

    await revoke(shop)
    client.write(body.slice(-1))

    const { status, text } = await client.reply()
    assert.equal(`${status} ${JSON.parse(text).code ?? ''}`, answer, text)
  })
}
