/**
 * What an account may have. A change that exceeds a quota is `quota_exceeded`. An account that has
 * more already reads all of it, and makes changes that do not add to it.
 */
export interface Quotas {
  /** 1,000 projects unless told. */
  readonly projects: number
  /** 250 stores in one project unless told: `sessions.init` answers with all of them. */
  readonly storesPerProject: number
  /**
   * Bytes of `config` and `store_config` as JSON, of all projects and stores together; 64 MiB unless
   * told.
   */
  readonly configBytes: number
}

export const DEFAULT_QUOTAS: Quotas = {
  projects: 1_000,
  storesPerProject: 250,
  configBytes: 64 * 1024 ** 2,
}

/** Quotas with what stands for those left out. Throws a TypeError for one that is no number. */
export function quotasOf(given: Partial<Quotas>): Quotas {
  for (const [name, value] of Object.entries(given)) {
    if (!(name in DEFAULT_QUOTAS)) throw new TypeError(`createTill has no quota ${name}`)
    if (Number.isSafeInteger(value) && value >= 0) continue
    throw new TypeError(`the quota ${name} must be a whole number of 0 or more`)
  }
  return { ...DEFAULT_QUOTAS, ...given }
}
