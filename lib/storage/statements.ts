// The SQL statements that both adapters send. `?` stands for a value; the PostgreSQL connection
// replaces it by `$n`. The PostgreSQL adapter appends row locks.

export const DELETE_OVERLAPS = 'DELETE FROM import_overlaps WHERE import = ? OR earlier = ?'

export const FIND_UNFINISHED = 'SELECT 1 FROM unfinished_copy'
export const DELETE_UNFINISHED = 'DELETE FROM unfinished_copy'
/** Finds a row if the database holds any account, signing key or audit entry. */
export const FIND_ANYTHING = `
  SELECT 1 FROM accounts UNION ALL SELECT 1 FROM signing_keys UNION ALL SELECT 1 FROM audit LIMIT 1`
