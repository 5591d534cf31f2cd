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
  type ErrorDetail,
  type Quotas,
  type Storage,
  type Till,
} from '../../lib/index.ts'
import { temporaryFolder } from './folder.ts'
import { openSqlite } from './sqlite.ts'
import { createShop } from './till.ts'

export interface TestServer extends RunningServer {
  readonly till: Till
  /** The log entries so far. */
  readonly log: LogEntry[]
  readonly send: Send
  readonly storage: Storage
  /** Opens a connection and writes these bytes. It is destroyed after the test. */
  connect(bytes?: string | Uint8Array): Promise<RawClient>
  /** Sends bytes on a connection of their own. Resolves to the first reply. */
  sendRaw(bytes: string | Uint8Array): Promise<Reply>
  /** Resolves to the log entry of a request once it is written. */
  entryOf(request_id: string): Promise<LogEntry>
}

export interface TestServerOptions {
  /** Memory by default; `file` is a new SQLite file. */
  readonly storage?: Storage | 'file'
  readonly limits?: Partial<Limits>
  /** Optional features. All default to off. */
  readonly options?: ServeOptions
  readonly now?: () => number
  readonly quotas?: Partial<Quotas>
}

/** Starts the real server on a free port on loopback, and stops it after the test. */
export async function startServer(
  t: Pick<TestContext, 'after'>,
  options: TestServerOptions = {},
): Promise<TestServer> {
  // Hooks run in the order of registration: the server stops before the folder is removed.
  const closing: (() => unknown)[] = []
  t.after(async () => {
    for (const close of closing) await close()
  })
  const { limits = {}, now = Date.now, quotas = {} } = options
  const { storage: given = createMemoryStorage() } = options
  const storage = given === 'file' ? await openSqlite(join(temporaryFolder(t), 'till.db')) : given
  const till = createTill({ storage, now, quotas })
  const log: LogEntry[] = []
  const settings = {
    port: 0,
    limits: { stopIdleTimeout: 10, ...limits }, // most tests leave idle connections
    log: (entry: LogEntry) => void log.push(entry),
    ...options.options,
  }
  const server = await (overFetch ? serveFetch(till, settings) : serve(till, settings))
  closing.push(server.stop, till.close)
  const entryOf = (id: string) =>
    eventually(() => log.find(({ request_id }) => request_id === id), `a log entry of ${id}`)
  const connect = async (bytes: string | Uint8Array = '') => {
    const client = await connectTo(server.url)
    closing.unshift(() => client.socket.destroy())
    client.write(bytes)
    return client
  }
  const sendRaw = async (bytes: string | Uint8Array) => (await connect(bytes)).reply()
  const { url, handle } = { handle: undefined, ...server }
  const send = createClient(url, handle)
  return { ...server, till, storage, log, send, connect, sendRaw, entryOf }
}

/** Starts a server with a shop. The lines of headers are for raw requests. */
export async function serveShop(t: Pick<TestContext, 'after'>, options?: TestServerOptions) {
  const server = await startServer(t, options)
  const shop = await createShop(server.till)
  return {
    ...server,
    ...shop,
    withKey: `x-account-key: ${shop.account_key}`,
    withToken: `authorization: Bearer ${shop.token}`,
    withPublicKey: `x-public-project-key: ${shop.public_key}`,
  }
}

/** A server with a shop. */
export type ServedShop = Awaited<ReturnType<typeof serveShop>>

/** Whether the tests of this process run over the fetch handler. */
export const overFetch = process.env.TILLKIT_TEST_TRANSPORT === 'fetch'

/** The fetch handler. `connect` reaches it through Hono's server, `send` calls it directly. */
async function serveFetch(till: Till, options: ServeOptions) {
  const { port: _, host: __, ...handlerOptions } = options
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

/** Calls `look` every few milliseconds until it returns a value, a limited number of times. */
export async function eventually<T>(look: () => T | undefined, what: string): Promise<T> {
  for (let attempts = 0; attempts < 12_000; attempts++) {
    const found = look()
    if (found !== undefined) return found
    await setTimeout(5)
  }
  throw new Error(`there never was ${what}`)
}

/** A promise that `give` resolves. */
export function createSignal(): { readonly given: Promise<void>; give(): void } {
  let give = () => {}
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { given, give: () => give() }
}

/** The headers and body of a request. */
export interface Parts {
  readonly account_key?: string | undefined
  readonly public_key?: string | undefined
  readonly token?: string | undefined
  readonly headers?: { readonly [name: string]: string }
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent unchanged; a string is sent as JSON unless the headers name another type. */
  readonly body?: string | Uint8Array<ArrayBuffer> | FormData
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Parses the body as JSON. The caller names the type and asserts it. */
  json<T>(): T
}

export type Send = (request: string, parts?: Parts) => Promise<Reply>

/** Returns a function that sends requests, such as `send('GET /healthz')`. */
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

/** The form of an import. By default it has the file and the store's id. */
export function importForm(csv: string, fields: { [name: string]: string } = {}): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries({ store_id: 'main', ...fields })) {
    form.append(name, value)
  }
  form.append('file', new Blob([csv], { type: 'text/csv' }), 'purchases.csv')
  return form
}

/** A multipart body of these parts, of the type FORM_TYPE. A part `file` is a file. */
export function rawForm(...parts: readonly (readonly [name: string, value: string])[]): string {
  const written = parts.map(([name, value]) => {
    const file = name === 'file' ? '; filename="p.csv"\r\ncontent-type: text/csv' : ''
    return `--cut\r\ncontent-disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`
  })
  return `${written.join('')}--cut--\r\n`
}

export const FORM_TYPE = 'content-type: multipart/form-data; boundary=cut'

/** The form of an import of one purchase. */
export const RAW_IMPORT = rawForm(
  ['store_id', 'main'],
  ['file', 'transaction_id,sku,purchased_at\nT-1,gold,1700000000\n'],
)

export interface ProblemBody {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: string
  readonly request_id: string
  readonly errors?: readonly ErrorDetail[]
}

/** Asserts that the reply is a complete RFC 9457 document with this status and code. Returns it. */
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
  for (const text of [rest.title, rest.detail]) assert.match(text, /^[A-Z\d]|^[$\w.[\]-]+ /)
  assert.match(problem.request_id, /^[\w-]{1,64}$/)
  if (errors) assertDetails(errors)
  return problem
}

function assertDetails(errors: readonly ErrorDetail[]): void {
  assert.ok(errors.length > 0, 'an empty list of errors says nothing')
  for (const error of errors) {
    assert.match(error.code, /^[a-z_]+$/)
    assert.ok(error.message.length > 0)
    const unknown = Object.keys(error).filter((key) => !DETAIL_KEYS.includes(key))
    assert.deepEqual(unknown, [])
  }
}

const DETAIL_KEYS = ['field', 'line', 'column', 'code', 'message', 'sku', 'rows', 'title', 'sales']

/** A connection on which a test can write bytes that no HTTP client would send. */
export interface RawClient {
  readonly socket: Socket
  write(bytes: string | Uint8Array): void
  /** Reads the next reply. `head` says that it has no body. */
  reply(options?: { head?: boolean }): Promise<Reply>
  /** Resolves when the server has closed the connection, to the bytes not yet read as a reply. */
  readonly ended: Promise<string>
}

/** Opens a connection to a server. The caller must destroy it. */
export async function connectTo(url: string): Promise<RawClient> {
  const { hostname, port } = new URL(url)
  const socket = createConnection({ host: hostname, port: Number(port), allowHalfOpen: true })
  let chunks: Buffer[] = []
  let size = 0
  let isOver = false
  let wake = () => {}
  /** Joins the chunks only once, because a long body has hundreds of them. */
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
  socket.on('error', () => {}) // some tests expect a reset

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
      assert.equal([...headers].length, lines.length - 1, `a repeated header: ${lines}`)
      const length = head || status < 200 ? 0 : Number(headers.get('content-length') ?? Number.NaN)
      return createReply(status, headers, await take(() => length))
    },
  }
}

function endOfHead(bytes: Buffer): number {
  const found = bytes.indexOf('\r\n\r\n')
  return found < 0 ? -1 : found + 4
}

/** The text of an HTTP request with a body. */
export function rawRequest(request: string, headers: readonly string[], body = ''): string {
  const length = body === '' ? [] : [`content-length: ${Buffer.byteLength(body)}`]
  return [`${request} HTTP/1.1`, 'host: test', ...length, ...headers, '', body].join('\r\n')
}

/** A body of one-byte characters in chunks, with the end of the body. */
export function inChunks(body: string, size = 65_536): string {
  const chunks = body.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
  const framed = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`)
  return `${framed.join('')}0\r\n\r\n`
}
