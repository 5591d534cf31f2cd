import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { RequestFailure, toFailure } from './failure.ts'
import { cacheAnswers, createResolver, type Resolve } from './resolver.ts'
import { parseRetryAfter } from './retry-after.ts'
import { findTarget, type Target } from './target.ts'

/** The maximum bytes of an answer that are read: of its body, and of its headers. */
const MAX_ANSWER = 4 * 1024
const MAX_HEADERS = 8 * 1024
/** The maximum number of informational answers (1xx) before the answer; one more is an error. */
const MAX_INFORMATIONAL = 10

/**
 * The maximum number of idle connections to one host, and the milliseconds that they stay open.
 * Most servers close theirs after 5 s.
 */
const MAX_IDLE = 10
const IDLE_MS = 4_000

export interface OutgoingOptions {
  /** Also allows http, and addresses that are not public. */
  readonly allowPrivate?: boolean | undefined
  /** Milliseconds for the name lookup, the connection, the request and the answer together. */
  readonly timeout?: number | undefined
  /** Resolves host names instead of DNS. The addresses are checked all the same. */
  readonly resolve?: Resolve | undefined
  /** Certificate authorities to trust instead of those that Node trusts, as PEM. */
  readonly ca?: string | undefined
}

export interface OutgoingRequest {
  readonly url: string
  readonly headers: { readonly [name: string]: string }
  readonly body: string
}

export interface Answer {
  readonly status: number
  /** The first 4 KiB of the body. */
  readonly answer: string
  /** The milliseconds that `Retry-After` asks to wait; ignored with a status of 2xx. */
  readonly retry_after?: number
}

export interface Outgoing {
  /**
   * Sends a POST request. Resolves to any answer that has a status, also when its body is cut off.
   * Does not follow redirects. Rejects with a `RequestFailure`.
   */
  post(request: OutgoingRequest): Promise<Answer>
  /** Closes all connections. Requests in flight reject. */
  close(): void
}

/** Creates a client for requests to hosts that users choose. */
export function createOutgoing(options: OutgoingOptions = {}): Outgoing {
  const { allowPrivate = false, timeout = 10_000, ca } = options
  const resolve = options.resolve ?? createResolver(allowPrivate)
  const find = cacheAnswers((url) => findTarget(url, resolve, allowPrivate))
  const pool = { keepAlive: true, maxFreeSockets: MAX_IDLE, timeout: IDLE_MS }
  // `rejectUnauthorized` is set because NODE_TLS_REJECT_UNAUTHORIZED=0 changes its default.
  const tls = { rejectUnauthorized: true, ...(ca === undefined ? {} : { ca }) }
  const agents = { http: new HttpAgent(pool), https: new HttpsAgent({ ...pool, ...tls }) }

  const start: Start = ({ url, addresses }, { headers, body }, isFresh) => {
    const common = {
      method: 'POST',
      headers: { ...headers, 'content-length': Buffer.byteLength(body), ...AGENT_HEADER },
      lookup: createLookup(addresses),
      maxHeaderSize: MAX_HEADERS,
    }
    if (url.protocol === 'http:') {
      return httpRequest(url, { ...common, agent: isFresh ? false : agents.http })
    }
    return httpsRequest(url, { ...common, ...tls, agent: isFresh ? false : agents.https })
  }

  const inFlight = new Set<AbortController>()
  return {
    async post(request) {
      const controller = new AbortController()
      const { signal } = controller
      const abort = () => controller.abort(new RequestFailure('timeout', 'No answer in time'))
      const timer = setTimeout(abort, timeout)
      inFlight.add(controller)
      try {
        const target = await untilAborted(find(request.url), signal)
        return await exchange(start, target, request, signal)
      } catch (error) {
        throw toFailure(signal.aborted ? signal.reason : error)
      } finally {
        clearTimeout(timer)
        inFlight.delete(controller)
      }
    },
    close() {
      const closed = new RequestFailure('stopped', 'The sender was stopped')
      for (const controller of inFlight) controller.abort(closed)
      agents.http.destroy()
      agents.https.destroy()
    },
  }
}

const AGENT_HEADER = { 'user-agent': 'tillkit-webhooks' }

type Start = (target: Target, request: OutgoingRequest, isFresh: boolean) => ClientRequest

/** Gives the checked addresses to `net.connect`, which would otherwise resolve the name again. */
function createLookup(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_, { all: isForAll, family }, callback) => {
    const wanted = family === 4 || family === 6 ? all.filter((each) => each.family === family) : all
    const [first] = wanted
    if (!first) callback(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), '', 0)
    else if (isForAll) callback(null, wanted)
    else callback(null, first.address, first.family)
  }
}

/** Repeats the request once when a server closed an idle connection just as it was used. */
async function exchange(
  start: Start,
  target: Target,
  request: OutgoingRequest,
  signal: AbortSignal,
): Promise<Answer> {
  const first = start(target, request, false)
  try {
    return await readAnswer(first, request.body, signal)
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (signal.aborted || !first.reusedSocket || (code !== 'ECONNRESET' && code !== 'EPIPE'))
      throw error
    return readAnswer(start(target, request, true), request.body, signal)
  }
}

function readAnswer(request: ClientRequest, body: string, signal: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    // Cheaper than the option `signal` of `http.request`, which watches the stream.
    signal.addEventListener('abort', () => request.destroy(signal.reason), { once: true })
    let informational = 0
    request.on('error', reject)
    // An answer with status 101 (Switching Protocols) causes only the event `close`.
    const endWithoutAnswer = () => reject(new RequestFailure('protocol', 'There was no answer'))
    request.on('close', endWithoutAnswer)
    request.on('information', () => {
      informational++
      if (informational <= MAX_INFORMATIONAL) return
      request.destroy(new RequestFailure('protocol', 'Too many informational answers'))
    })
    request.on('response', (response) => {
      const chunks: Buffer[] = []
      let size = 0
      const finish = () => resolve(toAnswer(response, Buffer.concat(chunks)))
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        size += chunk.length
        if (size > MAX_ANSWER) response.destroy()
      })
      // Resolves even if the body is cut off, because only the status decides whether the message
      // arrived.
      request.off('close', endWithoutAnswer).off('error', reject).on('error', finish)
      response.on('error', finish).on('close', finish)
    })
    request.end(body)
  })
}

function toAnswer({ statusCode: status = 0, headers }: IncomingMessage, body: Buffer): Answer {
  const isSuccess = status >= 200 && status < 300
  const retry_after = isSuccess ? undefined : parseRetryAfter(headers['retry-after'], Date.now())
  return { status, answer: decode(body), ...(retry_after === undefined ? {} : { retry_after }) }
}

/** Decodes at most 4 KiB. U+0000 is replaced, because PostgreSQL cannot store it. */
function decode(bytes: Buffer): string {
  if (bytes.length === 0) return ''
  const text = bytes.subarray(0, MAX_ANSWER).toString('utf8').replaceAll('\0', '\uFFFD')
  // Cuts the text again: each malformed byte has become U+FFFD, which takes three bytes.
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(MAX_ANSWER))
  return text.slice(0, read)
}

function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  return Promise.race([promise, aborted])
}
