import type { HttpErrorCode } from '../http/faults.ts'
import type { JsonObject } from '../lib/domain/json.ts'
import type { ErrorCode, ErrorDetail } from '../lib/errors.ts'
import type { Answer } from './message.ts'

export type { ErrorDetail } from '../lib/errors.ts'

/** The codes of errors without a valid answer of the server. */
type ClientCode = 'network_error' | 'timeout' | 'unexpected_answer' | 'unreadable_file'

type Facts = Partial<Omit<TillError, 'name' | 'code' | 'message' | 'stack'>>

/** A request that failed: the server's problem document, or why there is none. */
export class TillError extends Error {
  override readonly name = 'TillError'
  /** The server's code, or a code of the client. */
  readonly code: ErrorCode | HttpErrorCode | ClientCode
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number
  readonly title: string
  /** The wrong fields of the request, or the wrong lines of the file; the first 100. */
  readonly details: readonly ErrorDetail[]
  /** The id under which the server's log has the request. */
  readonly requestId: string | undefined
  /** The seconds after which the server allows another attempt. */
  readonly retryAfter: number | undefined

  constructor(code: TillError['code'], message: string, facts: Facts = {}) {
    super(message, facts.cause === undefined ? {} : { cause: facts.cause })
    this.code = code
    this.status = facts.status ?? 0
    this.title = facts.title ?? message
    this.details = facts.details ?? []
    this.requestId = facts.requestId
    this.retryAfter = facts.retryAfter
  }
}

/** The error of an answer that is not a success. */
export function errorOf(answer: Answer): TillError {
  const { status } = answer
  const facts = {
    status,
    requestId: answer.header('x-request-id') ?? undefined,
    retryAfter: parseRetryAfter(answer.header('retry-after')),
  }
  const problem = parseObject(answer.text)
  if (typeof problem?.code !== 'string') {
    const message = `The answer with status ${status} is not one of tillkit: check the url`
    return new TillError('unexpected_answer', message, facts)
  }
  const { code, detail, title, errors } = problem
  return new TillError(code as TillError['code'], String(detail ?? title ?? code), {
    ...facts,
    title: String(title ?? code),
    details: Array.isArray(errors) ? errors : [],
  })
}

/** The JSON object of a successful answer. */
export function bodyOf<T>(answer: Answer): T {
  const body = parseObject(answer.text)
  if (!body) throw errorOf(answer)
  return body as T
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}

/** Seconds or a date (RFC 9110 section 10.2.3). */
function parseRetryAfter(value: string | null): number | undefined {
  if (value === null) return undefined
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000
  return Number.isNaN(seconds) ? undefined : Math.max(0, Math.ceil(seconds))
}
