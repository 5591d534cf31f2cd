import { setTimeout } from 'node:timers/promises'
import type { PoolState } from '../port.ts'
import type { Client } from './client.ts'
import { copyInto } from './copy.ts'
import {
  isConflict,
  isUnstorable,
  type PostgresValue,
  type Row,
  translatePostgresError,
} from './drivers.ts'
import type { Pool } from './pool.ts'

/** What a statement is sent through: a connection of the pool, or the one of a transaction. */
export interface Connection {
  /** Runs a statement; the number of rows that it changed. */
  run(sql: string, ...values: PostgresValue[]): Promise<number>
  find(sql: string, ...values: PostgresValue[]): Promise<Row | undefined>
  all(sql: string, ...values: PostgresValue[]): Promise<Row[]>
}

export interface Transaction extends Connection {
  /** Runs statements without values. */
  exec(sql: string): Promise<void>
  /** Lets the transaction end without a change. */
  undo(): void
  /** Copies lines of PostgreSQL's text format into a table. */
  copy(into: string, lines: Iterable<string>): Promise<void>
}

export interface Database extends Connection {
  /**
   * Runs `work` in one transaction; anew, a few times, when others were in its way. When it fails
   * it has changed nothing, unless the connection was lost during the commit: then no one knows.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>, limits?: Limits): Promise<T>
  poolState(): PoolState
  close(): Promise<void>
}

export interface Limits {
  /** Milliseconds that one statement may take, in place of the connection's `statement_timeout`. */
  readonly timeout: number
}

export function databaseOn(pool: Pool): Database {
  const read: Connection['all'] = async (...statement) => {
    try {
      return await persistently(() =>
        pool.share((client) => connectionOn(client).all(...statement)),
      )
    } catch (error) {
      if (isUnstorable(error)) return []
      throw error
    }
  }
  return {
    // Not shared: reads would wait behind a write, for its locks and for the disk.
    run: (...statement) =>
      persistently(() => pool.reserve((client) => connectionOn(client).run(...statement))),
    find: async (...statement) => (await read(...statement))[0],
    all: (...statement) => read(...statement),
    transaction: (work, limits) =>
      persistently(() => pool.reserve((client) => inTransaction(client, work, limits))),
    poolState: () => pool.state(),
    close: () => pool.close(),
  }
}

function connectionOn(client: Client): Connection {
  // Prepares a statement unless the URL has `?prepare=false`, which goes before this in postgres.js.
  const query = (sql: string, values: PostgresValue[]) =>
    client.send((driver) => driver.unsafe(sql, values, { prepare: true, simple: false }))
  return {
    run: async (sql, ...values) => (await query(sql, values)).count,
    find: async (sql, ...values) => (await query(sql, values))[0],
    all: async (sql, ...values) => query(sql, values),
  }
}

async function inTransaction<T>(
  client: Client,
  work: (tx: Transaction) => Promise<T>,
  limits?: Limits,
): Promise<T> {
  const exec = (sql: string) => client.send((driver) => driver.unsafe(sql))
  let ending = 'COMMIT'
  const tx: Transaction = {
    ...connectionOn(client),
    undo() {
      ending = 'ROLLBACK'
    },
    exec: async (sql) => void (await exec(sql)),
    copy: (into, lines) => client.send((driver) => copyInto(driver, into, lines)),
  }
  // Whatever the database's default: after a lock each statement is to see what others have done.
  await exec('BEGIN ISOLATION LEVEL READ COMMITTED')
  try {
    if (limits) {
      await exec(`SET LOCAL statement_timeout = ${limits.timeout}`)
      client.patience = Math.max(client.patience, limits.timeout)
    }
    const result = await work(tx)
    await exec(ending)
    return result
  } catch (error) {
    // Not to be had back in a known state, it is thrown away.
    await exec('ROLLBACK').catch(() => client.lose('now'))
    throw error
  }
}

const ATTEMPTS = 5

/** Tries again what only failed because others were faster; errors come translated. */
async function persistently<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === ATTEMPTS || !isConflict(error)) throw translatePostgresError(error)
      await setTimeout(Math.random() * 20 * 2 ** attempt)
    }
  }
}
