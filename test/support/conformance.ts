import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { endpointOf } from '../../conformance/endpoints.ts'
import type { Finding, Report } from '../../conformance/suite.ts'
import { createFetchHandler } from '../../http/index.ts'
import { tillkit } from './cli.ts'
import { listenOn } from './listen.ts'
import { serveShop } from './server.ts'

type Json = Record<string, unknown>

export interface ProxiedRequest {
  /** The number of the endpoint. */
  readonly number: number
  readonly headers: { [name: string]: string }
  /** The parsed body, when it is a JSON object. */
  json: Json | undefined
}

export interface ProxiedReply {
  status: number
  type: string
  json: Json
  /** Sent in place of the JSON body. */
  text?: string
}

/** A defect of a server, made by changing the requests to a good one and its replies. */
export interface Change {
  readonly request?: (request: ProxiedRequest) => void
  readonly reply?: (reply: ProxiedReply, request: ProxiedRequest) => void
  /** An endpoint that never answers. */
  readonly silent?: number
}

/** The title of the first check of every endpoint. */
export const ANSWER = 'answers a valid request with 200 and exactly the specified fields'

/** A server that conforms, and the keys for it. */
export async function start(t: TestContext) {
  const shop = await serveShop(t)
  const env = { TILLKIT_PUBLIC_KEY: shop.public_key, TILLKIT_ACCOUNT_KEY: shop.account_key }
  return { ...shop, handle: createFetchHandler(shop.till), env }
}

/** Runs the command on a server with a defect. */
export async function checkText(
  t: TestContext,
  change: Change,
  args: readonly string[] = [],
  columns?: number,
) {
  const { handle, env } = await start(t)
  const url = await startChanged(t, handle, change)
  const options = columns === undefined ? { env } : { env, columns }
  const done = await tillkit(['conformance', '--url', url, ...args], options)
  for (const secret of [...Object.values(env), 'eyJ']) assert.ok(!done.stdout.includes(secret))
  return { ...done, env }
}

/** Checks a server with a defect. */
export async function check(t: TestContext, change: Change, args: readonly string[] = []) {
  const { code, stdout, env } = await checkText(t, change, ['--json', ...args])
  const report = JSON.parse(stdout) as Report
  const titles = (outcome: Finding['outcome']) =>
    report.checks.filter((each) => each.outcome === outcome).map(nameOf)
  return { code, report, titles, env }
}

/** The name of a check in assertions. */
export const nameOf = ({ endpoint, title }: Pick<Finding, 'endpoint' | 'title'>) =>
  `${endpoint}: ${title}`

/** Changes the answers with status 200, of one endpoint or of all. */
export const onSuccess = (change: NonNullable<Change['reply']>, number?: number): Change => ({
  reply(reply, request) {
    const isMeant = number === undefined || number === request.number
    if (isMeant && reply.status === 200) change(reply, request)
  },
})

const LINES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((number) => {
  const { method, path } = endpointOf(number)
  return `${method} ${path}`
})

function parse(body: string): Json | undefined {
  try {
    const value = JSON.parse(body)
    return Array.isArray(value) ? undefined : value
  } catch {
    return undefined
  }
}

/** Starts a proxy that makes the server of `answer` look defective. Resolves to its URL. */
function startChanged(
  t: TestContext,
  answer: (request: Request) => Promise<Response>,
  change: Change,
): Promise<string> {
  const server = createServer(async (incoming, outgoing) => {
    const { method = '', url = '' } = incoming
    const path = url.replace(/\?.*/, '').replace(/(\/items)\/.+/, '$1/{item_id}')
    const { host: _, connection: __, 'content-length': ___, ...sent } = incoming.headers
    const headers = sent as { [name: string]: string }
    const bytes = Buffer.from(await text(incoming.setEncoding('latin1')), 'latin1')
    const number = LINES.indexOf(`${method} ${path}`) + 1
    if (number === change.silent) return
    const request = { number, headers, json: parse(bytes.toString()) }
    change.request?.(request)
    const body = request.json ? JSON.stringify(request.json) : bytes
    const init = { method, headers, ...(body.length > 0 ? { body } : {}) }
    const response = await answer(new Request(`http://127.0.0.1${url}`, init))
    const type = response.headers.get('content-type') ?? ''
    const json = (await response.json()) as Json
    const reply: ProxiedReply = { status: response.status, type, json }
    change.reply?.(reply, request)
    outgoing.writeHead(reply.status, { 'content-type': reply.type })
    outgoing.end(reply.text ?? JSON.stringify(reply.json))
  })
  return listenOn(t, server)
}
