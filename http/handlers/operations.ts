import { TillError } from '../../lib/index.ts'
import { EXPOSITION_TYPE } from '../exposition.ts'
import { TransportFault } from '../problems.ts'
import type { Call } from '../routes.ts'

type OperatorCall = Call<undefined, undefined>

/** A balancer waits 2 to 5 s for a check; a frozen database would let it wait for 15. */
const DEADLINE_MS = 2_000

/** Whether the process is alive. */
export async function health() {
  return { body: { status: 'ok' } }
}

/** Whether requests should be sent here: the storage answers, and no stop is under way. */
export async function ready({ till, service }: OperatorCall) {
  if (service.isStopping) throw new TransportFault('stopping', 'No more requests should come here')
  await inTime(till.operations.ready())
  return { body: { status: 'ok' } }
}

/**
 * What the server counts of itself, with those that serve together with it; the route is there only
 * when it counts.
 */
export async function metrics({ till, service }: OperatorCall) {
  const started = performance.now()
  const up = await inTime(till.operations.ready()).then(
    () => true,
    () => false,
  )
  const seconds = (performance.now() - started) / 1000
  const size = up ? await inTime(till.operations.size()).catch(() => undefined) : undefined
  const storage = { up, seconds, size }
  const body = (await service.metrics?.format(storage)) ?? ''
  return { body, headers: { 'content-type': EXPOSITION_TYPE } }
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
