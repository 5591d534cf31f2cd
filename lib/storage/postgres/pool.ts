import { TillError } from '../../errors.ts'
import type { PoolState } from '../sql/records.ts'
import { type Client, openClient } from './client.ts'
import type { PostgresClient } from './drivers.ts'

interface PoolOptions {
  readonly size: number
  /**
   * The maximum number of single statements that run on one connection at the same time. It must be
   * 1 behind pgbouncer in transaction mode. After an answer, pgbouncer (1.18) gives the connection
   * to another client, even if it has already forwarded the Parse and Describe messages of our next
   * statement. The other client would get the answers to these messages.
   */
  readonly pipeline: number
  /** The maximum time, in milliseconds, that work waits for a connection. */
  readonly wait: number
  /** Milliseconds without an answer after which a connection is closed. */
  readonly patience: number
  /** Milliseconds without work after which a connection is closed. */
  readonly idle: number
}

export type Pool = ReturnType<typeof createPool>

/** Work on a connection. Sends its first statement synchronously, to keep the order of the work. */
type Work<T> = (client: Client) => Promise<T>
type Mode = 'share' | 'reserve'

const WATCH_MS = 1_000

/**
 * A connection pool. Each connection is a postgres.js client with a single connection. The pool of
 * postgres.js (3.4.9) is not used. If a transaction continues after its connection was lost, that
 * pool ends the process by an exception in a timer. It may also hang when it reopens a lost
 * connection that had unsent bytes.
 */
export function createPool(
  connect: (onClose: () => void) => PostgresClient,
  { size, pipeline, wait, patience, idle }: PoolOptions,
) {
  const clients = new Set<Client>()
  /** The work that waits, by account. The account with the next turn comes first. */
  const waiting = new Map<string, Set<Waiter>>()
  // Keeps one of several connections for single statements, so they never wait for an import.
  const reservable = Math.max(1, size - 1)
  let reserved = 0
  /** An account's transactions may wait for each other's locks: a part is left for other accounts. */
  const most = Math.max(1, Math.floor(size / 3))
  const reservedBy = new Map<string, number>()
  const loadOf = { share: 1, reserve: pipeline }
  let isClosed = false
  let onLost = () => {}

  /** Picks an idle connection, a new one, or the one with the fewest running statements. */
  const pick = (): Client | undefined => {
    let found: Client | undefined
    for (const client of clients) {
      if (client.load >= pipeline || client.isSlow) continue
      if (!found || client.load < found.load) found = client
      if (found.load === 0) return found
    }
    if (clients.size >= size) return found
    const opened: Client = openClient(connect, patience, () => {
      clients.delete(opened)
      onLost()
    })
    clients.add(opened)
    return opened
  }

  const acquire = (mode: Mode, account: string): Client | undefined => {
    if (mode === 'reserve') {
      if (reserved >= reservable) return undefined
      if (account !== '' && (reservedBy.get(account) ?? 0) >= most) return undefined
    }
    const client = pick()
    if (!client) return undefined
    client.load += loadOf[mode]
    if (mode === 'reserve') reserve(account, 1)
    return client
  }

  const reserve = (account: string, change: 1 | -1) => {
    reserved += change
    const left = (reservedBy.get(account) ?? 0) + change
    if (left > 0) reservedBy.set(account, left)
    else reservedBy.delete(account)
  }

  const release = (client: Client, mode: Mode, account: string) => {
    client.load -= loadOf[mode]
    if (mode === 'reserve') {
      client.patience = patience
      reserve(account, -1)
    }
    if (waiting.size > 0) serve()
  }

  /** Gives free connections to the work that waits. The accounts take turns. */
  const serve = () => {
    for (const [queue, waiters] of waiting) {
      const [waiter] = waiters
      const client = waiter && acquire(waiter.mode, waiter.account)
      if (!client) continue
      waiting.delete(queue)
      waiting.set(queue, waiters) // moves the account to the end
      waiter.end(client)
    }
  }

  const freeClient = (mode: Mode, account: string): Promise<Client> =>
    new Promise((resolve, reject) => {
      const queue = `${mode} ${account}`
      const end = (result: Client | TillError) => {
        clearTimeout(timer)
        const waiters = waiting.get(queue)
        waiters?.delete(waiter)
        if (waiters?.size === 0) waiting.delete(queue)
        if (result instanceof TillError) reject(result)
        else resolve(result)
      }
      const waiter = { mode, account, end }
      const message = `No database connection became free within ${wait} ms`
      const timer = setTimeout(() => end(new TillError('storage_unavailable', message)), wait)
      waiting.set(queue, (waiting.get(queue) ?? new Set()).add(waiter))
    })

  const use = async <T>(mode: Mode, account: string, work: Work<T>): Promise<T> => {
    if (isClosed) throw closedError()
    const client = acquire(mode, account) ?? (await freeClient(mode, account))
    try {
      return await work(client)
    } finally {
      release(client, mode, account)
    }
  }

  // Detects servers that hang and networks that drop packets. Counts inspections instead of time,
  // because this process itself may have been blocked.
  const inspect = () => {
    for (const client of clients) {
      const quiet = ++client.inspections * WATCH_MS
      if (client.pending > 0 && quiet > client.patience) client.lose('now')
      if (client.load === 0 && quiet > idle) client.lose()
    }
  }
  const watch = setInterval(inspect, WATCH_MS).unref()

  return {
    /** Runs one statement on a connection that other statements may share. */
    share: <T>(work: Work<T>) => use('share', '', work),
    /**
     * Runs a transaction on a connection that nothing else uses. The transactions of an account use
     * at most a third of the connections.
     */
    reserve: <T>(work: Work<T>, account = '') => use('reserve', account, work),
    /** Calls `listener` whenever a connection is closed or lost. */
    onLost(listener: () => void) {
      onLost = listener
    },
    state(): PoolState {
      const used = [...clients].filter(({ load }) => load > 0)
      let queued = 0
      for (const waiters of waiting.values()) queued += waiters.size
      return { size, open: clients.size, inUse: used.length, waiting: queued }
    },
    async close() {
      isClosed = true
      clearInterval(watch)
      // Rejects the waiting work, which would otherwise open a new connection after the others are
      // closed.
      for (const waiters of waiting.values()) for (const { end } of waiters) end(closedError())
      await Promise.all([...clients].map((client) => client.end()))
    },
  }
}

function closedError(): TillError {
  return new TillError('storage_unavailable', 'The storage is closed')
}

interface Waiter {
  readonly mode: Mode
  readonly account: string
  /** Ends the wait, with a connection or an error. */
  end(result: Client | TillError): void
}
