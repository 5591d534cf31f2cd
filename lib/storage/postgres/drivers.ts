import type { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import { TillError } from '../../errors.ts'
import type { Address } from './socket.ts'

/**
 * The members of postgres.js that the adapter uses: what `import postgres from 'postgres'` gives.
 */
export type PostgresDriver = (url: string, settings: PostgresSettings) => PostgresClient

export interface PostgresSettings {
  readonly max: number
  readonly idle_timeout: number
  readonly max_lifetime: number
  readonly fetch_types: boolean
  readonly connect_timeout?: number
  readonly connection: Record<string, string | number>
  readonly socket: (address: Address) => Socket
  readonly onnotice: () => void
  readonly onclose: () => void
}

export interface PostgresClient {
  unsafe(
    sql: string,
    values?: PostgresValue[],
    options?: { readonly prepare: boolean; readonly simple: boolean },
  ): PostgresQuery
  end(options: { readonly timeout: number }): Promise<void>
}

export interface PostgresQuery extends PromiseLike<PostgresRows> {
  writable(): Promise<Writable>
}

export type PostgresRows = Row[] & { readonly count: number }
/** int8 comes as text: see `numberOf` in records.ts. */
export type Row = Record<string, unknown>
/** An object is sent as JSON. */
export type PostgresValue = string | number | boolean | null | Uint8Array | object

export async function loadPostgresDriver(): Promise<PostgresDriver> {
  try {
    return (await import('postgres')).default
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    const message = 'No PostgreSQL driver: install postgres (npm install postgres)'
    throw new TillError('storage_unavailable', message)
  }
}

/**
 * What postgres.js, the sockets and TLS below it say of a connection that is not there, or no more.
 */
const CONNECTION_LOST =
  /^(CONNECTION_(CLOSED|ENDED|DESTROYED)|CONNECT_TIMEOUT|E(CONNREFUSED|CONNRESET|PIPE|NOTFOUND|AI_AGAIN|TIMEDOUT|HOSTUNREACH|NETUNREACH|NOENT|ACCES|PROTO)|.*(CERT|TLS|SSL|STREAM).*)$/

/**
 * SQLSTATE classes and codes (postgresql.org/docs/current/errcodes-appendix.html) that speak of the
 * server or the moment, not of the SQL: connection, authorization, no such database, read-only,
 * idle too long, conflict, resources, lock, statement timeout and shutdown, input/output,
 * corruption.
 */
const UNAVAILABLE = /^(08...|28...|3D000|25006|25P03|40...|53...|55P03|57...|58...|XX001|XX002)$/

const DISK_FULL = '53100'
const UNAVAILABLE_NOW = 'The database can not be used right now'

/**
 * A driver's error as the port names it: one of the server or the way to it becomes
 * `storage_unavailable`, any other passes through.
 */
export function translatePostgresError(error: unknown): unknown {
  const { code = '' } = error as { code?: string }
  if (!isConnectionLost(error) && !UNAVAILABLE.test(code)) return error
  // What these say names hosts, roles and databases: for the operator, not for who sent a request.
  const message = code === DISK_FULL ? 'The disk of the database is full' : UNAVAILABLE_NOW
  const fault = new TillError('storage_unavailable', message)
  return Object.assign(fault, { cause: error })
}

/**
 * What the driver said of an error that may be translated; a refused connection has a code alone.
 */
export function reasonOf(error: unknown): string {
  const { message, code, cause } = error as { message: string; code: string; cause?: unknown }
  return cause === undefined ? message || code : reasonOf(cause)
}

export function isConnectionLost(error: unknown): boolean {
  return CONNECTION_LOST.test((error as { code?: string }).code ?? '')
}

/** Whether the same again may well succeed: a serialization failure or a deadlock. */
export function isConflict(error: unknown): boolean {
  return /^40(001|P01)$/.test((error as { code?: string }).code ?? '')
}

export function isUniqueViolation(error: unknown): boolean {
  return (error as { code?: string }).code === '23505'
}

/** Whether text was asked for that PostgreSQL can not hold, U+0000: nothing is found by it. */
export function isUnstorable(error: unknown): boolean {
  return (error as { code?: string }).code === '22021'
}
