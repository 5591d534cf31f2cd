import { TillError } from '../../errors.ts'
import { type Client, openClient } from './client.ts'
import type { PostgresClient } from './drivers.ts'

export interface PoolOptions {
  readonly size: number
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
  share<T>(work: (client: Client) => Promise<T>): Promise<T>
  /** For a transaction: on a connection that no one else uses meanwhile. */
  reserve<T>(work: (client: Client) => Promise<T>): Promise<T>
  close(): Promise<void>
}

const MAX_PIPELINED = 100
const WATCH_MS = 1_000

export function createPool(
  connect: (onClose: () => void) => PostgresClient,
  { size, wait, patience, idle }: PoolOptions,
): Pool {
  const clients = new Set<Client>()
  const sharers = createQueue(wait)
  const reservers = createQueue(wait)
  // Transactions leave a connection to single statements: those never wait for an import.
  const reservable = Math.max(1, size - 1)
  let reserved = 0
  let isClosed = false

  /** An idle connection, a new one, or the one that has least to do. */
  const pick = (): Client | undefined => {
    let found: Client | undefined
    for (const client of clients) {
      if (client.isReserved || client.pending >= MAX_PIPELINED) continue
      if (!found || client.pending < found.pending) found = client
      if (found.pending === 0) return found
    }
    if (clients.size >= size) return found
    const opened = openClient(connect, patience, (client) => clients.delete(client))
    clients.add(opened)
    return opened
  }

  const pickReserved = (): Client | undefined => {
    const client = reserved < reservable ? pick() : undefined
    if (client) {
      client.isReserved = true
      reserved++
    }
    return client
  }

  const serveWaiting = () => {
    sharers.serve(pick)
    reservers.serve(pickReserved)
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

  const assertOpen = () => {
    if (isClosed) throw closedError()
  }

  return {
    async share(work) {
      assertOpen()
      const client = pick() ?? (await sharers.wait())
      try {
        return await work(client)
      } finally {
        serveWaiting()
      }
    },
    async reserve(work) {
      assertOpen()
      const client = pickReserved() ?? (await reservers.wait())
      try {
        return await work(client)
      } finally {
        client.patience = patience
        client.isReserved = false
        reserved--
        serveWaiting()
      }
    },
    async close() {
      isClosed = true
      clearInterval(watch)
      // Else a connection would be opened for them after the last one has been closed.
      sharers.refuse()
      reservers.refuse()
      await Promise.all([...clients].map((client) => client.end()))
    },
  }
}

function closedError(): TillError {
  return new TillError('storage_unavailable', 'The storage is closed')
}

/** Those who wait for a connection: first come, first served, none for longer than `limit`. */
function createQueue(limit: number) {
  const waiting: { take(client: Client): void; refuse(error: TillError): void }[] = []
  return {
    wait: () =>
      new Promise<Client>((resolve, reject) => {
        const waiter = {
          take(client: Client) {
            clearTimeout(timer)
            resolve(client)
          },
          refuse(error: TillError) {
            clearTimeout(timer)
            reject(error)
          },
        }
        const timer = setTimeout(() => {
          waiting.splice(waiting.indexOf(waiter), 1)
          const message = `No database connection became free within ${limit} ms`
          waiter.refuse(new TillError('storage_unavailable', message))
        }, limit)
        waiting.push(waiter)
      }),
    serve(pick: () => Client | undefined) {
      const client = waiting.length > 0 ? pick() : undefined
      if (client) waiting.shift()?.take(client)
    },
    refuse() {
      for (const waiter of waiting.splice(0)) waiter.refuse(closedError())
    },
  }
}
