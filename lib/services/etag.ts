import type { Project } from '../domain/project.ts'
import type { Store } from '../domain/store.ts'
import { TillError } from '../errors.ts'
import type { CallOptions } from './audit.ts'
import { hashText } from './ids.ts'
import { isStore, withoutSecrets } from './secret-fields.ts'

/** The options of a change of a project or store. */
export interface ChangeOptions extends CallOptions {
  /**
   * The ETag of the record that the change is based on: see `etagOf`. If the stored record has
   * another one, the change fails with `etag_mismatch`. May also be a whole `If-Match` header.
   */
  readonly ifMatch?: string | undefined
}

/** Identifies the content of a project or store, except its secrets. */
export function etagOf(record: Project | Store): string {
  const shown = Object.entries(withoutSecrets(record)).sort(byName)
  return `"${hashText(JSON.stringify(shown)).slice(0, 22)}"`
}

const byName = ([a]: [string, unknown], [b]: [string, unknown]) => (a < b ? -1 : 1)

/** Throws `etag_mismatch` unless `If-Match` allows the record (RFC 9110 section 13.1.1). */
export function assertMatch(ifMatch: string | undefined, record: Project | Store): void {
  if (ifMatch === undefined || ifMatch === '*') return
  const tag = etagOf(record)
  if (ifMatch.split(',').some((each) => each.trim() === tag)) return
  const noun = isStore(record) ? 'store' : 'project'
  throw new TillError('etag_mismatch', `The ${noun} has changed since it was read: read it again`)
}
