/** A sentence about a problem, and the SQL that counts its rows as `n`. */
export type Check = readonly [sentence: string, sql: string]

/** The checks that both databases make. */
export const CHECKS: readonly Check[] = [
  [
    'items have a version without the id of its change, or the reverse',
    'SELECT count(*) AS n FROM items WHERE (version > 1) <> (changed IS NOT NULL)',
  ],
  [
    'watermarks of an archive are left, which open the audit log for deletion',
    'SELECT count(*) AS n FROM audit_archive',
  ],
  [
    'pseudonyms are left, which open the audit log for changes',
    'SELECT count(*) AS n FROM audit_pseudonym',
  ],
]
