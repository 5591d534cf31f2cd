import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import {
  createFetchHandler,
  createHandler,
  type HandlerOptions,
  type LogEntry,
} from '../../http/index.ts'
import type { Till } from '../../lib/index.ts'
import { collect } from '../support/collect.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { listenOn } from '../support/listen.ts'
import { assertProblem, createClient } from '../support/server.ts'
import { createShop, memoryTill } from '../support/till.ts'

const POST = 'POST /api/v1/items'
const itemOf = (name: string) => ({
  store_id: 'main',
  name,
  display_name: 'Potion',
  price: '1',
  type: 'consumable',
})

/** Sends to a handler of each kind. */
async function serveWith(t: TestContext, kind: string, till: Till, log: HandlerOptions['log']) {
  const accountOf = (cookie: string | null | undefined) => accounts.get(cookie ?? '')
  const accounts = new Map<string, string>()
  const handler = createFetchHandler(till, {
    ...(log && { log }),
    authenticateAccount: ({ headers }) => accountOf(headers.get('cookie')),
  })
  const server = createServer(
    createHandler(till, {
      ...(log && { log }),
      authenticateAccount: async ({ headers }) => accountOf(headers.cookie),
    }),
  )
  const url = await listenOn(t, server)
  const handle = kind === 'createHandler' ? fetch : (request: Request) => handler(request)
  return { accounts, send: createClient(url, handle) }
}

for (const kind of ['createHandler', 'createFetchHandler']) {
  test(`${kind} uses the account that the host has authenticated`, async (t) => {
    const { till, account, token } = await createShop()
    const stranger = await till.accounts.create({ name: 'Stranger' })
    const log: LogEntry[] = []
    const { accounts, send } = await serveWith(t, kind, till, (entry) => void log.push(entry))
    accounts.set('studio', account.account_id)
    accounts.set('stranger', stranger.account_id)
    accounts.set('wrong', 'acc_none')
    const { account_key } = account
    const withCookie = (cookie: string, more = {}) => ({ headers: { cookie, ...more } })

    const created = await send(POST, { ...withCookie('studio'), json: itemOf('potion') })
    assert.equal(created.status, 200, created.text)
    assert.equal(log[0]?.account_id, account.account_id)
    const [entry] = (await collect(till.operator.allAudit({}))).slice(-1)
    assert.deepEqual([entry?.action, entry?.actor], ['item.create', 'operator'])

    const foreign = await send(POST, { ...withCookie('stranger'), json: itemOf('theirs') })
    assertProblem(foreign, 400, 'invalid_request')
    const unknown = await send(POST, { ...withCookie('nobody'), json: itemOf('none') })
    assertProblem(unknown, 401, 'account_key_required')
    const wrong = await send(POST, { ...withCookie('wrong'), json: itemOf('none') })
    assertProblem(wrong, 500, 'internal_error')
    assert.match(log.at(-1)?.error ?? '', /authenticateAccount must return the id/)

    for (const site of ['cross-site', 'same-site']) {
      const other = { ...withCookie('studio', { 'sec-fetch-site': site }), json: itemOf('none') }
      assertProblem(await send(POST, other), 401, 'account_key_required')
    }
    const simple = withCookie('studio', { 'content-type': 'text/plain' })
    const body = JSON.stringify(itemOf('none'))
    assertProblem(await send(POST, { ...simple, body }), 415, 'unsupported_media_type')
    const badKey = { ...withCookie('studio'), account_key: `${account_key}x`, json: itemOf('none') }
    assertProblem(await send(POST, badKey), 401, 'account_key_required')
    const withKey = { ...withCookie('stranger'), account_key, json: itemOf('by_key') }
    assert.equal((await send(POST, withKey)).status, 200)

    const list = 'GET /api/v1/items?store_id=main'
    assertProblem(await send(list, withCookie('studio')), 401, 'token_required')
    const { items } = (await send(list, { token })).json<{ items: { name: string }[] }>()
    assert.deepEqual(
      items.map(({ name }) => name),
      ['gold', 'potion', 'by_key'],
    )
  })

  test(`${kind} answers although the logger fails`, async (t) => {
    const till = memoryTill()
    const warnings: Error[] = []
    const onWarning = (warning: Error) => void warnings.push(warning)
    process.on('warning', onWarning)
    t.after(() => process.off('warning', onWarning))
    const failures = [
      () => {
        throw new Error('the log is full')
      },
      async () => {
        throw new Error('the log is full')
      },
    ]
    for (const log of failures) {
      const { send } = await serveWith(t, kind, till, log)

      assert.equal((await send('GET /healthz')).status, 200)
      assert.equal((await send('GET /healthz')).status, 200)
    }
    await eventuallyHolds(() => assert.equal(warnings.length, 4))
    assert.match(String(warnings[0]), /the log is full/)
  })
}
