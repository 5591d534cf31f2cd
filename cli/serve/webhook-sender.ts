import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import {
  type DeliveryResult,
  NO_RESULTS,
  startWebhooks,
  type WebhookSender,
  type WebhookSenderOptions,
} from '../../http/index.ts'
import type { Till } from '../../lib/index.ts'
import type { Environment } from '../config.ts'

export interface ThreadData {
  readonly db: string
  readonly allowPrivate: boolean
  readonly env: Environment
}
export type ToThread = 'changed' | 'close'
export type FromThread =
  | { readonly results: WebhookSender['results'] }
  | { readonly line: Parameters<WebhookLog> }
  | { readonly error: string }

type WebhookLog = NonNullable<WebhookSenderOptions['log']>

interface SenderOptions extends ThreadData {
  onError(error: unknown): void
  readonly log?: WebhookLog
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
export function startSender(till: Till, { onError, log, ...data }: SenderOptions): WebhookSender {
  const file = new URL('./webhook-thread.js', import.meta.url)
  if (data.db === 'memory:' || !existsSync(file)) {
    return startWebhooks(till, { allowPrivate: data.allowPrivate, onError, log })
  }
  const results: { [R in DeliveryResult]: number } = { ...NO_RESULTS }
  const closing = new AbortController()
  const { signal } = closing
  let thread: Worker | undefined
  let notice: NodeJS.Timeout | undefined
  let isFailing = false

  /** Reports only the first failure to look for endpoints. */
  const report = (error: unknown) => {
    if (!isFailing) onError(error)
    isFailing = true
  }
  /** Resolves when the thread has ended. */
  const runThread = async () => {
    const before = { ...results }
    try {
      thread = new Worker(file, { workerData: { ...data, env: { ...data.env } } })
      thread.on('message', (message: FromThread) => {
        if ('error' in message) return onError(new Error(message.error))
        if ('line' in message) return log?.(...message.line)
        for (const [name, count] of Object.entries(message.results)) {
          const result = name as DeliveryResult
          results[result] = before[result] + count
        }
      })
      await once(thread, 'exit')
    } catch (error) {
      onError(error)
    }
    thread = undefined
  }
  const pause = (ms: number) => setTimeout(ms, undefined, { signal }).catch(() => {})
  const run = async () => {
    const { hasEndpoints } = till.outbox
    while (!signal.aborted && !(await hasEndpoints().catch(report))) await pause(LOOK_MS)
    while (!signal.aborted) {
      await runThread()
      await pause(RESTART_MS)
    }
  }
  const post = (message: ToThread) => thread?.postMessage(message)
  const removeListener = till.outbox.onChange(() => {
    notice ??= globalThis.setTimeout(() => {
      notice = undefined
      post('changed')
    }, NOTICE_MS)
  })
  const running = run()
  const close = async () => {
    if (!signal.aborted) post('close')
    closing.abort()
    removeListener()
    clearTimeout(notice)
    await running
  }
  return { results, close, [Symbol.asyncDispose]: close }
}
