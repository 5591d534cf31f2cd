import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'

/** Whether this process is one of the workers of another, which speaks for all of them. */
export const { isWorker } = cluster

/** Workers that serve together. */
export interface Crew {
  /** The one on which all of them listen. */
  readonly port: number
  /** Resolves when workers end as soon as they start, so that no more are started. */
  readonly lost: Promise<void>
  /** Lets the workers finish what they are at; resolves when all have ended. */
  stop(): Promise<void>
}

/** A worker that ends so soon has not served. */
const SHORT_LIFE_MS = 2_000
const MAX_SHORT_LIVES = 5

/**
 * Runs this program with `args` in `count` workers that share one port. One that dies is replaced,
 * and `onDeath` told why. Undefined when the first one, which is waited for alone so that what
 * keeps it from listening is told once, has ended.
 */
export async function startCrew(
  count: number,
  args: readonly string[],
  onDeath: (message: string) => void,
): Promise<Crew | undefined> {
  // The kernel hands the connections out. Handed on by this process, as Node does unless told, one
  // on its way to a worker that dies would wait for ever.
  cluster.schedulingPolicy = cluster.SCHED_NONE
  cluster.setupPrimary({ args: [...args] })
  const first = cluster.fork()
  const port = await portOf(first)
  if (port === undefined) return undefined

  const workers = new Set<Worker>()
  let isStopping = false
  let shortLives = 0
  let giveUp = () => {}
  const lost = new Promise<void>((resolve) => {
    giveUp = resolve
  })

  const keep = (worker: Worker) => {
    const started = performance.now()
    workers.add(worker)
    worker.once('error', ({ message }) => onDeath(`a worker could not be started: ${message}`))
    worker.once('exit', (code, signal) => {
      workers.delete(worker)
      if (isStopping) return
      onDeath(`worker ${worker.process.pid} ended with ${signal ?? code}`)
      shortLives = performance.now() - started < SHORT_LIFE_MS ? shortLives + 1 : 0
      if (shortLives < MAX_SHORT_LIVES) keep(cluster.fork())
      else giveUp()
    })
    return worker
  }

  keep(first)
  const others = Array.from({ length: count - 1 }, () => keep(cluster.fork()))
  await Promise.race([Promise.all(others.map(portOf)), lost])

  return {
    port,
    lost,
    async stop() {
      isStopping = true
      await Promise.all([...workers].map(end))
    },
  }
}

/** The port on which a worker listens, once it does; undefined when it has ended before. */
async function portOf(worker: Worker): Promise<number | undefined> {
  const ended = once(worker, 'exit').then(() => [])
  const [address] = await Promise.race([once(worker, 'listening'), ended])
  return (address as { port: number } | undefined)?.port
}

async function end(worker: Worker): Promise<void> {
  const ended = once(worker, 'exit')
  worker.process.kill('SIGTERM')
  await ended
}
