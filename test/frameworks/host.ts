import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import type { HandlerOptions, LogEntry } from '../../http/index.ts'
import { createHandler } from '../../http/index.ts'
import { listenOn } from '../support/listen.ts'
import { createClient } from '../support/server.ts'
import { createShop, memoryTill } from '../support/till.ts'

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
