import { setTimeout } from 'node:timers/promises'
import { isConnectionLost, type PostgresClient } from './drivers.ts'

/** A statement that takes longer may wait for a lock. */
const SLOW_MS = 100

/** How long a connection that is closed waits for its statements. */
const END_MS = 5_000

export type Client = ReturnType<typeof openClient>

/**
 * Opens a connection. A lost one is never reused: it may have unsent bytes or an open transaction.
 * `onLost` is called when it is closed or lost.
 */
export function openClient(
  connect: (onClose: () => void) => PostgresClient,
  patience: number,
  onLost: () => void,
) {
  let isLost = false
  let ended: Promise<void> | undefined
  let pending = 0
  let onIdle = () => {}
  let since = 0
  const sql = connect(() => client.lose())
  const restart = () => {
    client.inspections = 0
    since = performance.now()
  }

  // `end` of postgres.js does not wait for statements that it has not sent yet: it would close the
  // connection, and open another one for them, which nothing would close.
  const closeWhenIdle = async () => {
    const idle = new Promise<void>((resolve) => {
      onIdle = resolve
    })
    if (pending > 0) await Promise.race([idle, setTimeout(END_MS, undefined, { ref: false })])
    await sql.end({ timeout: pending > 0 ? 0 : END_MS / 1000 })
  }

  const client = {
    /** Sends a statement. */
    async send<T>(statement: (sql: PostgresClient) => PromiseLike<T>): Promise<T> {
      // Does not use a lost connection again: postgres.js would open a new connection and run the
      // rest of a transaction there without BEGIN.
      if (isLost || ended)
        throw Object.assign(new Error('connection lost'), { code: 'CONNECTION_CLOSED' })
      if (pending++ === 0) restart()
      try {
        return await statement(sql)
      } catch (error) {
        if (isConnectionLost(error)) client.lose()
        throw error
      } finally {
        pending--
        restart()
        if (pending === 0) {
          onIdle()
          if (isLost) void sql.end({ timeout: 0 })
        }
      }
    },
    /** Closes the connection: with `now` immediately, else when all sent statements have answers. */
    lose(when?: 'now'): void {
      if (!isLost) onLost()
      isLost = true
      if (pending === 0 || when === 'now') void sql.end({ timeout: 0 })
    },
    /** Waits up to 5 s for the running statements, then closes the connection. */
    end(): Promise<void> {
      ended ??= closeWhenIdle()
      return ended
    },
    /** The number of statements on the connection that have no answer yet. */
    get pending(): number {
      return pending
    },
    /** Whether the connection has given no answer for so long that no statement should wait behind it. */
    get isSlow(): boolean {
      return pending > 0 && performance.now() - since > SLOW_MS
    },
    /** The number of single statements on the connection. A transaction counts as all it may have. */
    load: 0,
    /** The milliseconds without an answer after which the connection is closed. */
    patience,
    /** The inspections since the last answer, or since the idle connection got a statement. */
    inspections: 0,
  }
  return client
}
