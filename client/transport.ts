import { TillError } from './errors.ts'
import type { Answer, Message, Transport } from './message.ts'

/**
 * Sends with `fetch`. Follows no redirect, which would send an account key to another address.
 * `stream` is the body for runtimes that can stream one.
 */
export async function sendByFetch(
  url: string,
  message: Message,
  signal: AbortSignal,
  stream?: ReadableStream<Uint8Array>,
): Promise<Answer> {
  const body = stream && { body: stream, duplex: 'half' as const }
  const response = await fetch(url, { ...message, ...body, signal, redirect: 'manual' })
  const { status, headers } = response
  return { status, text: await response.text(), header: (name) => headers.get(name) }
}

/** Sends a message once. Throws a TillError after `timeout`, or the reason of the signal. */
export async function sendInTime(
  transport: Transport,
  url: string,
  message: Message,
  timeout: number,
  signal: AbortSignal | undefined,
): Promise<Answer> {
  signal?.throwIfAborted()
  const controller = new AbortController()
  const abort = () => controller.abort()
  const timer = setTimeout(abort, timeout)
  signal?.addEventListener('abort', abort)
  try {
    return await transport(url, message, controller.signal)
  } catch (cause) {
    signal?.throwIfAborted()
    if (cause instanceof TillError) throw cause
    if (controller.signal.aborted) {
      throw new TillError('timeout', `There was no answer within ${timeout} ms`)
    }
    throw new TillError('network_error', unanswered(), { cause })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

/** A browser does not say whether a request has failed, or CORS has refused it. */
function unanswered(): string {
  const isBrowser = 'document' in globalThis
  return isBrowser
    ? 'The server did not answer, or does not allow the origin of this page: see --cors-origin'
    : 'The server did not answer'
}

/** Settles as the promise does, or rejects when the signal is aborted first. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
