import type { PostgresDriver } from './drivers.ts'

/** Times are in milliseconds. An option overrides the same setting in the URL. */
export interface PostgresOptions {
  /** The default export of the package `postgres`. By default, the package is imported. */
  readonly postgres?: PostgresDriver
  /**
   * The maximum number of connections. One of several runs only single statements, and the writes of
   * an account use at most a third. Another connection, for version checks and `ping`, is not
   * counted. Default: 10.
   */
  readonly max?: number
  /** How long to wait for a free connection before `storage_unavailable`. Default: 5,000. */
  readonly poolTimeout?: number
  /** How long a connection may take to open. Default: 5,000. */
  readonly connectTimeout?: number
  /**
   * How long a statement may wait for a lock. A statement, such as one block of an import, may take
   * a tenth longer. Default: 10,000.
   */
  readonly statementTimeout?: number
  /** The time after which an idle connection is closed. Default: 60,000. */
  readonly idleTimeout?: number
  /** The maximum number of bytes of memory for cached reads; 0 for no cache. Default: 32 MiB. */
  readonly cacheBytes?: number
  /** Whether to create the tables in a database without them. Default: true. */
  readonly create?: boolean
  /** Whether to upgrade a database of an earlier tillkit. Otherwise it is refused. Default: true. */
  readonly upgrade?: boolean
}
