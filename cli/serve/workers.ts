import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { CommandFailure } from '../command-errors.ts'

/** Whether this process is a worker. */
export const { isWorker } = cluster

/** A worker counts as failed if it ends sooner than this after its start. */
const SHORT_LIFE_MS = 2_000
const MAX_SHORT_LIVES = 5

/** The message with which a worker shows that it is not frozen. */
export interface Heartbeat {
  readonly isAlive: true
}

const HEARTBEAT_MS = 1_000
/** A worker is frozen after this many heartbeats in a row that did not come. */
const MISSED_HEARTBEATS = 30

/** Runs in a worker: sends heartbeats to the parent. Ignores errors: the parent may have ended. */
export function sendHeartbeats(): void {
  const beat: Heartbeat = { isAlive: true }
  setInterval(() => process.send?.(beat, undefined, undefined, () => {}), HEARTBEAT_MS).unref()
}

/**
 * Kills a worker without heartbeats, also while the server stops. Counts its own turns instead of
 * time, because this process may have been frozen too.
 */
function killWhenFrozen(worker: Worker, onFrozen: (message: string) => void): void {
  let missed = 0
  const look = () => {
    if (++missed < MISSED_HEARTBEATS) return
    onFrozen(`worker ${worker.process.pid} is frozen: it was silent for ${missed} s`)
    missed = 0
    worker.process.kill('SIGKILL')
  }
  const timer = setInterval(look, HEARTBEAT_MS).unref()
  worker.on('message', (message: Partial<Heartbeat>) => {
    if (message.isAlive) missed = 0
  })
  worker.once('exit', () => clearInterval(timer))
}

/**
 * Runs this command line of `serve` in `count` workers, which send no webhooks. Replaces each worker
 * that dies or is frozen, and passes the reason to `onDeath`. Starts the first worker alone: an error such as a
 * port in use is then printed only once. Throws if the first worker cannot listen.
 */
export async function startWorkerPool(
  count: number,
  args: readonly string[],
  host: string,
  onDeath: (message: string) => void,
) {
  // Lets the kernel distribute connections. By default this process distributes them, and one that
  // it passes to a dying worker waits forever.
  cluster.schedulingPolicy = cluster.SCHED_NONE
  const ownArgs = args.filter((each) => each !== '--demo' && each !== '--no-webhooks')
  cluster.setupPrimary({ args: [...ownArgs, '--no-webhooks'] })
  const first = cluster.fork()
  const port = await portOf(first)
  if (port === undefined) {
    const { signalCode } = first.process
    // Without a signal, the worker has printed the reason.
    throw new CommandFailure(signalCode ? `The first worker was ended by ${signalCode}` : '')
  }

  const workers = new Set<Worker>()
  let isStopping = false
  let shortLives = 0
  let fail = () => {}
  const failed = new Promise<void>((resolve) => {
    fail = resolve
  })

  const supervise = (worker: Worker) => {
    const started = performance.now()
    workers.add(worker)
    killWhenFrozen(worker, onDeath)
    worker.once('error', ({ message }) => onDeath(`a worker could not be started: ${message}`))
    worker.once('exit', (code, signal) => {
      workers.delete(worker)
      if (isStopping) return
      onDeath(`worker ${worker.process.pid} ended with ${signal ?? code}`)
      shortLives = performance.now() - started < SHORT_LIFE_MS ? shortLives + 1 : 0
      if (shortLives < MAX_SHORT_LIVES) supervise(cluster.fork())
      else fail()
    })
    return worker
  }

  supervise(first)
  const others = Array.from({ length: count - 1 }, () => supervise(cluster.fork()))
  await Promise.race([Promise.all(others.map(portOf)), failed])

  return {
    /** The URL of all workers. */
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    /** Resolves when the pool gives up: several workers in a row ended right after their start. */
    failed,
    /** Stops the workers gracefully, and resolves when all have ended. */
    async stop() {
      isStopping = true
      await Promise.all([...workers].map(end))
    },
  }
}

/** Resolves to the port once the worker listens, or to undefined if it ends before that. */
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
