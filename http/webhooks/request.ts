import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { urlToHttpOptions } from 'node:url'
import {
  cacheAnswers,
  createResolver,
  findReceiver,
  type Resolve,
  type ResolvedReceiver,
} from './address.ts'
import { RequestFailure, toFailure } from './failure.ts'

/** The maximum bytes of an answer that are read: of its body, and of its headers. */
const MAX_ANSWER = 4 * 1024
const MAX_HEADERS = 8 * 1024
/** The maximum number of informational answers (1xx) before the final one; more are an error. */
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
  /** The maximum time, in milliseconds, from the name lookup to the end of the answer. */
  readonly timeout?: number | undefined
  /** Resolves host names in place of DNS. The addresses are still checked. */
  readonly resolve?: Resolve | undefined
  /** Certificate authorities in PEM format. They replace those that Node trusts. */
  readonly ca?: string | undefined
}

interface OutgoingRequest {
  readonly url: string
  readonly headers: { readonly [name: string]: string }
  readonly body: string
}

export interface Answer {
  readonly status: number
  /** The first 4 KiB of the answer's body. */
  readonly answer: string
  /** The milliseconds that `Retry-After` asks to wait; ignored with a status of 2xx. */
  readonly retry_after?: number
}

/** Creates a client for requests to hosts that users choose. */
export function createOutgoing(options: OutgoingOptions = {}) {
  const { allowPrivate = false, timeout = 10_000, ca } = options
  const resolve = options.resolve ?? createResolver(allowPrivate)
  const find = cacheAnswers(async (url) => {
    return toReceiver(await findReceiver(url, resolve, allowPrivate))
  })
  const pool = { keepAlive: true, maxFreeSockets: MAX_IDLE, timeout: IDLE_MS }
  // `rejectUnauthorized` is set because NODE_TLS_REJECT_UNAUTHORIZED=0 changes its default.
  const tls = { rejectUnauthorized: true, ...(ca === undefined ? {} : { ca }) }
  const agents = { http: new HttpAgent(pool), https: new HttpsAgent({ ...pool, ...tls }) }

  const start: Start = ({ isTls, headers, options }, request, isFresh) => {
    // With a list of headers, a request takes a tenth less CPU time than with an object.
    const list = [...headers, 'content-length', String(Buffer.byteLength(request.body))]
    for (const name in request.headers) list.push(name, request.headers[name] as string)
    const own = { ...options, headers: list }
    if (!isTls) return httpRequest({ ...own, agent: isFresh ? false : agents.http })
    return httpsRequest({ ...own, ...tls, agent: isFresh ? false : agents.https })
  }

  const inFlight = new Set<Stop>()
  return {
    /**
     * Sends a POST request. Resolves to any answer that has a status, also when its body is cut off.
     * Does not follow redirects. Rejects with a `RequestFailure`.
     */
    async post(request: OutgoingRequest): Promise<Answer> {
      const stop = createStop()
      const timer = setTimeout(stopLate, timeout, stop)
      inFlight.add(stop)
      try {
        const receiver = await unlessStopped(find(request.url), stop)
        return await exchange(start, receiver, request, stop)
      } catch (error) {
        throw toFailure(stop.failure ?? error)
      } finally {
        clearTimeout(timer)
        inFlight.delete(stop)
      }
    },
    /** Closes all connections. Requests in flight reject. */
    close(): void {
      const closed = new RequestFailure('stopped', 'The sender was stopped')
      for (const stop of inFlight) stop.now(closed)
      agents.http.destroy()
      agents.https.destroy()
    },
  }
}

/** Ends a request early. An `AbortController` would take a quarter of the request's CPU time. */
interface Stop {
  readonly failure: RequestFailure | undefined
  now(failure: RequestFailure): void
  /** Sets the function to call when the request is stopped; called at once if it already is. */
  listen(listener: (failure: RequestFailure) => void): void
}

function createStop(): Stop {
  let failure: RequestFailure | undefined
  let listener: ((failure: RequestFailure) => void) | undefined
  return {
    get failure() {
      return failure
    },
    now(reason) {
      failure ??= reason
      listener?.(failure)
    },
    listen(next) {
      listener = next
      if (failure) next(failure)
    },
  }
}

function stopLate(stop: Stop): void {
  stop.now(new RequestFailure('timeout', 'No answer in time'))
}

/** The parts that all requests to one receiver share. */
interface Receiver {
  readonly isTls: boolean
  readonly headers: readonly string[]
  readonly options: RequestOptions
}

function toReceiver({ url, addresses }: ResolvedReceiver): Receiver {
  return {
    isTls: url.protocol === 'https:',
    headers: ['host', url.host, 'user-agent', 'tillkit-webhooks'],
    options: {
      ...urlToHttpOptions(url),
      method: 'POST',
      lookup: createLookup(addresses),
      maxHeaderSize: MAX_HEADERS,
    },
  }
}

type Start = (receiver: Receiver, request: OutgoingRequest, isFresh: boolean) => ClientRequest

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

/**
 * Sends the request again, once, if the server has just closed the idle connection that it reused.
 */
async function exchange(
  start: Start,
  receiver: Receiver,
  request: OutgoingRequest,
  stop: Stop,
): Promise<Answer> {
  const first = start(receiver, request, false)
  try {
    return await readAnswer(first, request.body, stop)
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (stop.failure || !first.reusedSocket || (code !== 'ECONNRESET' && code !== 'EPIPE'))
      throw error
    return readAnswer(start(receiver, request, true), request.body, stop)
  }
}

function readAnswer(request: ClientRequest, body: string, stop: Stop): Promise<Answer> {
  return new Promise((resolve, reject) => {
    stop.listen((failure) => request.destroy(failure))
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
  // The sender of a message follows no redirect: the log says where to.
  const { location } = headers
  const target = status >= 300 && status < 400 && location ? `Location: ${location}\n` : ''
  const retry_after = isSuccess ? undefined : parseRetryAfter(headers['retry-after'], Date.now())
  return {
    status,
    answer: Buffer.concat([Buffer.from(target), body]).toString('utf8', 0, MAX_ANSWER),
    ...(retry_after === undefined ? {} : { retry_after }),
  }
}

function unlessStopped<T>(promise: Promise<T>, stop: Stop): Promise<T> {
  return new Promise((resolve, reject) => {
    stop.listen(reject)
    promise.then(resolve, reject)
  })
}

/** Longer waits are cut to one day. */
const MAX_MS = 24 * 3_600_000

/** `Sun, 06 Nov 1994 08:49:37 GMT`, the only date format that RFC 9110 lets servers send. */
const DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/**
 * The milliseconds that a `Retry-After` header asks to wait, from 0 to one day. The header has
 * seconds or a date. Returns undefined when it is missing or malformed.
 */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  if (/^\d{1,15}$/.test(header)) return Math.min(Number(header) * 1_000, MAX_MS)
  const at = DATE.test(header) ? Date.parse(header) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.min(Math.max(at - now, 0), MAX_MS)
}
