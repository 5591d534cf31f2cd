import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { endpointOf } from '../../cli/conformance/endpoints.ts'
import { listenOn } from './listen.ts'

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
  /** An endpoint that closes the connection. */
  readonly closing?: number
}

const NUMBERS = new Map(
  [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((number) => {
    const { method, path } = endpointOf(number)
    return [`${method} ${path}`, number]
  }),
)

function parse(body: string): Json | undefined {
  try {
    const value = JSON.parse(body)
    return Array.isArray(value) ? undefined : value
  } catch {
    return undefined
  }
}

/** Starts a proxy that makes the server of `answer` look defective. Resolves to its URL. */
export async function startChangedServer(
  t: Pick<TestContext, 'after'>,
  answer: (request: Request) => Promise<Response>,
  change: Change,
): Promise<string> {
  const server = createServer(async (incoming, outgoing) => {
    const { method = '', url = '' } = incoming
    const path = url.replace(/\?.*/, '').replace(/(\/items)\/.+/, '$1/{item_id}')
    const { host: _, connection: __, 'content-length': ___, ...sent } = incoming.headers
    const headers = sent as { [name: string]: string }
    const bytes = await text(incoming.setEncoding('latin1'))
    const sentJson = parse(Buffer.from(bytes, 'latin1').toString())
    const request = { number: NUMBERS.get(`${method} ${path}`) ?? 0, headers, json: sentJson }
    if (request.number === change.silent) return
    if (request.number === change.closing) return void incoming.socket.destroy()
    change.request?.(request)
    const body = request.json ? JSON.stringify(request.json) : Buffer.from(bytes, 'latin1')
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
