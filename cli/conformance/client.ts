import { setTimeout } from 'node:timers/promises'
import { type Call, type Credential, formatCurl } from './call.ts'
import { NoAnswer, NotRun } from './outcomes.ts'
import { CREDENTIALS, type EndpointNumber, ROUTES } from './routes.ts'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The parsed body; undefined when it is not JSON. */
  readonly body: unknown
  /** The command that repeats the request. */
  readonly request: string
}

export interface ClientOptions {
  /** The URL of the server, without a slash at the end. */
  readonly url: string
  /** The time limit for one request, in milliseconds. */
  readonly timeout: number
  /** The time limit for all requests, in milliseconds. */
  readonly totalTime: number
  readonly maxRequests: number
  readonly signal?: AbortSignal | undefined
}

export type Send = (
  endpoint: EndpointNumber,
  call: Call & { readonly credential: Credential | null },
) => Promise<Answer>

const MAX_ANSWER_BYTES = 8 * 2 ** 20
const MAX_REPEATS = 3
const MAX_WAIT_SECONDS = 10

/**
 * Creates the function that sends requests. That function throws a NotRun when the time or the
 * number of requests is used up, and a NoAnswer when a request fails.
 */
export function createClient(options: ClientOptions): Send {
  const { url, maxRequests, timeout, totalTime, signal } = options
  const end = performance.now() + totalTime
  let requests = 0

  const exchange = async (endpoint: EndpointNumber, target: string, init: RequestInit) => {
    signal?.throwIfAborted()
    if (++requests > maxRequests) throw new NotRun(`more than ${maxRequests} requests are needed`)
    const timeLeft = Math.floor(end - performance.now())
    if (timeLeft <= 0) throw new NotRun(`${totalTime / 1000} s are over`)
    const timer = AbortSignal.timeout(Math.min(timeout, timeLeft))
    const either = signal ? AbortSignal.any([signal, timer]) : timer
    try {
      // Does not follow redirects, which could send the account key to another server.
      const response = await fetch(target, { ...init, redirect: 'manual', signal: either })
      return { response, text: await readText(response) }
    } catch (cause) {
      signal?.throwIfAborted()
      if (performance.now() >= end) throw new NotRun(`${totalTime / 1000} s are over`)
      const reason = timer.aborted ? `no answer in ${timeout / 1000} s` : reasonOf(cause as Error)
      throw new NoAnswer(endpoint, reason, timer.aborted)
    }
  }

  return async (endpoint, call) => {
    const { method, path } = ROUTES[endpoint]
    const { header, prefix } = CREDENTIALS[ROUTES[endpoint].credential]
    const target = `${url}${path.replace('{item_id}', call.item_id ?? '')}${call.query ?? ''}`
    const request = formatCurl(endpoint, target, call)
    const headers = new Headers({ accept: 'application/json' })
    if (!/^[ -~]*$/.test(call.credential?.value ?? '')) {
      throw new NotRun('the token has characters that no header can carry')
    }
    if (call.credential) headers.set(header, prefix + call.credential.value)
    if (call.form === undefined && method !== 'GET') headers.set('content-type', 'application/json')
    const body = bodyOf(call)
    const init = { method, headers, ...(body === undefined ? {} : { body }) }
    try {
      let answer = await exchange(endpoint, target, init)
      for (let repeats = 0; repeats < MAX_REPEATS; repeats++) {
        const wait = retryAfter(answer.response)
        if (wait === undefined) break
        await setTimeout(wait * 1000, undefined, { signal })
        answer = await exchange(endpoint, target, init)
      }
      const { response, text } = answer
      return {
        status: response.status,
        headers: response.headers,
        text,
        body: parse(text),
        request,
      }
    } catch (error) {
      if (error instanceof NoAnswer) error.request = request
      throw error
    }
  }
}

function reasonOf(error: Error): string {
  const { code = '', message } = (error.cause ?? error) as NodeJS.ErrnoException
  const reason = message || code
  if (!/CERT|SIGNATURE|SSL|TLS|EPROTO/.test(code)) return reason
  return `TLS failed: ${reason} (${code})`
}

/** The seconds to wait after 429 or 503; undefined when the answer is final. */
function retryAfter({ status, headers }: Response): number | undefined {
  const seconds = headers.get('retry-after') ?? ''
  if ((status !== 429 && status !== 503) || !/^\d{1,2}$/.test(seconds)) return undefined
  return Math.min(Number(seconds), MAX_WAIT_SECONDS)
}

function bodyOf({ json, text, form }: Call): string | FormData | undefined {
  if (form === undefined) return json === undefined ? text : JSON.stringify(json)
  const data = new FormData()
  for (const [name, value] of Object.entries(form)) {
    if (name !== 'file') data.append(name, value)
    else data.append(name, new Blob([value], { type: 'text/csv' }), 'purchases.csv')
  }
  return data
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > MAX_ANSWER_BYTES) throw new Error(`an answer of more than ${MAX_ANSWER_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
