import { TillError } from '../../errors.ts'

/** The oldest version that can be upgraded. */
const FIRST = 30

/** The SQL that makes and upgrades the schema of a database. */
export interface Schema {
  /** Creates the newest schema in an empty database. */
  readonly create: string
  /**
   * Each step leads to the next version: the first one from `FIRST`. The last one ends in what
   * `create` creates. Never change one, and never derive one from what may change.
   */
  readonly steps: readonly string[]
  /**
   * Replaces the views and the triggers of the audit log, after each upgrade. They hold no data, and
   * may follow from what changes. A change of one needs a step, if only an empty one.
   */
  readonly derived: string
}

/** The version that the last step leads to. */
export function newestVersion({ steps }: Schema): number {
  return FIRST + steps.length
}

/** The changes of the schema that the opener of a database allows. By default, both. */
interface Allowed {
  readonly create?: boolean | undefined
  readonly upgrade?: boolean | undefined
}

/**
 * Returns the statements that lead from a version, 0 for an empty database, to the newest one.
 * Throws `storage_unavailable` for a version that cannot be upgraded, and if `allowed` excludes it.
 */
export function stepsFrom(version: number, schema: Schema, allowed: Allowed): readonly string[] {
  const { create: mayCreate = true, upgrade: mayUpgrade = true } = allowed
  const newest = newestVersion(schema)
  if (version === newest) return []
  if (version === 0) {
    if (!mayCreate) throw refusal('it has no tables')
    return [schema.create, schema.derived]
  }
  if (version > newest) {
    const known = `its schema is version ${version}, this tillkit knows ${newest}`
    throw refusal(`${known}: use the newer tillkit that wrote it`)
  }
  if (version < FIRST) {
    const known = `its schema is version ${version}, and this tillkit upgrades from ${FIRST}`
    const way = 'export the catalog and the purchases with the tillkit that wrote it'
    const lost = 'an export has no keys, no erasures and no audit log'
    throw refusal(`${known}: ${way}, and import them into a new database; ${lost}`)
  }
  if (!mayUpgrade) {
    throw refusal('an earlier tillkit wrote it: make a backup, then run "tillkit upgrade"')
  }
  return [...schema.steps.slice(version - FIRST), schema.derived]
}

function refusal(reason: string): TillError {
  return new TillError('storage_unavailable', reason)
}
