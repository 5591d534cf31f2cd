import { isConnectionLost, type PostgresClient } from './drivers.ts'

/** One connection. A lost one is never used again: it may hold unsent bytes or a transaction. */
export interface Client {
  /** Sends a statement. */
  send<T>(statement: (sql: PostgresClient) => PromiseLike<T>): Promise<T>
  /** Closes the connection after the answer to its last statement, or at once. */
  lose(when?: 'now'): void
  /** Waits up to 5 s for statements under way, then closes the connection. */
  end(): Promise<void>
  readonly isLost: boolean
  /** The number of statements without an answer. */
  readonly pending: number
  /** Milliseconds since the last answer, or since a statement was sent after it. */
  readonly quiet: number
  /** The number of single statements that use it. */
  shares: number
  /** Whether a transaction uses it. */
  isReserved: boolean
  /** How many milliseconds without an answer are allowed. */
  patience: number
  /** Whether the last inspection found it silent for too long. */
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
      // postgres.js would reconnect, and run the rest of a transaction outside of it.
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
