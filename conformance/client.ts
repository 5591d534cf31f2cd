import { setTimeout } from 'node:timers/promises'
import { CREDENTIALS, endpointOf, variableOf } from './endpoints.ts'
import { parseJson } from './shape.ts'

/** A credential in a request, and the text that stands for it in reports. */
export interface Credential {
  readonly value: string
  readonly shown: string
}

/** The parts of a request that differ between requests to one endpoint. */
export interface Call {
  /** The item id in the path of `GET /items/{item_id}`. */
  readonly item_id?: string
  /** The query string, such as `?store_id=main`. */
  readonly query?: string
  readonly json?: unknown
  /** A body that is sent as JSON without being valid JSON. */
  readonly text?: string
  /** The parts of a multipart form. `file` is sent as a file. */
  readonly form?: { readonly [part: string]: string }
  /** Replaces the valid credential; null sends none. */
  readonly credential?: Credential | null
}

export interface Answer {
  /** The number of the endpoint. */
  readonly endpoint: number
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The parsed body; undefined when it is not JSON. */
  readonly body: unknown
  /** The command that repeats the request. */
  readonly request: string
}

/** An endpoint that gave no complete answer. */
interface NoAnswer {
  readonly endpoint: number
  readonly isTimeout: boolean
}

/** The answer of the server differs from what a check expects, or there is none. */
export class Mismatch extends Error {
  readonly expected: string
  readonly got: string
  readonly request: string
  readonly noAnswer: NoAnswer | undefined

  constructor(expected: string, got: string, request: string, noAnswer?: NoAnswer) {
    super(`expected ${expected}, got ${got}`)
    this.expected = expected
    this.got = got
    this.request = request
    this.noAnswer = noAnswer
  }
}

/** A check cannot run: a record that it needs could not be created, or the time has run out. */
export class NotRun extends Error {}

export interface ClientOptions {
  /** The URL of the server, without a slash at the end. */
  readonly url: string
  /** The time limit for one request, in milliseconds. */
  readonly timeout: number
  /** The time limit for all requests, in milliseconds. */
  readonly totalTime: number
  readonly signal?: AbortSignal | undefined
}

export type Send = (
  endpoint: number,
  call: Call & { readonly credential: Credential | null },
) => Promise<Answer>

const MAX_ANSWER_BYTES = 8 * 1024 ** 2
const MAX_REPEATS = 3
const MAX_WAIT_SECONDS = 10

/**
 * Creates the function that sends requests. That function throws a NotRun when the time is used up,
 * and a Mismatch with `noAnswer` when a request fails.
 */
export function createClient({ url, timeout, totalTime, signal }: ClientOptions): Send {
  const end = AbortSignal.timeout(totalTime)
  const stop = signal ? AbortSignal.any([signal, end]) : end

  return async (endpoint, call) => {
    const { method, path, credential, bodyType } = endpointOf(endpoint)
    const { header, prefix } = CREDENTIALS[credential]
    const address = `${url}${path.replace('{item_id}', call.item_id ?? '')}${call.query ?? ''}`
    const request = formatCurl(endpoint, address, call)
    const headers = new Headers({ accept: 'application/json' })
    if (!/^[ -~]*$/.test(call.credential?.value ?? '')) {
      throw new NotRun('the token has characters that no header can carry')
    }
    if (call.credential) headers.set(header, prefix + call.credential.value)
    if (bodyType && !call.form) headers.set('content-type', 'application/json')
    const init = { method, headers, body: bodyOf(call) }

    for (let repeats = 0; ; repeats++) {
      const timer = AbortSignal.timeout(timeout)
      const signals = AbortSignal.any([stop, timer])
      try {
        // Does not follow redirects, which could send the account key to another server.
        const response = await fetch(address, { ...init, redirect: 'manual', signal: signals })
        const text = await readText(response)
        const wait = repeats < MAX_REPEATS ? retryAfter(response) : undefined
        if (wait === undefined) {
          const { status, headers } = response
          return { endpoint, status, headers, text, body: parseJson(text), request }
        }
        await setTimeout(wait * 1000, undefined, { signal: stop })
      } catch (cause) {
        signal?.throwIfAborted()
        if (end.aborted) throw new NotRun(`${totalTime / 1000} s are over`)
        const late = `no answer in ${timeout / 1000} s`
        const reason = timer.aborted ? late : reasonOf(cause as Error)
        throw new Mismatch('an answer', reason, request, { endpoint, isTimeout: timer.aborted })
      }
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

function bodyOf({ json, text, form }: Call): string | FormData | null {
  if (form === undefined) return json === undefined ? (text ?? null) : JSON.stringify(json)
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

const MAX_BODY = 2_000

/** Formats a request as a curl command. The credential appears as a shell variable. */
function formatCurl(endpoint: number, url: string, call: Call): string {
  const { method, credential, bodyType } = endpointOf(endpoint)
  const { header, prefix } = CREDENTIALS[credential]
  const { credential: sent, json, text, form } = call
  const body = json === undefined ? text : JSON.stringify(json)
  const { file, ...fields } = form ?? {}
  const parts = [
    `curl -s -X ${method} ${quote(url)}`,
    ...(sent === null ? [] : [`-H "${header}: ${prefix}${sent?.shown ?? variableOf(credential)}"`]),
    ...(form || !bodyType ? [] : [`-H 'content-type: application/json'`]),
    ...(body === undefined ? [] : [`--data-binary ${quote(cut(body, MAX_BODY))}`]),
    ...Object.entries(fields).map(([name, value]) => `-F ${quote(`${name}=${value}`)}`),
    ...(file === undefined ? [] : [`-F 'file=@-;filename=purchases.csv;type=text/csv'`]),
  ]
  const input = file === undefined ? '' : `printf ${quote(file.replaceAll('\n', '\\n'))} |\n`
  return input + parts.join(' \\\n  ')
}

/** One line of a shell command. Who prints it escapes other characters. */
function quote(value: string): string {
  return `'${value.replaceAll('\n', '\\n').replaceAll("'", "'\\''")}'`
}

export function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`
}
