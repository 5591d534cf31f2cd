import type { PostgresDriver } from './drivers.ts'

/** Times are in seconds. Settings in the URL (`?max=20&connect_timeout=2`) override the defaults. */
export interface PostgresOptions {
  /** The default export of the package `postgres`. Default: the package is loaded. */
  readonly postgres?: PostgresDriver
  /** The most connections. One is reserved for reads. Default: 10. */
  readonly max?: number
  /** How long to wait for a free connection before `storage_unavailable`. Default: 5. */
  readonly pool_timeout?: number
  /** How long a connection may take to open. Default: 5. */
  readonly connect_timeout?: number
  /** How long a statement may take. A block of an import is one statement. Default: 10. */
  readonly statement_timeout?: number
  /** After how long an idle connection is closed. Default: 60. */
  readonly idle_timeout?: number
  /** Whether to open an unfinished copy, which `copyStorage` continues. Default: false. */
  readonly forCopy?: boolean
}
