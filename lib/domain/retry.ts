import { type StoredEndpoint, stopEndpoint } from './endpoint.ts'
import { formatInstant } from './instant.ts'
import { type MessageKey, messageKey, type StoredMessage } from './message.ts'

/** The outcome of an attempt. Has one of `status`, `error` and `released`. */
export interface AttemptResult extends MessageKey {
  /** The HTTP status. 2xx: delivered. 410: disables the endpoint. Any other: retried. */
  readonly status?: number | undefined
  /** Why there was no answer: `timeout`, `address`, `ECONNREFUSED`, …; at most 200 characters. */
  readonly error?: string | undefined
  /**
   * True if the message was not sent. This does not count as an attempt. The message is due again
   * at once or, if its endpoint is failing, after the first retry delay.
   */
  readonly released?: boolean | undefined
  /** `Retry-After` in milliseconds, at most six hours. The endpoint gets no message meanwhile. */
  readonly retry_after?: number | undefined
  readonly duration_ms?: number | undefined
  /** The answer's text, cut to 4 KiB. Kept only for an answer that is not 2xx. */
  readonly answer?: string | undefined
}

interface RetryRules {
  /** Unix milliseconds. */
  readonly now: number
  /** The delay before each retry in milliseconds. The last value applies to all further retries. */
  readonly retries: readonly number[]
  /** The time in milliseconds after which a message is no longer retried. */
  readonly giveUpAfter: number
  /** Returns a number from 0 to 1. */
  readonly random: () => number
}

const MAX_RETRY_AFTER = 6 * 3_600_000
const ANSWER_CHARS = 4096
const ERROR_CHARS = 200
/** If an endpoint has failed for this long, its next success makes all waiting messages due. */
const OUTAGE_MS = 60_000
const GONE = 410

/**
 * Returns an endpoint and its messages after the outcomes of attempts, by `messageKey`. The result
 * `retry` tells whether all waiting messages of the endpoint become due.
 */
export function settleAttempt(
  endpoint: StoredEndpoint,
  messages: readonly StoredMessage[],
  results: ReadonlyMap<string, AttemptResult>,
  rules: RetryRules,
) {
  const { now } = rules
  let after = endpoint
  let retry = false
  const settled = messages.map((message) => {
    const result = results.get(messageKey(message)) as AttemptResult
    const { status = 0 } = result
    if (result.released) {
      // Delays a released message if its endpoint is failing. If it were due now, the sender would
      // claim and release it in a loop.
      const isFailing = after.failing_since !== undefined
      return { ...message, next_at: isFailing ? now + delayOf(0, rules) : now }
    }
    const finished = finish(message, result, now)
    if (status >= 200 && status < 300) {
      const { failing_since = now, ...working } = after
      if (now - failing_since >= OUTAGE_MS) retry = true
      after = working
      return { ...finished, state: 'delivered' as const }
    }
    after = failed(after, result, now)
    const isOver = now - message.created_at >= rules.giveUpAfter
    if (isOver && status !== GONE) return { ...finished, state: 'failed' as const }
    return { ...finished, next_at: now + delayOf(message.attempts, rules) }
  })
  return { endpoint: after, messages: settled, retry }
}

function finish(message: StoredMessage, result: AttemptResult, now: number): StoredMessage {
  const { status, error, answer, duration_ms = 0 } = result
  const { status: _, error: _error, answer: _answer, ...kept } = message
  const isDelivered = status !== undefined && status >= 200 && status < 300
  return {
    ...kept,
    attempts: message.attempts + 1,
    at: now - duration_ms,
    duration_ms,
    ...(status !== undefined && { status }),
    ...(error !== undefined && { error: storable(error, ERROR_CHARS) }),
    ...(answer !== undefined && !isDelivered && { answer: storable(answer, ANSWER_CHARS) }),
  }
}

function failed(
  endpoint: StoredEndpoint,
  { status, error, retry_after = 0 }: AttemptResult,
  now: number,
): StoredEndpoint {
  const wait = Math.min(MAX_RETRY_AFTER, Math.max(0, retry_after))
  const after: StoredEndpoint = {
    ...endpoint,
    due_at: wait > 0 ? Math.max(endpoint.due_at, now + wait) : endpoint.due_at,
    failing_since: endpoint.failing_since ?? now,
    last_failure: {
      at: formatInstant(now),
      ...(status !== undefined && { status }),
      ...(error !== undefined && { error: storable(error, ERROR_CHARS) }),
    },
  }
  return status === GONE ? stopEndpoint(after, now, 'gone') : after
}

/** The time before the next attempt. Adds up to 20 % at random, to spread the attempts. */
function delayOf(attempts: number, { retries, random }: RetryRules): number {
  const delay = retries[Math.min(attempts, retries.length - 1)] as number
  return Math.round(delay * (1 + random() / 5))
}

/** Cuts a text, and replaces characters that a database cannot store. */
function storable(text: string, length: number): string {
  return text.slice(0, length).replaceAll('\0', '\uFFFD').toWellFormed()
}
