import { IS_RECORDING } from './recorded.ts'
import {
  IMPORT_DETAILS,
  ITEM_CHANGES,
  PROJECT_CHANGES,
  PROJECTS,
  STORE_CHANGES,
  STORES,
  WATERMARKS,
} from './tables.ts'

// The SQL statements that both adapters send. `?` stands for a value; the PostgreSQL connection
// replaces it by `$n`. The PostgreSQL adapter appends row locks.

/** The SQL for a page of rows after a `seq`. SQLite tables without a column `seq` use `rowid`. */
export function pageOf(
  { list, name }: { readonly list: string; readonly name: string },
  owner?: string,
  seq: 'seq' | 'rowid' = 'seq',
): string {
  const condition = owner === undefined ? '' : `${owner} = ? AND `
  return `SELECT ${seq} AS seq, ${list} FROM ${name}
    WHERE ${condition}${seq} > CAST(? AS bigint) ORDER BY ${seq} LIMIT ?`
}

export const FIND_KEY = 'SELECT 1 FROM account_keys WHERE key_id = ? AND revoked_at IS NULL'
export const FIND_PROJECT = `SELECT ${PROJECTS.list} FROM projects WHERE id = ?`
export const FIND_PROJECT_STATUS = 'SELECT status FROM projects WHERE id = ?'
export const UPDATE_PROJECT = PROJECT_CHANGES.updateWhere('id = ?')
export const SHORTEN_FORMER_KEYS = `
  UPDATE former_public_keys SET expires_at = ? WHERE project_id = ? AND expires_at > ?`

const OF_STORE = 'WHERE account_id = ? AND store_id = ?'
export const FIND_STORE = `SELECT ${STORES.list} FROM stores ${OF_STORE}`
export const FIND_STORE_STATUS = `SELECT status FROM stores ${OF_STORE}`
export const UPDATE_STORE = STORE_CHANGES.updateWhere('account_id = ? AND store_id = ?')

export const ITEMS_WITH_STORES = `
  SELECT i.*, s.account_id, s.project_id, s.store_id FROM items i JOIN stores s ON s.seq = i.store`
export const FIND_ITEM = `${ITEMS_WITH_STORES} WHERE i.id = ?`
export const UPDATE_ITEM = ITEM_CHANGES.updateWhere('id = ?')

/** Makes a statement for each value of `archived` in an `ItemSelection`. */
export function byArchived(statement: (condition: string) => string) {
  const all = statement('')
  const archived = statement('AND archived_at IS NOT NULL')
  const active = statement('AND archived_at IS NULL')
  return (value: boolean | undefined) => (value === undefined ? all : value ? archived : active)
}

/** Reads the usage of an account. Counts projects and stores only up to given limits. */
export const COUNT_USAGE = `
  SELECT config_bytes,
    (SELECT count(*) FROM (SELECT 1 FROM projects WHERE account_id = ? LIMIT ?) p) AS projects,
    (SELECT count(*) FROM (SELECT 1 FROM stores WHERE project_id = ? LIMIT ?) s) AS stores
  FROM accounts WHERE account_id = ?`

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

export const FIND_WATERMARK = `
  SELECT coalesce(max(not_after), 0) AS watermark FROM ${WATERMARKS.name}
  WHERE project_id = ? AND user_id IN ('', ?, ?)`
export const FIND_OWN_WATERMARK = `
  SELECT not_after FROM ${WATERMARKS.name} WHERE project_id = ? AND user_id = ?`
export const DELETE_WATERMARK = `
  DELETE FROM ${WATERMARKS.name} WHERE project_id = ? AND user_id = ?`

export const FIND_UNFINISHED = 'SELECT 1 FROM unfinished_copy'
export const DELETE_UNFINISHED = 'DELETE FROM unfinished_copy'
/** Finds a row if the database holds any account, signing key or audit entry. */
export const FIND_ANYTHING = `
  SELECT 1 FROM accounts UNION ALL SELECT 1 FROM signing_keys UNION ALL SELECT 1 FROM audit LIMIT 1`
