import { setTimeout } from 'node:timers/promises'
import { type OpenTransaction, type Till, TillError } from '../../lib/index.ts'
import { TransportFault } from '../problems.ts'
import { formatMetrics, METRICS_CONTENT_TYPE, type MetricValues, samplesBy } from '../prometheus.ts'
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
  await inTime(till.operator.ready())
  return { body: { status: 'ok' } }
}

/** `GET /metrics`: the metrics of all worker processes together. */
export async function metrics({ till, context }: OperatorCall) {
  const storage = await storageMetrics(till)
  const values = await context.metrics?.collect()
  const headers = { 'content-type': METRICS_CONTENT_TYPE }
  return { body: formatMetrics({ ...values, ...storage }), headers }
}

/** The metrics of the storage. Only the worker that answers the scrape measures them. */
async function storageMetrics({ operator, outbox }: Till): Promise<MetricValues> {
  const started = performance.now()
  const ready = await inTime(operator.ready()).catch(() => undefined)
  const seconds = (performance.now() - started) / 1000
  const size = ready && (await inTime(operator.size()).catch(() => undefined))
  const open = ready && (await inTime(operator.openTransaction()).then(ageOf, () => undefined))
  const backlog = ready && (await inTime(outbox.backlog()).catch(() => undefined))
  return {
    tillkit_storage_up: ready ? 1 : 0,
    tillkit_storage_answer_seconds: seconds,
    tillkit_clock_offset_seconds: ready?.clock_offset,
    tillkit_database_bytes: size?.database,
    tillkit_database_wal_bytes: size?.wal,
    tillkit_database_free_bytes: size?.free,
    tillkit_open_transaction_seconds: open,
    tillkit_webhook_endpoints: backlog && samplesBy('state', backlog.endpoints),
    tillkit_webhook_endpoints_failing: backlog?.failing,
    tillkit_webhook_lag_events: backlog?.lag,
    tillkit_webhook_lag_seconds: backlog?.lag_seconds,
  }
}

function ageOf(transaction: OpenTransaction | undefined): number {
  return transaction?.seconds ?? 0
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
