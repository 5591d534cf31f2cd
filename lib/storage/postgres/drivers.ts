import type { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import { TillError } from '../../errors.ts'
import { requireOptional } from '../sql/optional-package.ts'
import type { Address } from './socket.ts'

/** The members of postgres.js's default export that the adapter uses. */
export type PostgresDriver = (url: string, settings: PostgresSettings) => PostgresClient

interface PostgresSettings {
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
/** A row. Values of the type int8 are strings in it: see `numberOf`. */
export type Row = Record<string, unknown>
/** A value of a statement. An object is sent as JSON. */
export type PostgresValue = string | number | boolean | null | Uint8Array | object

/** Throws `storage_unavailable` if the package `postgres` is not installed. */
export function loadPostgresDriver(): PostgresDriver {
  try {
    return requireOptional<typeof import('postgres')>('postgres')
  } catch (error) {
    if ((error as { code?: string }).code !== 'MODULE_NOT_FOUND') throw error
    const message = 'No PostgreSQL driver: install postgres (npm install postgres)'
    throw new TillError('storage_unavailable', message)
  }
}

/** The error codes for a lost connection, from postgres.js, sockets and TLS. */
const CONNECTION_LOST =
  /^(CONNECTION_(CLOSED|ENDED|DESTROYED)|CONNECT_TIMEOUT|E(CONNREFUSED|CONNRESET|PIPE|NOTFOUND|AI_AGAIN|TIMEDOUT|HOSTUNREACH|NETUNREACH|NOENT|ACCES|PROTO)|.*(CERT|TLS|SSL|STREAM).*)$/

/**
 * The SQLSTATE classes and codes (postgresql.org/docs/current/errcodes-appendix.html) that blame
 * the server, not the SQL: connection, authorization, unknown database, read-only, idle timeout,
 * conflict, resources, lock, statement timeout and shutdown, input/output, corruption.
 */
const UNAVAILABLE = /^(08...|28...|3D000|25006|25P03|40...|53...|55P03|57...|58...|XX001|XX002)$/

/** The messages of causes that an operator should see at once. */
const MESSAGES: { readonly [code: string]: string } = {
  '53100': 'The disk of the database is full',
  '55P03': 'Another transaction held a lock for too long',
}
const UNAVAILABLE_NOW = 'The database cannot be used right now'

/** Turns an error about the server or the connection into `storage_unavailable`. */
export function translatePostgresError(error: unknown): unknown {
  const { code = '' } = error as { code?: string }
  if (!isConnectionLost(error) && !UNAVAILABLE.test(code)) return error
  // The driver's message may name hosts, roles and databases, so only the log gets it.
  const fault = new TillError('storage_unavailable', MESSAGES[code] ?? UNAVAILABLE_NOW)
  return Object.assign(fault, { cause: error })
}

/**
 * The message of the PostgreSQL driver, also for a `TillError` that was made from the driver's error.
 * Returns the error code if there is no message, as for a refused connection.
 */
export function reasonOf(error: unknown): string {
  const { message, code, cause } = error as { message: string; code: string; cause?: unknown }
  return cause === undefined ? message || code : reasonOf(cause)
}

/** Whether the connection broke, or could not be opened. */
export function isConnectionLost(error: unknown): boolean {
  return CONNECTION_LOST.test((error as { code?: string }).code ?? '')
}

/** Whether the error is a serialization failure or a deadlock, so that a retry may succeed. */
export function isConflict(error: unknown): boolean {
  return /^40(001|P01)$/.test((error as { code?: string }).code ?? '')
}

/** Whether another row has the same values in the unique columns. */
export function isUniqueViolation(error: unknown): boolean {
  return (error as { code?: string }).code === '23505'
}

/** Whether a value contains U+0000. PostgreSQL cannot store it, so no row can have that value. */
export function isUnstorable(error: unknown): boolean {
  return (error as { code?: string }).code === '22021'
}
