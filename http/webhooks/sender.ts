import { setTimeout as pause } from 'node:timers/promises'
import type { AttemptResult, OutgoingMessage, Till } from '../../lib/index.ts'
import { createEndpointLog, type WebhookLog } from './endpoint-log.ts'
import { RESULTS, RequestFailure, toFailure } from './failure.ts'
import { createQueues, type Turn } from './queues.ts'
import { type Answer, createOutgoing, type OutgoingOptions } from './request.ts'

/** The shortest pause between two exchanges with the storage, in milliseconds. */
const INTERVAL_MS = 50
/** Milliseconds to wait after the storage has failed. */
const RETRY_MS = 1_000
/** The most results that are written at once. */
const MAX_RESULTS = 500
/** Answer times above this many milliseconds limit an endpoint to one request at a time. */
const SLOW_MS = 2_000

export interface WebhookSenderOptions extends OutgoingOptions {
  /**
   * Milliseconds between two polls for changes that other processes committed, and for messages
   * that are due again; default 1,000. Changes of this process are sent at once.
   */
  readonly pollInterval?: number | undefined
  /**
   * Milliseconds after which another process takes over from a sender that died; default 40,000.
   * Must be at least three times `timeout`.
   */
  readonly lease?: number | undefined
  /** Milliseconds for which `close` waits for requests in flight; default 5,000. */
  readonly closeTimeout?: number | undefined
  /** Called once when the storage begins to fail. The sender then retries by itself. */
  readonly onError?: ((error: unknown) => void) | undefined
  /**
   * Called with a line of text when an endpoint begins to fail, at most once a minute while it fails,
   * when it works again, and when it is disabled or resumed because of the master key.
   */
  readonly log?: WebhookLog | undefined
}

export interface WebhookSender extends AsyncDisposable {
  /** The number of finished requests by result. */
  readonly results: { readonly [R in DeliveryResult]: number }
  /**
   * Stops sending. Waits for requests in flight, for up to `closeTimeout`. Messages without an
   * answer are due again at once.
   */
  close(): Promise<void>
}

export type DeliveryResult = (typeof RESULTS)[number]

/**
 * Starts to send the webhooks of a till, and continues until the returned sender is closed. Several
 * processes may do so on one storage: one sends at a time, and another takes over when it ends.
 *
 * @example
 * const sender = startWebhooks(till)
 * await sender.close()
 */
export function startWebhooks(till: Till, options: WebhookSenderOptions = {}): WebhookSender {
  const { pollInterval = 1_000, lease, closeTimeout = 5_000, ...outgoingOptions } = options
  const { outbox } = till
  const outgoing = createOutgoing(outgoingOptions)
  const queues = createQueues()
  const endpointLog = createEndpointLog(options.log ?? (() => {}))
  /** Ends the wait before the next exchange. */
  let alarm = new AbortController()
  const ring = () => alarm.abort()
  const inFlight = new Set<Promise<void>>()
  const results = { ...NO_RESULTS }
  /** The messages whose outcomes are not written yet. After a crash, they are sent again. */
  const held = new Set<OutgoingMessage>()
  const outcomes: Outcome[] = []
  let isFailing = false
  let isClosing = false

  const onError = (error: unknown) => {
    if (!isFailing) options.onError?.(error)
    isFailing = true
  }
  const report = (...added: readonly Outcome[]) => {
    outcomes.push(...added)
    ring()
  }
  const settle = async () => {
    const batch = outcomes.slice(0, MAX_RESULTS)
    if (batch.length > 0) await outbox.settle(batch.map(({ result }) => result))
    for (const { message } of outcomes.splice(0, batch.length)) held.delete(message)
  }
  /** Writes outcomes and claims messages. Returns the milliseconds to wait afterwards. */
  const exchange = async (): Promise<number> => {
    try {
      await settle()
      const started = performance.now()
      const claim = await outbox.claim({ lease, held: [...held] })
      const { messages, start_within, isMore } = claim
      isFailing = false
      for (const id of claim.disabled) endpointLog.disabled(id, 'no master key decrypts its secret')
      claim.resumed.forEach(endpointLog.resumed)
      for (const message of messages) {
        held.add(message)
        queues.add(message, started + start_within)
      }
      sendAll()
      return isMore || outcomes.length >= MAX_RESULTS ? 0 : pollInterval
    } catch (error) {
      onError(error)
      return 0
    }
  }
  const run = async () => {
    while (!isClosing) {
      const wait = await exchange()
      await pause(isFailing ? RETRY_MS : INTERVAL_MS)
      await pause(wait, undefined, { signal: alarm.signal }).catch(() => {})
      alarm = new AbortController()
    }
  }

  const sendAll = () => {
    for (let turn = queues.next(); turn && !isClosing; turn = queues.next()) {
      const sending = send(turn)
      inFlight.add(sending)
      sending.finally(() => inFlight.delete(sending))
    }
  }
  const send = async (turn: Turn): Promise<void> => {
    const { message, deadline } = turn
    const { endpoint_id } = message
    const started = performance.now()
    if (started > deadline) {
      report(releaseOf(message))
      return turn.finish()
    }
    const answer = await outgoing.post(message).catch(toFailure)
    results[resultOf(answer)]++
    const reason = failureOf(answer)
    if (isGone(answer)) endpointLog.disabled(endpoint_id, 'it answered with status 410')
    else if (reason !== undefined) endpointLog.failed(message, reason)
    else if (!(answer instanceof RequestFailure)) endpointLog.delivered(message)
    report({ message, result: toResult(message, answer, performance.now() - started) })
    if (isUnavailable(answer)) report(...queues.drop(endpoint_id).map(releaseOf))
    const isSlow = answer instanceof RequestFailure || performance.now() - started > SLOW_MS
    turn.finish(isSlow ? 'slow' : reason === undefined ? 'delivered' : 'rejected')
    sendAll()
  }

  const removeListener = outbox.onChange(ring)
  const running = run()
  const close = async () => {
    isClosing = true
    removeListener()
    ring()
    await running
    const ended = new AbortController()
    const timeout = pause(closeTimeout, undefined, { signal: ended.signal }).catch(() => {})
    await Promise.race([Promise.all(inFlight), timeout])
    ended.abort()
    outgoing.close()
    await Promise.all(inFlight)
    try {
      while (outcomes.length > 0) await settle()
      await outbox.release()
    } catch (error) {
      onError(error) // the messages are sent again when the lease ends
    }
  }
  let closed: Promise<void> | undefined
  const closeOnce = () => {
    closed ??= close()
    return closed
  }
  return { results, close: closeOnce, [Symbol.asyncDispose]: closeOnce }
}

/** The counts before the first request. */
export const NO_RESULTS = Object.fromEntries(RESULTS.map((result) => [result, 0])) as {
  readonly [R in DeliveryResult]: number
}

type AnswerOrFailure = Answer | RequestFailure

function resultOf(answer: AnswerOrFailure): DeliveryResult {
  if (answer instanceof RequestFailure) return answer.kind
  const kind = `${Math.floor(answer.status / 100)}xx`
  return kind in NO_RESULTS ? (kind as DeliveryResult) : 'other'
}

/** Why the message was not delivered; undefined if it was, or if the sender stopped. */
function failureOf(answer: AnswerOrFailure): string | undefined {
  if (answer instanceof RequestFailure) {
    return answer.kind === 'stopped' ? undefined : answer.message
  }
  return answer.status >= 200 && answer.status < 300 ? undefined : `status ${answer.status}`
}

/** Whether to stop sending to the endpoint for now: it gave no answer, 410 or `Retry-After`. */
function isUnavailable(answer: AnswerOrFailure): boolean {
  if (answer instanceof RequestFailure) return true
  return isGone(answer) || answer.retry_after !== undefined
}

function isGone(answer: AnswerOrFailure): boolean {
  return !(answer instanceof RequestFailure) && answer.status === 410
}

interface Outcome {
  readonly message: OutgoingMessage
  readonly result: AttemptResult
}

function releaseOf(message: OutgoingMessage): Outcome {
  const { endpoint_id, sequence, part } = message
  return { message, result: { endpoint_id, sequence, part, released: true } }
}

function toResult(
  message: OutgoingMessage,
  answer: AnswerOrFailure,
  duration: number,
): AttemptResult {
  const { endpoint_id, sequence, part } = message
  const duration_ms = Math.round(duration)
  if (!(answer instanceof RequestFailure)) {
    return { endpoint_id, sequence, part, duration_ms, ...answer }
  }
  if (answer.kind === 'stopped') return releaseOf(message).result
  return { endpoint_id, sequence, part, duration_ms, error: answer.message }
}
