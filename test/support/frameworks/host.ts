import assert from 'node:assert/strict'
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import type { HandlerOptions, LogEntry } from '../../../http/index.ts'
import { createHandler } from '../../../http/index.ts'
import type { Till } from '../../../lib/index.ts'
import { listenOn } from '../listen.ts'
import { assertProblem, createClient, importForm, type Send } from '../server.ts'
import { createShop, memoryTill } from '../till.ts'

/** A middleware of Express, which most frameworks can use. */
export type Middleware = (
  request: IncomingMessage,
  response: ServerResponse,
  next: () => void,
) => void

/** The part of Express that the tests use. */
export interface ExpressApp extends RequestListener {
  use(...args: (string | Middleware)[]): void
  get(
    path: string,
    handler: (request: unknown, response: { send(body: string): void }) => void,
  ): void
}

/** The default export of a package. The packages of the tests have no types. */
export async function load<T>(name: string): Promise<T> {
  const module = await import(name)
  return module.default ?? module
}

export async function createExpress(): Promise<ExpressApp> {
  return (await load<() => ExpressApp>('express'))()
}

/** A shop in memory with two items, its handler and the handler's log. */
export async function createHost(options: HandlerOptions = {}) {
  const till = memoryTill()
  const shop = await createShop(till)
  const silver = { store_id: 'main', name: 'silver', display_name: 'Silver', price: '1' }
  await till.items.create(shop.account, { ...silver, type: 'consumable' })
  const log: LogEntry[] = []
  const handler = createHandler(till, { log: (entry) => void log.push(entry), ...options })
  const { account_key } = shop.account
  return { ...shop, till, handler, log, account_key }
}

/** Listens on a free port until the test ends. Returns a client. */
export async function listen(t: Pick<TestContext, 'after'>, server: Server) {
  const url = await listenOn(t, server)
  return { url, send: createClient(url) }
}

export const NEW_ITEM = {
  store_id: 'main',
  name: 'potion',
  display_name: 'Potion',
  price: '99',
  type: 'consumable',
}

/** Uses the API below a prefix, behind the middleware of an application. */
export async function useApi(send: Send, till: Till, prefix = '/shop'): Promise<void> {
  const { token, account_key, public_key } = await createShop(till)
  const csv = 'transaction_id,sku,purchased_at\nT-1,gold,1709294400\n'

  const init = { public_key, json: { user_id: 'player' } }
  assert.equal((await send(`POST ${prefix}/api/v1/identity/auth/init`, init)).status, 200)
  const created = await send(`POST ${prefix}/api/v1/items`, { account_key, json: NEW_ITEM })
  assert.equal(created.status, 200, created.text)
  const first = await send(`GET ${prefix}/api/v1/items?store_id=main&limit=1`, { token })
  const [, next] = /^<([^>]+)>/.exec(first.headers.get('link') ?? '') ?? []
  const second = await send(`GET ${next}`, { token })
  assert.equal(second.json<{ items: { name: string }[] }>().items[0]?.name, 'potion')
  const headers = { 'if-none-match': second.headers.get('etag') ?? '' }
  assert.equal((await send(`GET ${next}`, { token, headers })).status, 304)
  const imported = await send(`POST ${prefix}/api/v1/purchases/import`, {
    token,
    body: importForm(csv),
  })
  assert.equal(imported.text, '{"ok":true}')
  const refused = await send(`POST ${prefix}/api/v1/items`, { json: NEW_ITEM })
  assertProblem(refused, 401, 'account_key_required')
  assert.match(refused.headers.get('www-authenticate') ?? '', /^AccountKey/)
  assert.equal((await send(`GET ${prefix}/readyz`)).status, 200)
}
