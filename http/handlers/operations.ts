import { EXPOSITION_TYPE } from '../exposition.ts'
import { TransportFault } from '../problems.ts'
import type { Call } from '../routes.ts'

type OperatorCall = Call<undefined, undefined>

/** Whether the process is alive. */
export async function health() {
  return { body: { status: 'ok' } }
}

/** Whether requests should be sent here: the storage answers, and no stop is under way. */
export async function ready({ till, service }: OperatorCall) {
  if (service.isStopping) throw new TransportFault('stopping', 'No more requests should come here')
  await till.operations.ready()
  return { body: { status: 'ok' } }
}

/**
 * What the server counts of itself, with those that serve together with it; the route is there only
 * when it counts.
 */
export async function metrics({ till, service }: OperatorCall) {
  const started = performance.now()
  const up = await till.operations.ready().then(
    () => true,
    () => false,
  )
  const storage = { up, seconds: (performance.now() - started) / 1000 }
  const body = (await service.metrics?.format(storage)) ?? ''
  return { body, headers: { 'content-type': EXPOSITION_TYPE } }
}
