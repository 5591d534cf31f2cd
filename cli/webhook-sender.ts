import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import {
  type DeliveryFailure,
  type DeliveryResult,
  NO_RESULTS,
  startWebhooks,
  type WebhookSender,
} from '../http/index.ts'
import type { Till } from '../lib/index.ts'
import type { Environment } from './config.ts'

export interface ThreadData {
  readonly db: string
  readonly allowPrivate: boolean
  readonly env: Environment
}
export type ToThread = 'changed' | 'close'
export type FromThread =
  | { readonly results: WebhookSender['results'] }
  | { readonly failure: DeliveryFailure }
  | { readonly error: string }

interface SenderOptions extends ThreadData {
  onError(error: unknown): void
  onFailure?(failure: DeliveryFailure): void
}

/** The minimum milliseconds between two messages that report changes to the thread. */
const NOTICE_MS = 20
/** Milliseconds after which a thread that ended is started again. */
const RESTART_MS = 2_000
/** Milliseconds between two checks for a first endpoint, which another process may have created. */
const LOOK_MS = 1_000

/**
 * Sends webhooks in a separate thread, so that requests do not wait for them. The thread takes 28
 * MiB of memory, and starts when there is a webhook endpoint. `startSender` uses the current thread
 * in two cases: other threads cannot read a storage in memory, and Node 20 runs no uncompiled
 * TypeScript in threads.
 */
export function startSender(
  till: Till,
  { onError, onFailure, ...data }: SenderOptions,
): WebhookSender {
  const file = new URL('./webhook-thread.js', import.meta.url)
  if (data.db === 'memory:' || !existsSync(file)) {
    return startWebhooks(till, { allowPrivate: data.allowPrivate, onError, onFailure })
  }
  const results: { [R in DeliveryResult]: number } = { ...NO_RESULTS }
  let isClosing = false
  let notice: NodeJS.Timeout | undefined
  let restart: NodeJS.Timeout | undefined
  let isStarted = false
  let isLooking = false
  let isFailing = false
  let thread: Worker | undefined

  /** Reports the first of several failures. */
  const report = (error: unknown): undefined => {
    if (!isFailing) onError(error)
    isFailing = true
  }

  const startWhenNeeded = async () => {
    if (isStarted || isLooking) return
    isLooking = true
    const isNeeded = await till.outbox.hasEndpoints().catch(report)
    isLooking = false
    if (isNeeded !== undefined) isFailing = false
    if (isClosing || !isNeeded) return
    clearInterval(look)
    isStarted = true
    try {
      start()
    } catch (error) {
      onError(error)
    }
  }

  const start = () => {
    const before = { ...results }
    const started = new Worker(file, { workerData: { ...data, env: { ...data.env } } })
    thread = started
    started.on('message', (message: FromThread) => {
      if ('error' in message) return onError(new Error(message.error))
      if ('failure' in message) return onFailure?.(message.failure)
      for (const [name, count] of Object.entries(message.results)) {
        const result = name as DeliveryResult
        results[result] = before[result] + count
      }
    })
    started.on('error', onError)
    started.once('exit', () => {
      thread = undefined
      if (!isClosing) restart = setTimeout(start, RESTART_MS)
    })
  }
  const post = (message: ToThread) => thread?.postMessage(message)
  const removeListener = till.outbox.onChange(() => {
    notice ??= setTimeout(() => {
      notice = undefined
      post('changed')
      void startWhenNeeded()
    }, NOTICE_MS)
  })
  const close = async () => {
    isClosing = true
    removeListener()
    clearTimeout(notice)
    clearTimeout(restart)
    clearInterval(look)
    if (!thread) return
    const ended = once(thread, 'exit')
    post('close')
    await ended
  }
  const look = setInterval(startWhenNeeded, LOOK_MS)
  void startWhenNeeded()
  let closed: Promise<void> | undefined
  const closeOnce = () => {
    closed ??= close()
    return closed
  }
  return {
    results,
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  }
}
