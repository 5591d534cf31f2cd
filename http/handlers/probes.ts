import { TillError } from '../../lib/index.ts'
import { TransportFault } from '../problems.ts'
import { METRICS_CONTENT_TYPE } from '../prometheus.ts'
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
  const started = performance.now()
  const readiness = await inTime(till.operations.ready()).catch(() => undefined)
  const up = readiness !== undefined
  const seconds = (performance.now() - started) / 1000
  const size = up ? await inTime(till.operations.size()).catch(() => undefined) : undefined
  const backlog = up ? await inTime(till.outbox.backlog()).catch(() => undefined) : undefined
  const storage = { up, seconds, clockOffset: readiness?.clock_offset, size, backlog }
  const body = (await context.metrics?.format(storage)) ?? ''
  return { body, headers: { 'content-type': METRICS_CONTENT_TYPE } }
}

/** Throws `storage_unavailable` when the storage does not answer in time. */
async function inTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_, reject) => {
    const message = `The storage did not answer within ${DEADLINE_MS} ms`
    const expire = () => reject(new TillError('storage_unavailable', message))
    timer = setTimeout(expire, DEADLINE_MS)
  })
  try {
    return await Promise.race([answer, deadline])
  } finally {
    clearTimeout(timer)
  }
}
