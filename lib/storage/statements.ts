import { IS_RECORDING } from './recorded.ts'
import { IMPORT_DETAILS } from './tables.ts'

// The SQL statements that both adapters send. `?` stands for a value; the PostgreSQL connection
// replaces it by `$n`. The PostgreSQL adapter appends row locks.

export const RECORD_IMPORT = IMPORT_DETAILS.updateWhere('seq = ?')
/**
 * Adds 1 to the skipped rows of the import that added a purchase, after `recordPurchase` has
 * repeated it. Changes nothing if `recordPurchase` added the purchase too.
 */
export const SKIP_RECORDING = `
  INSERT INTO import_overlaps AS o (import, earlier, rows)
  SELECT i.seq, i.seq, 1 FROM imports i WHERE i.seq = ? AND NOT ${IS_RECORDING}
  ON CONFLICT (import, earlier) DO UPDATE SET rows = o.rows + 1`
export const DELETE_OVERLAPS = 'DELETE FROM import_overlaps WHERE import = ? OR earlier = ?'

export const FIND_UNFINISHED = 'SELECT 1 FROM unfinished_copy'
export const DELETE_UNFINISHED = 'DELETE FROM unfinished_copy'
/** Finds a row if the database holds any account, signing key or audit entry. */
export const FIND_ANYTHING = `
  SELECT 1 FROM accounts UNION ALL SELECT 1 FROM signing_keys UNION ALL SELECT 1 FROM audit LIMIT 1`
