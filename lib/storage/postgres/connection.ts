import { setTimeout } from 'node:timers/promises'
import type { Client } from './client.ts'
import { sendLines } from './copy-protocol.ts'
import {
  isConflict,
  isUnstorable,
  type PostgresRows,
  type PostgresValue,
  type Row,
  translatePostgresError,
} from './drivers.ts'
import type { Pool } from './pool.ts'
import { numbered, preparedText } from './statements.ts'

/** Sends SQL statements to the pool or within a transaction. `?` or `$n` stand for values. */
export interface Connection {
  /** Runs a statement. Resolves to the number of changed rows. */
  run(sql: string, ...values: PostgresValue[]): Promise<number>
  find(sql: string, ...values: PostgresValue[]): Promise<Row | undefined>
  all(sql: string, ...values: PostgresValue[]): Promise<Row[]>
  /** Calls the listeners for writes, after the commit of the transaction if it is in one. */
  notice(isAudited: boolean): void
}

export interface Transaction extends Connection {
  /** Runs SQL statements without values. */
  exec(sql: string): Promise<void>
  /** Runs a COPY of lines in PostgreSQL's text format into a table. */
  insertLines(into: string, lines: Iterable<string>): Promise<void>
}

export type Database = ReturnType<typeof databaseOn>

/** The timeout of statements that read or change all purchases of a store, or all tables. */
export const LONG_MS = 10 * 60_000

/** `checks` has a connection that never waits for the work of the others. */
export function databaseOn(pool: Pool, checks: Pool) {
  const listeners = new Set<(isAudited: boolean) => void>()
  const notice = (isAudited: boolean) => {
    for (const listener of listeners) listener(isAudited)
  }
  const readFrom =
    (from: Pool): Connection['all'] =>
    async (...statement) => {
      try {
        return await retried(() => from.share((client) => query(client, ...statement)))
      } catch (error) {
        if (isUnstorable(error)) return []
        throw error
      }
    }
  // Runs the statement on a connection of its own. On a shared connection, reads would have to wait
  // while this statement waits for locks or for the disk.
  const write = (statement: Sent, account_id?: string) =>
    retried(() => pool.reserve((client) => query(client, ...statement), account_id))
  const run = (...statement: Sent) => write(statement)
  return {
    ...verbsOn(readFrom(pool), run),
    notice,
    /** For the reads of version checks and probes. */
    checks: { ...verbsOn(readFrom(checks), run), notice },
    /** Runs a statement of an account that writes. Resolves to the rows that it returns. */
    write,
    /**
     * Runs `work` in a transaction. Repeats it a few times after conflicts with other transactions.
     * If it fails, it has changed nothing, unless the connection was lost during the commit: then the
     * outcome is unknown. `timeout` is that of each statement in milliseconds, instead of the
     * `statement_timeout` of the connection. `account_id` is the account that waits for its turn.
     */
    transaction: <T>(
      work: (tx: Transaction) => Promise<T>,
      timeout?: number,
      account_id?: string,
    ) => {
      const run = (client: Client) => inTransaction(client, work, notice, timeout)
      return retried(() => pool.reserve(run, account_id))
    },
    /** Calls `listener` after each commit of a write. Returns a function that removes it. */
    onWrite(listener: (isAudited: boolean) => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    onLost(listener: () => void) {
      pool.onLost(listener)
      checks.onLost(listener)
    },
    poolState: pool.state,
    close: () => Promise.all([pool.close(), checks.close()]),
  }
}

type Sent = [sql: string, ...values: PostgresValue[]]

// Asks for prepared statements. In postgres.js, `?prepare=false` in the URL overrides this.
function query(client: Client, sql: string, ...values: PostgresValue[]): Promise<PostgresRows> {
  const { text, isPrepared } = preparedText(sql)
  return client.send((driver) =>
    driver.unsafe(text, values, { prepare: isPrepared, simple: false }),
  )
}

/** Sends a long statement. It takes longer than its planning, and often has a text of its own. */
function longQuery(client: Client, sql: string, ...values: PostgresValue[]): Promise<PostgresRows> {
  return client.send((driver) =>
    driver.unsafe(numbered(sql), values, { prepare: false, simple: false }),
  )
}

function verbsOn(all: Connection['all'], write: (...statement: Sent) => Promise<PostgresRows>) {
  return {
    run: async (...statement: Sent) => (await write(...statement)).count,
    find: async (...statement: Sent) => (await all(...statement))[0],
    all,
  }
}

async function inTransaction<T>(
  client: Client,
  work: (tx: Transaction) => Promise<T>,
  notice: (isAudited: boolean) => void,
  timeout?: number,
): Promise<T> {
  const exec = (sql: string) => client.send((driver) => driver.unsafe(sql))
  const notices = new Set<boolean>()
  const send = (...statement: Sent) =>
    timeout === undefined ? query(client, ...statement) : longQuery(client, ...statement)
  const tx: Transaction = {
    ...verbsOn(send, send),
    notice: (isAudited) => notices.add(isAudited),
    exec: async (sql) => void (await exec(sql)),
    insertLines: (into, lines) => client.send((driver) => sendLines(driver, into, lines)),
  }
  // Does not rely on the default isolation level of the database. After the wait for a lock, a
  // statement must see the changes that other transactions have committed.
  await exec('BEGIN ISOLATION LEVEL READ COMMITTED')
  try {
    if (timeout !== undefined) {
      await exec(`SET LOCAL statement_timeout = ${timeout}; SET LOCAL lock_timeout = ${timeout}`)
      client.patience = Math.max(client.patience, timeout)
    }
    const result = await work(tx)
    await exec('COMMIT')
    notices.forEach(notice)
    return result
  } catch (error) {
    // If the rollback fails, closes the connection, because its transaction may still be open.
    await exec('ROLLBACK').catch(() => client.lose('now'))
    throw error
  }
}

const ATTEMPTS = 5

/** Retries work after a conflict with another transaction. Translates errors. */
async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === ATTEMPTS || !isConflict(error)) throw translatePostgresError(error)
      await setTimeout(Math.random() * 20 * 2 ** attempt)
    }
  }
}
