import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { finished } from 'node:stream/promises'
import type { TestContext } from 'node:test'
import { type ClientOptions, createClient } from '../../../client/index.ts'
import { listenOn } from '../listen.ts'
import { serveShop, type TestServerOptions } from '../server.ts'

/**
 * How a request fails. `refused`: the connection breaks before the server gets the request. `lost`:
 * it breaks after the server has answered. `hung`: no answer ever comes. Or an answer to send
 * instead of the server's, `after` something else; without a status it is the server's own answer.
 */
export type Fault = 'refused' | 'lost' | 'hung' | Planned

interface Planned {
  readonly status?: number
  readonly headers?: { readonly [name: string]: string }
  readonly body?: string
  readonly after?: Promise<void>
}

export interface Faulty {
  readonly url: string
  /** The requests so far, such as `GET /items`, with their headers. */
  readonly requests: { readonly line: string; readonly headers: IncomingMessage['headers'] }[]
  /** The lines of the requests so far. */
  lines(): string[]
  /** Makes the next requests fail whose line starts with `line`, one fault each. */
  fail(line: string, ...faults: Fault[]): void
}

/** A memory server with a shop behind a proxy that can fail, and clients of both. */
export async function start(t: TestContext, options: TestServerOptions = {}) {
  const shop = await serveShop(t, { ...options })
  const proxy = await startProxy(t, shop.url)
  const client = (more: Partial<ClientOptions> = {}) =>
    createClient({ url: proxy.url, publicKey: shop.public_key, userId: 'player', ...more })
  const creator = (more: Partial<ClientOptions> = {}) =>
    createClient({ url: proxy.url, accountKey: shop.account_key, ...more })
  return { shop, proxy, client, creator }
}

async function startProxy(t: TestContext, target: string): Promise<Faulty> {
  const requests: Faulty['requests'] = []
  const planned: { line: string; fault: Fault }[] = []
  const proxy = createServer((incoming, response) => {
    const line = `${incoming.method} ${incoming.url?.replace('/api/v1', '')}`
    requests.push({ line, headers: incoming.headers })
    const index = planned.findIndex((each) => line.startsWith(each.line))
    const [plan] = index < 0 ? [] : planned.splice(index, 1)
    answer(target, incoming, response, plan?.fault).catch(() => incoming.socket.destroy())
  })
  return {
    url: await listenOn(t, proxy),
    requests,
    lines: () => requests.map(({ line }) => line),
    fail: (line, ...faults) => void planned.push(...faults.map((fault) => ({ line, fault }))),
  }
}

async function answer(
  target: string,
  incoming: IncomingMessage,
  response: ServerResponse,
  fault: Fault | undefined,
): Promise<void> {
  if (fault === 'hung') return void incoming.resume()
  if (fault === 'refused') return void incoming.socket.destroy()
  if (typeof fault === 'object') {
    await fault.after
    if (fault.status !== undefined) {
      await finished(incoming.resume())
      response.writeHead(fault.status, fault.headers).end(fault.body)
      return
    }
  }
  const { method = '', url = '', headers } = incoming
  const outgoing = request(target + url, { method, headers, agent: false }, (received) => {
    if (fault === 'lost') return void received.resume().on('end', () => incoming.socket.destroy())
    response.writeHead(received.statusCode ?? 500, received.headers)
    received.pipe(response)
  })
  outgoing.on('error', () => incoming.socket.destroy())
  incoming.on('close', () => incoming.complete || outgoing.destroy())
  incoming.pipe(outgoing)
}
