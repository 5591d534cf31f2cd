/**
 * The limits of one account. A change that would exceed one throws `quota_exceeded`. After a quota
 * was lowered, an account above it can still read everything and make changes that add nothing.
 */
export interface Quotas {
  /** Projects of the account; default 1,000. */
  readonly projects: number
  /** Keys of the account, and as many revoked ones; default 1,000. The oldest of those are deleted. */
  readonly keys: number
  /** Stores of one project; default 250, because `sessions.init` returns all of them. */
  readonly storesPerProject: number
  /** Bytes of `config` and `store_config` as JSON in all projects and stores; default 64 MiB. */
  readonly configBytes: number
  /**
   * Items of the account, including archived ones; default 100,000. `Infinity` for no limit.
   * Requests that run at the same time may exceed it: see docs/operations.md.
   */
  readonly items: number
  /** Purchases of the account; default 20,000,000. Checked like `items`. */
  readonly purchases: number
}

/** The quotas of a till without the option `quotas`. */
export const DEFAULT_QUOTAS: Quotas = {
  projects: 1_000,
  keys: 1_000,
  storesPerProject: 250,
  configBytes: 64 * 1024 ** 2,
  items: 100_000,
  purchases: 20_000_000,
}

/** Adds the defaults. Throws a TypeError for an unknown name or a value that is no whole number. */
export function parseQuotas(given: Partial<Quotas>): Quotas {
  for (const [name, value] of Object.entries(given)) {
    if (!(name in DEFAULT_QUOTAS)) throw new TypeError(`createTill has no quota ${name}`)
    if (Number.isSafeInteger(value) && value >= 0) continue
    const isOfRows = name === 'items' || name === 'purchases'
    if (value === Number.POSITIVE_INFINITY && isOfRows) continue
    throw new TypeError(`the quota ${name} must be a whole number of 0 or more`)
  }
  return { ...DEFAULT_QUOTAS, ...given }
}
