import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Server as HttpServer } from 'node:http'
import { type AddressInfo, createConnection, type Socket } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import {
  createFetchHandler,
  type HandlerOptions,
  type Limits,
  type LogEntry,
  type RunningServer,
  type ServeOptions,
  serve,
} from '../../http/index.ts'
import {
  createMemoryStorage,
  createTill,
  type Quotas,
  type Storage,
  type Till,
} from '../../lib/index.ts'
import { temporaryFolder } from './folder.ts'
import { openSqlite } from './sqlite.ts'

export interface TestServer extends RunningServer {
  readonly till: Till
  /** What was logged so far. */
  readonly log: LogEntry[]
  readonly send: Send
  /** A connection of its own, gone when the test is. */
  connect(): Promise<RawClient>
  /** The log entry of a request, as soon as it is there. */
  entryOf(request_id: string): Promise<LogEntry>
}

export interface TestServerOptions {
  /** A SQLite file of the test's own unless given; over fetch, memory. */
  readonly storage?: Storage
  readonly limits?: Partial<Limits>
  /** What is off unless told. */
  readonly options?: ServeOptions
  readonly now?: () => number
  readonly quotas?: Partial<Quotas>
}

/** The real server on a free port of the loopback, stopped when the test ends. */
export async function startServer(
  t: Pick<TestContext, 'after'>,
  { storage, limits = {}, options = {}, now = Date.now, quotas = {} }: TestServerOptions = {},
): Promise<TestServer> {
  // Hooks run in the order in which they are registered: the folder goes after what is in it.
  const closing: (() => unknown)[] = []
  t.after(async () => {
    for (const close of closing) await close()
  })
  const openStorage = async () =>
    overFetch ? createMemoryStorage() : openSqlite(join(temporaryFolder(t), 'till.db'))
  const kept = storage ?? (await openStorage())
  const till = createTill({ storage: kept, now, quotas })
  const log: LogEntry[] = []
  const settings = {
    port: 0,
    limits: { stopIdleTimeout: 10, ...limits }, // most have connections that are idle by then
    log: (entry: LogEntry) => void log.push(entry),
    ...options,
  }
  const server = await (overFetch ? serveFetch(till, settings) : serve(till, settings))
  closing.push(server.stop, till.close)
  const entryOf = (id: string) =>
    eventually(() => log.find(({ request_id }) => request_id === id), `a log entry of ${id}`)
  const connect = async () => {
    const client = await connectTo(server.url)
    closing.unshift(() => client.socket.destroy())
    return client
  }
  const { url, handle } = { handle: undefined, ...server }
  const send = createClient(url, handle)
  return { ...server, till, log, send, connect, entryOf }
}

/** Whether the tests of this process run over the fetch handler. */
export const overFetch = process.env.TILLKIT_TEST_TRANSPORT === 'fetch'

/** The fetch handler. `connect` reaches it over the server of Hono, `send` calls it directly. */
async function serveFetch(till: Till, options: ServeOptions) {
  const { port: _, host: __, shareRateLimits: ___, ...handlerOptions } = options
  const handler = createFetchHandler(till, handlerOptions as HandlerOptions<Request>)
  const { createAdaptorServer } = await import('@hono/node-server')
  const server = createAdaptorServer({
    fetch: (request, { incoming }) =>
      handler(request, { client: incoming.socket.remoteAddress as string }),
  }) as HttpServer
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stop = async () => {
    server.close()
    server.closeAllConnections()
  }
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const handle = (request: Request) => handler(request, { client: '127.0.0.1' })
  return { url, stop, handle, [Symbol.asyncDispose]: stop }
}

/** Looks every few milliseconds, a bounded number of times, until there is something to see. */
export async function eventually<T>(look: () => T | undefined, what: string): Promise<T> {
  for (let looks = 0; looks < 12_000; looks++) {
    const found = look()
    if (found !== undefined) return found
    await setTimeout(5)
  }
  throw new Error(`there never was ${what}`)
}

/** Something that a test waits for and then lets happen. */
export function createSignal(): { readonly given: Promise<void>; give(): void } {
  let give = () => {}
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { given, give: () => give() }
}

/** A request without its method and path. */
export interface Parts {
  readonly account_key?: string | undefined
  readonly public_key?: string | undefined
  readonly token?: string | undefined
  readonly headers?: { readonly [name: string]: string }
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent as it is; a string as JSON unless the headers name another type. */
  readonly body?: string | Uint8Array<ArrayBuffer> | FormData
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body, which must be JSON; the caller says what it should look like and then asserts it. */
  json<T>(): T
}

export type Send = (request: string, parts?: Parts) => Promise<Reply>

/** Sends requests as `send('GET /healthz')`. */
export function createClient(
  url: string,
  handle: (request: Request) => Promise<Response> = fetch,
): Send {
  return async (line, parts = {}) => {
    const [method = '', path = ''] = line.split(' ')
    const body = parts.json === undefined ? parts.body : JSON.stringify(parts.json)
    const request = new Request(url + path, {
      method,
      headers: { ...(typeof body === 'string' ? JSON_TYPE : {}), ...headersOf(parts) },
      ...(body === undefined ? {} : { body }),
    })
    const response = await handle(request)
    return createReply(response.status, response.headers, await response.text())
  }
}

const JSON_TYPE = { 'content-type': 'application/json' }

function headersOf({ account_key, public_key, token, headers }: Parts): Record<string, string> {
  return {
    ...(account_key === undefined ? {} : { 'x-account-key': account_key }),
    ...(public_key === undefined ? {} : { 'x-public-project-key': public_key }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...headers,
  }
}

function createReply(status: number, headers: Headers, text: string): Reply {
  return { status, headers, text, json: () => JSON.parse(text) }
}

/** The form of an import: the file and the store's id, unless told otherwise. */
export function importForm(csv: string, fields: { [name: string]: string } = {}): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries({ store_id: 'main', ...fields })) {
    form.append(name, value)
  }
  form.append('file', new Blob([csv], { type: 'text/csv' }), 'purchases.csv')
  return form
}

export interface ProblemDetail {
  readonly field?: string
  readonly line?: number
  readonly column?: string
  readonly code: string
  readonly message: string
}

export interface ProblemBody {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: string
  readonly request_id: string
  readonly errors?: readonly ProblemDetail[]
}

/** Asserts a whole RFC 9457 document of this status and code, and gives it back. */
export function assertProblem(reply: Reply, status: number, code: string): ProblemBody {
  assert.equal(`${reply.status} ${reply.text}`.slice(0, 4), `${status} `, reply.text)
  assert.equal(reply.headers.get('content-type'), 'application/problem+json')
  const problem = reply.json<ProblemBody>()
  const { errors, ...rest } = problem
  assert.deepEqual(rest, {
    type: `urn:tillkit:error:${code}`,
    title: rest.title,
    status,
    detail: rest.detail,
    code,
    request_id: reply.headers.get('x-request-id'),
  })
  for (const text of [rest.title, rest.detail]) assert.match(text, /^[A-Z\d]|^[a-z_.[\]\d]+ /)
  assert.match(problem.request_id, /^[\w-]{1,64}$/)
  if (errors) assertDetails(errors)
  return problem
}

function assertDetails(errors: readonly ProblemDetail[]): void {
  assert.ok(errors.length > 0, 'an empty list of errors says nothing')
  for (const error of errors) {
    assert.match(error.code, /^[a-z_]+$/)
    assert.ok(error.message.length > 0)
    const unknown = Object.keys(error).filter((key) => !DETAIL_KEYS.includes(key))
    assert.deepEqual(unknown, [])
  }
}

const DETAIL_KEYS = ['field', 'line', 'column', 'code', 'message']

/** A connection on which a test writes what no HTTP client would. */
export interface RawClient {
  readonly socket: Socket
  write(bytes: string | Uint8Array): void
  /** The next reply; `head` for one to HEAD, whose body does not come. */
  reply(options?: { head?: boolean }): Promise<Reply>
  /**
   * Resolves when the server has ended the connection, to what came that was not read as a reply.
   */
  readonly ended: Promise<string>
}

/** A connection to a server, which the caller must destroy. */
export async function connectTo(url: string): Promise<RawClient> {
  const { hostname, port } = new URL(url)
  const socket = createConnection({ host: hostname, port: Number(port), allowHalfOpen: true })
  let chunks: Buffer[] = []
  let size = 0
  let isOver = false
  let wake = () => {}
  /** Joins the chunks once: a long body comes in hundreds of them. */
  const received = (): Buffer => {
    if (chunks.length !== 1) chunks = [Buffer.concat(chunks)]
    return chunks[0] as Buffer
  }

  socket.on('data', (chunk) => {
    chunks.push(chunk)
    size += chunk.length
    wake()
  })
  for (const event of ['end', 'close']) {
    socket.on(event, () => {
      isOver = true
      wake()
    })
  }
  const ended = new Promise<string>((resolve) => {
    for (const event of ['end', 'close']) {
      socket.on(event, () => setImmediate(() => resolve(received().toString())))
    }
  })
  await once(socket, 'connect')
  socket.on('error', () => {}) // a reset is what some tests are about

  const take = async (length: () => number): Promise<string> => {
    while (length() < 0 || size < length()) {
      if (isOver) throw new Error(`the connection ended with ${JSON.stringify(`${received()}`)}`)
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    const end = length()
    const bytes = received()
    const rest = bytes.subarray(end)
    chunks = [rest]
    size = rest.length
    return bytes.subarray(0, end).toString()
  }

  return {
    socket,
    ended,
    write: (bytes) => void socket.write(bytes),
    async reply({ head = false } = {}) {
      const lines = (await take(() => endOfHead(received()))).trimEnd().split('\r\n')
      const status = Number(lines[0]?.split(' ')[1])
      const headers = new Headers(
        lines.slice(1).map((line) => line.split(/:(.*)/, 2) as [string, string]),
      )
      const length = head || status < 200 ? 0 : Number(headers.get('content-length') ?? Number.NaN)
      return createReply(status, headers, await take(() => length))
    },
  }
}

function endOfHead(bytes: Buffer): number {
  const found = bytes.indexOf('\r\n\r\n')
  return found < 0 ? -1 : found + 4
}

/** The text of a request with a body, as it goes over the wire. */
export function rawRequest(request: string, headers: readonly string[], body = ''): string {
  const length = body === '' ? [] : [`content-length: ${Buffer.byteLength(body)}`]
  return [`${request} HTTP/1.1`, 'host: test', ...length, ...headers, '', body].join('\r\n')
}
