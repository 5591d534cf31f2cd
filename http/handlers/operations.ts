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

/** What the server counts of itself; the route is there only when it counts. */
export async function metrics({ service }: OperatorCall) {
  return { body: service.metrics?.format() ?? '', headers: { 'content-type': EXPOSITION_TYPE } }
}
