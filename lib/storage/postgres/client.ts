import { isConnectionLost, type PostgresClient } from './drivers.ts'

/** One connection. A lost one is never reused: it may have unsent bytes or an open transaction. */
export interface Client {
  /** Sends a statement. */
  send<T>(statement: (sql: PostgresClient) => PromiseLike<T>): Promise<T>
  /** Closes the connection: with `now` immediately, else when all sent statements have answers. */
  lose(when?: 'now'): void
  /** Waits up to 5 s for the running statements, then closes the connection. */
  end(): Promise<void>
  readonly isLost: boolean
  /** The number of statements on the connection that have no answer yet. */
  readonly pending: number
  /**
   * For how many milliseconds the connection has been silent: since the last answer, or since a
   * statement was sent while no other one was pending.
   */
  readonly quiet: number
  /** The number of single statements that currently share the connection. */
  shares: number
  /** Whether a transaction has the connection for itself. */
  isReserved: boolean
  /** The milliseconds without an answer after which the connection counts as silent. */
  patience: number
  /** Whether the previous inspection found the connection silent. */
  isSuspect: boolean
}

export function openClient(
  connect: (onClose: () => void) => PostgresClient,
  patience: number,
  onLost: (client: Client) => void,
): Client {
  let isLost = false
  let pending = 0
  let heardAt = Date.now()
  const sql = connect(() => client.lose())

  const client: Client = {
    async send(statement) {
      // Does not use a lost connection again: postgres.js would open a new connection and run the
      // rest of a transaction there without BEGIN.
      if (isLost) throw Object.assign(new Error('connection lost'), { code: 'CONNECTION_CLOSED' })
      if (pending++ === 0) heardAt = Date.now()
      try {
        return await statement(sql)
      } catch (error) {
        if (isConnectionLost(error)) client.lose()
        throw error
      } finally {
        pending--
        heardAt = Date.now()
        if (isLost && pending === 0) void sql.end({ timeout: 0 })
      }
    },
    lose(when) {
      if (!isLost) onLost(client)
      isLost = true
      if (pending === 0 || when === 'now') void sql.end({ timeout: 0 })
    },
    end: () => sql.end({ timeout: 5 }),
    get isLost() {
      return isLost
    },
    get pending() {
      return pending
    },
    get quiet() {
      return Date.now() - heardAt
    },
    shares: 0,
    isReserved: false,
    patience,
    isSuspect: false,
  }
  return client
}
