import { TillError } from '../../errors.ts'
import type { PoolState } from '../port.ts'
import { type Client, openClient } from './client.ts'
import type { PostgresClient } from './drivers.ts'

export interface PoolOptions {
  readonly size: number
  /**
   * How many single statements may be under way on one connection; 1 behind pgbouncer in transaction
   * mode. When it has forwarded an answer, it gives the server to another client, though it has
   * forwarded the Parse and Describe of the next statement as well (1.18). Their answers then go to
   * the other client, which sends values by the wrong types, or to nobody.
   */
  readonly pipeline: number
  /** Milliseconds that work waits for a connection. */
  readonly wait: number
  /** Milliseconds of silence after which a server is given up. */
  readonly patience: number
  /** Milliseconds without work after which a connection is closed. */
  readonly idle: number
}

/**
 * Connections, each a postgres.js client of one connection. Its own pool is not used: what a
 * transaction does after its connection was lost ends the process (3.4.9: an exception out of a
 * timer), and a connection that was lost with unsent bytes may hang when it is opened again.
 */
export interface Pool {
  /** For one statement: on a connection that others use too, statement after statement. */
  share<T>(work: Work<T>): Promise<T>
  /** For a transaction: on a connection that no one else uses meanwhile. */
  reserve<T>(work: Work<T>): Promise<T>
  state(): PoolState
  close(): Promise<void>
}

/** Sends its first statement before it returns: statements keep the order of their connections. */
type Work<T> = (client: Client) => Promise<T>
type Mode = 'share' | 'reserve'

const WATCH_MS = 1_000

export function createPool(
  connect: (onClose: () => void) => PostgresClient,
  { size, pipeline, wait, patience, idle }: PoolOptions,
): Pool {
  const clients = new Set<Client>()
  // Transactions leave a connection to single statements: those never wait for an import.
  const reservable = Math.max(1, size - 1)
  let reserved = 0
  let isClosed = false

  /** An idle connection, a new one, or the one that has least to do. */
  const pick = (): Client | undefined => {
    let found: Client | undefined
    for (const client of clients) {
      if (client.isReserved || client.shares >= pipeline) continue
      if (!found || client.shares < found.shares) found = client
      if (found.shares === 0) return found
    }
    if (clients.size >= size) return found
    const opened = openClient(connect, patience, (client) => clients.delete(client))
    clients.add(opened)
    return opened
  }

  const acquire = (mode: Mode): Client | undefined => {
    if (mode === 'reserve' && reserved >= reservable) return undefined
    const client = pick()
    if (!client) return undefined
    if (mode === 'share') client.shares++
    else {
      client.isReserved = true
      reserved++
    }
    return client
  }

  const release = (client: Client, mode: Mode) => {
    if (mode === 'share') client.shares--
    else {
      client.patience = patience
      client.isReserved = false
      reserved--
    }
    queue.serve()
  }

  const queue = createQueue(wait, acquire)

  const use = async <T>(mode: Mode, work: Work<T>): Promise<T> => {
    if (isClosed) throw closedError()
    const run = async (client: Client) => {
      try {
        return await work(client)
      } finally {
        release(client, mode)
      }
    }
    const client = acquire(mode)
    return client ? run(client) : queue.wait(mode, run)
  }

  // A server that hangs, or a network that swallows packets, closes no connection. Silent twice in
  // a row: the first time this process itself may have stood still.
  const inspect = () => {
    for (const client of clients) {
      const isSilent = client.pending > 0 && client.quiet > client.patience
      if (isSilent && client.isSuspect) client.lose('now')
      client.isSuspect = isSilent
      if (client.pending === 0 && !client.isReserved && client.quiet > idle) client.lose()
    }
  }
  const watch = setInterval(inspect, WATCH_MS).unref()

  return {
    share: (work) => use('share', work),
    reserve: (work) => use('reserve', work),
    state() {
      const used = [...clients].filter((client) => client.isReserved || client.shares > 0)
      return { size, open: clients.size, inUse: used.length, waiting: queue.length() }
    },
    async close() {
      isClosed = true
      clearInterval(watch)
      // Else a connection would be opened for them after the last one has been closed.
      queue.refuse()
      await Promise.all([...clients].map((client) => client.end()))
    },
  }
}

function closedError(): TillError {
  return new TillError('storage_unavailable', 'The storage is closed')
}

interface Waiter {
  readonly mode: Mode
  take(client: Client): void
  refuse(error: TillError): void
}

/** Work that waits for a connection: first come, first served, none for longer than `limit`. */
function createQueue(limit: number, acquire: (mode: Mode) => Client | undefined) {
  const waiting = new Set<Waiter>()
  return {
    /** Runs `work` the moment it has a connection: no other work comes between. */
    wait: <T>(mode: Mode, work: Work<T>) =>
      new Promise<T>((resolve, reject) => {
        const leave = () => {
          clearTimeout(timer)
          waiting.delete(waiter)
        }
        const waiter: Waiter = {
          mode,
          take(client) {
            leave()
            resolve(work(client))
          },
          refuse(error) {
            leave()
            reject(error)
          },
        }
        const timer = setTimeout(() => {
          const message = `No database connection became free within ${limit} ms`
          waiter.refuse(new TillError('storage_unavailable', message))
        }, limit)
        waiting.add(waiter)
      }),
    serve() {
      const full = new Set<Mode>()
      for (const waiter of waiting) {
        if (full.has(waiter.mode)) continue
        const client = acquire(waiter.mode)
        if (client) waiter.take(client)
        else full.add(waiter.mode)
        if (full.size === 2) return
      }
    },
    length: () => waiting.size,
    refuse() {
      for (const waiter of waiting) waiter.refuse(closedError())
    },
  }
}
