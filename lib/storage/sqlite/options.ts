import type { SqliteDriverName } from './drivers.ts'

export interface SqliteOptions {
  /** The driver to use. Default: node:sqlite where Node has it, else better-sqlite3. */
  readonly driver?: SqliteDriverName
  /** The memory for the read cache in bytes; 0 disables it. Default: 32 MiB. */
  readonly cacheBytes?: number
  /** Whether to create a database in a missing file, or in one without tables. Default: true. */
  readonly create?: boolean
  /** Whether to upgrade a database of an earlier tillkit. Otherwise it is refused. Default: true. */
  readonly upgrade?: boolean
}
