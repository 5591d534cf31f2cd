import { setTimeout } from 'node:timers/promises'
import { type Till, TillError } from '../../lib/index.ts'
import { TransportFault } from '../problems.ts'
import {
  type Family,
  formatFamilies,
  gauge,
  METRICS_CONTENT_TYPE,
  samplesBy,
} from '../prometheus.ts'
import type { Call } from '../route.ts'

type OperatorCall = Call<undefined, undefined>

/**
 * The longest wait for the storage. A query to a hanging database may take 15 s, but load balancers
 * wait only 2 to 5 s for a health check.
 */
const DEADLINE_MS = 2_000

/** `GET /healthz`: answers while the process is alive. */
export async function health() {
  return { body: { status: 'ok' } }
}

/** `GET /readyz`: answers 200 if the storage answers and the server is not stopping. */
export async function ready({ till, context }: OperatorCall) {
  if (context.isStopping) {
    const headers = { 'retry-after': '1' }
    throw new TransportFault('stopping', 'Send no more requests to this server', headers)
  }
  await inTime(till.operations.ready())
  return { body: { status: 'ok' } }
}

/** `GET /metrics`: the metrics of all worker processes together. */
export async function metrics({ till, context }: OperatorCall) {
  const storage = await storageMetrics(till)
  const families = (await context.metrics?.collect()) ?? []
  const headers = { 'content-type': METRICS_CONTENT_TYPE }
  return { body: formatFamilies([...families, ...storage]), headers }
}

/** The metrics of the storage. Only the worker that answers the scrape measures them. */
async function storageMetrics({ operations, outbox }: Till): Promise<Family[]> {
  const started = performance.now()
  const ready = await inTime(operations.ready()).catch(() => undefined)
  const seconds = (performance.now() - started) / 1000
  const size = ready && (await inTime(operations.size()).catch(() => undefined))
  const backlog = ready && (await inTime(outbox.backlog()).catch(() => undefined))
  return [
    gauge('tillkit_storage_up', 'Whether the storage answers.', ready ? 1 : 0),
    gauge(
      'tillkit_storage_answer_seconds',
      'Duration of the readiness check of this scrape.',
      seconds,
    ),
    gauge(
      'tillkit_clock_offset_seconds',
      'Clock of this server minus that of the database server.',
      ready?.clock_offset,
    ),
    gauge('tillkit_database_bytes', 'Size of the database.', size?.database),
    gauge('tillkit_database_wal_bytes', 'Size of its write-ahead log.', size?.wal),
    gauge('tillkit_database_free_bytes', 'Free bytes in its file system.', size?.free),
    gauge(
      'tillkit_webhook_endpoints',
      'Webhook endpoints by state.',
      backlog && samplesBy('state', backlog.endpoints),
    ),
    gauge(
      'tillkit_webhook_endpoints_failing',
      'Active endpoints whose last request failed.',
      backlog?.failing,
    ),
    gauge(
      'tillkit_webhook_lag_events',
      'Events that active endpoints have not received yet.',
      backlog?.lag,
    ),
    gauge(
      'tillkit_webhook_lag_seconds',
      'Age of the oldest of these events.',
      backlog?.lag_seconds,
    ),
  ]
}

/** Throws `storage_unavailable` when the storage does not answer in time. */
async function inTime<T>(answer: Promise<T>): Promise<T> {
  const deadline = setTimeout(DEADLINE_MS, undefined, { ref: false }).then(() => {
    throw new TillError(
      'storage_unavailable',
      `The storage did not answer within ${DEADLINE_MS} ms`,
    )
  })
  return Promise.race([answer, deadline])
}
