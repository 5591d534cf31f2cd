import { isConnectionLost, type PostgresClient } from './drivers.ts'

/** One connection. Once lost it is never used again, as it may hold bytes or work of before. */
export interface Client {
  /** Sends a statement. */
  send<T>(statement: (sql: PostgresClient) => PromiseLike<T>): Promise<T>
  /** Closes the connection when the last statement sent has its answer; at once when told so. */
  lose(when?: 'now'): void
  /** Waits for what is under way, at most some seconds, and closes the connection. */
  end(): Promise<void>
  readonly isLost: boolean
  /** How many statements wait for their answer. */
  readonly pending: number
  /** Milliseconds since it last answered, or began to wait for an answer. */
  readonly quiet: number
  /** How many single statements have acquired it. */
  shares: number
  /** Whether a transaction has it to itself. */
  isReserved: boolean
  /** How many milliseconds of silence are too many while statements wait. */
  patience: number
  /** Whether it was silent for too long when last looked at. */
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
      // postgres.js would connect anew, and do the rest of a transaction outside of it.
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
