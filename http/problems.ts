import { type ErrorDetail, excerpt, TillError } from '../lib/index.ts'
import { type FaultCode, faults } from './faults.ts'

/** An error of the HTTP transport, with the headers for its answer. */
export class TransportFault extends Error {
  readonly code: FaultCode
  readonly headers: ResponseHeaders

  constructor(code: FaultCode, message: string, headers: ResponseHeaders = {}) {
    super(message)
    this.code = code
    this.headers = headers
  }
}

/** A 503 error for a request over a limit. `retryAfter` is in seconds. */
export function overloaded(message: string, retryAfter = '1'): TransportFault {
  return new TransportFault('overloaded', message, { 'retry-after': retryAfter })
}

/**
 * Creates the error for an invalid option. The library's error would name the option differently.
 */
export function invalidOption(field: string, message: string): TillError {
  const details = [{ field, code: 'invalid', message }]
  return new TillError('invalid_request', `${field} ${message}`, details)
}

/** Throws if the body or the form has an id that differs from that in the path. Ignores null. */
export function assertIdsOfPath(
  params: { readonly [field: string]: string },
  body: { readonly [field: string]: unknown },
): void {
  for (const [field, id] of Object.entries(params)) {
    if ((body[field] ?? id) !== id) {
      throw invalidOption(field, 'differs from that in the path: send it only in the path')
    }
  }
}

export type ResponseHeaders = { readonly [name: string]: string }

const KEY_CHALLENGE = 'AccountKey realm="tillkit"'
const TOKEN_CHALLENGE = 'Bearer realm="tillkit"'
const SCOPE_PROBLEM = 'error="insufficient_scope"'

// Each 401 needs a challenge in `WWW-Authenticate` (RFC 9110 section 11.6.1). RFC 6750 section 3
// defines the challenges for bearer tokens.
const headersOf: { readonly [code: string]: ResponseHeaders } = {
  account_key_required: { 'www-authenticate': KEY_CHALLENGE },
  token_required: { 'www-authenticate': TOKEN_CHALLENGE },
  insufficient_scope: { 'www-authenticate': `${TOKEN_CHALLENGE}, ${SCOPE_PROBLEM}` },
  storage_unavailable: { 'retry-after': '1' },
}

const KEY_SCOPE_HEADERS = { 'www-authenticate': `${KEY_CHALLENGE}, ${SCOPE_PROBLEM}` }

/** An error answer (RFC 9457). */
export interface Problem {
  readonly status: number
  readonly headers: ResponseHeaders
  readonly body: {
    readonly type: string
    readonly title: string
    readonly status: number
    readonly detail: string
    readonly code: string
    readonly request_id: string
    readonly errors?: readonly ErrorDetail[]
  }
}

/** Texts are cut to this many characters. Only quotes of the client's input can be longer. */
const MAX_TEXT = 1000

/**
 * Creates the answer for a thrown value: its status, headers and problem document. Drops the last
 * errors of a document that is longer than `bytes` of JSON; `detail` then says how many are left. A
 * value that is no error of tillkit becomes `internal_error`, which does not disclose its cause.
 */
export function createProblem(
  error: unknown,
  request_id: string,
  bytes = Number.POSITIVE_INFINITY,
): Problem {
  const { status, title, code, text, headers = {}, errors = [] } = describe(error)
  const detail = excerpt(text, MAX_TEXT)
  const body = { type: `urn:tillkit:error:${code}`, title, status, detail, code, request_id }
  if (errors.length === 0) return { status, headers, body }
  let bytesLeft = bytes - byteLength({ ...body, errors: [] }) - MAX_TEXT
  const shown: ErrorDetail[] = []
  for (const error of errors) {
    // The names in the errors are short already.
    const short = { ...error, message: excerpt(error.message, MAX_TEXT) }
    bytesLeft -= byteLength(short) + 1
    if (bytesLeft < 0) break
    shown.push(short)
  }
  const note = shown.length < errors.length ? ` (the first ${shown.length} are named)` : ''
  return { status, headers, body: { ...body, detail: detail + note, errors: shown } }
}

function describe(error: unknown) {
  if (error instanceof TillError) {
    const { code, status, title, message, details } = error
    const isOfKey = code === 'insufficient_scope' && details[0]?.field === 'x-account-key'
    const headers = isOfKey ? KEY_SCOPE_HEADERS : headersOf[code]
    return { status, title, code, text: message, headers, errors: details }
  }
  if (error instanceof TransportFault) {
    const { code, message, headers } = error
    return { ...faults[code], code, text: message, headers }
  }
  const text = 'Internal error; the log has the details under this request id'
  return { status: 500, title: 'Internal server error', code: 'internal_error', text }
}

function byteLength(value: object): number {
  return Buffer.byteLength(JSON.stringify(value))
}
