import cluster, { type Worker } from 'node:cluster'
import { EventEmitter, once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import {
  combineMetrics,
  countersOf,
  type MetricValues,
  type PoolMetrics,
} from '../../http/index.ts'
import type { Heartbeat } from './workers.ts'

/** The messages between the workers and their parent: requests for metrics, and metrics. */
type ToParent = { readonly ask: 'all' } | { readonly own: MetricValues }
type ToWorker = { readonly ask: 'own' } | { readonly all: MetricValues }

/** How long the parent waits for metrics. It reports the previous metrics of a late worker. */
const WAIT_MS = 200
const TIMEOUT_MS = 2_000

/**
 * Runs in the parent: sends the metrics of all workers to each worker that asks. Includes the last
 * counters of ended workers, because a counter must not decrease. Adds the parent's own metrics.
 */
export function serveWorkerMetrics(own: () => MetricValues): void {
  const latest = new Map<Worker, MetricValues>()
  let ended: MetricValues = {}
  let restarts = 0
  let pending: Promise<MetricValues> | undefined

  const collect = async () => {
    for (const worker of Object.values(cluster.workers ?? {})) {
      if (worker?.isConnected()) send(worker, { ask: 'own' })
    }
    await setTimeout(WAIT_MS, undefined, { ref: false })
    pending = undefined
    const workers = combineMetrics([ended, ...latest.values()])
    return { ...workers, ...own(), tillkit_worker_restarts_total: restarts }
  }

  cluster.on('message', (worker, message: ToParent | Heartbeat) => {
    if ('ask' in message) {
      pending ??= collect()
      pending.then((all) => send(worker, { all }))
    } else if ('own' in message && !worker.isDead()) {
      latest.set(worker, message.own)
    }
  })
  cluster.on('exit', (worker, code) => {
    if (code !== 0) restarts++ // a worker that was stopped has exit code 0
    ended = combineMetrics([ended, countersOf(latest.get(worker) ?? {})])
    latest.delete(worker)
  })
}

/** Runs in a worker: sends its metrics to the parent, and gets those of all workers. */
export const poolMetrics: PoolMetrics = (own) => {
  const answers = new EventEmitter().setMaxListeners(0) // no warning: scrapes wait at the same time
  process.on('message', (message: ToWorker) => {
    if ('ask' in message) send(process, { own: own() })
    else answers.emit('all', message.all)
  })
  return async () => {
    const answer = once(answers, 'all', { signal: AbortSignal.timeout(TIMEOUT_MS) })
    send(process, { ask: 'all' })
    const [all] = await answer
    return all
  }
}

/** Sends a message. Ignores errors: a process that has ended needs no message. */
function send(receiver: Worker | NodeJS.Process, message: ToParent | ToWorker): void {
  receiver.send?.(message, undefined, undefined, () => {})
}
