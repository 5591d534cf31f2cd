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
  /** The number of single statements that currently share the connection. */
  shares: number
  /** Whether a transaction has the connection for itself. */
  isReserved: boolean
  /** The milliseconds without an answer after which the connection is closed. */
  patience: number
  /** The inspections since the last answer, or since a statement was sent that waits for none. */
  inspections: number
}

export function openClient(
  connect: (onClose: () => void) => PostgresClient,
  patience: number,
  onLost: (client: Client) => void,
): Client {
  let isLost = false
  let pending = 0
  const sql = connect(() => client.lose())

  const client: Client = {
    async send(statement) {
      // Does not use a lost connection again: postgres.js would open a new connection and run the
      // rest of a transaction there without BEGIN.
      if (isLost) throw Object.assign(new Error('connection lost'), { code: 'CONNECTION_CLOSED' })
      if (pending++ === 0) client.inspections = 0
      try {
        return await statement(sql)
      } catch (error) {
        if (isConnectionLost(error)) client.lose()
        throw error
      } finally {
        pending--
        client.inspections = 0
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
    shares: 0,
    isReserved: false,
    patience,
    inspections: 0,
  }
  return client
}
