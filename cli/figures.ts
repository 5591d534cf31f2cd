import cluster, { type Worker } from 'node:cluster'
import { EventEmitter, once } from 'node:events'
import { counter, countersOf, type Family, type PoolMetrics, sumFamilies } from '../http/index.ts'

/** What a worker says to the first process, and that to a worker: a question or its answer. */
type ToFirst = { readonly ask: 'all' } | { readonly own: readonly Family[] }
type ToWorker = { readonly ask: 'own' } | { readonly all: readonly Family[] }

/** How long the first process waits for its workers; of one that is late it has older figures. */
const PATIENCE_MS = 1_000

/**
 * Lets the first process tell each worker that asks the figures of all. What those counted that
 * have ended still counts, as they last told it: else each end would look like a new start.
 */
export function poolFigures(): void {
  const latest = new Map<Worker, readonly Family[]>()
  const silent = new Set<Worker>()
  let ended: readonly Family[] = []
  let restarts = 0
  let gathering: Promise<readonly Family[]> | undefined
  let enough = () => {}

  const gather = async () => {
    for (const worker of Object.values(cluster.workers ?? {})) {
      if (!worker?.isConnected()) continue
      silent.add(worker)
      tell(worker, { ask: 'own' })
    }
    await new Promise<void>((resolve) => {
      enough = resolve
      setTimeout(resolve, PATIENCE_MS).unref()
    })
    gathering = undefined
    const restarted = counter('tillkit_worker_restarts_total', 'Workers that died.', {
      value: restarts,
    })
    return [...sumFamilies([ended, ...latest.values()]), restarted]
  }
  const listenNoMore = (worker: Worker) => {
    silent.delete(worker)
    if (silent.size === 0) enough()
  }

  cluster.on('message', (worker, message: ToFirst) => {
    if ('ask' in message) {
      gathering ??= gather()
      gathering.then((all) => tell(worker, { all }))
    } else if (!worker.isDead()) {
      latest.set(worker, message.own)
      listenNoMore(worker)
    }
  })
  cluster.on('exit', (worker, code) => {
    if (code !== 0) restarts++ // one that was told to stop ends with 0
    ended = sumFamilies([ended, countersOf(latest.get(worker) ?? [])])
    latest.delete(worker)
    listenNoMore(worker)
  })
}

/** In a worker: tells the first process its figures, and is told those of all. */
export const pooledFigures: PoolMetrics = (own) => {
  const told = new EventEmitter()
  process.on('message', (message: ToWorker) => {
    if ('ask' in message) tell(process, { own: own() })
    else told.emit('all', message.all)
  })
  return async () => {
    const answer = once(told, 'all', { signal: AbortSignal.timeout(2 * PATIENCE_MS) })
    tell(process, { ask: 'all' })
    const [all] = await answer
    return all
  }
}

/** Who does not hear it any more has no use for it. */
function tell(whom: Worker | NodeJS.Process, message: ToFirst | ToWorker): void {
  whom.send?.(message, undefined, undefined, () => {})
}
