import { TillError } from '../../errors.ts'
import type { Connection } from './connection.ts'
import { reasonOf } from './drivers.ts'

/** References that have no foreign key (see the schema), and the rows that break them. */
const REFERENCES: readonly (readonly [sentence: string, sql: string])[] = [
  [
    'purchases name an import that is not there',
    'SELECT count(*) AS n FROM purchases WHERE import NOT IN (SELECT seq FROM imports)',
  ],
  [
    'purchases name an item that is not there',
    'SELECT count(*) AS n FROM purchases WHERE item NOT IN (SELECT seq FROM items)',
  ],
  [
    'purchases of imports that are done are missing from the index of transactions',
    `SELECT count(*) AS n FROM purchases p JOIN imports i ON i.seq = p.import
     WHERE i.owner IS NULL AND NOT EXISTS (SELECT 1 FROM transactions t
       WHERE t.store = i.store AND t.transaction_id = p.transaction_id AND t.purchase = p.seq)`,
  ],
  [
    'purchases of imports that are done lie outside the rows of their import, where none is seen',
    `SELECT count(*) AS n FROM purchases p JOIN imports i ON i.seq = p.import
     WHERE i.owner IS NULL AND (p.seq BETWEEN i.first_purchase AND i.last_purchase) IS NOT TRUE`,
  ],
  [
    'transactions name a purchase that is not there',
    `SELECT count(*) AS n FROM transactions t WHERE NOT EXISTS (SELECT 1 FROM purchases p
       WHERE p.seq = t.purchase AND p.transaction_id = t.transaction_id)
       AND NOT EXISTS (SELECT 1 FROM erased_purchases e WHERE t.purchase = 0 AND e.is_deleted
         AND e.store = t.store AND e.transaction_id = t.transaction_id)`,
  ],
  [
    'pseudonyms are left, which open the audit log for changes',
    'SELECT count(*) AS n FROM audit_pseudonym',
  ],
  [
    'watermarks of an archive are left, which open the audit log for deletion',
    'SELECT count(*) AS n FROM audit_archive',
  ],
  [
    'changes name a purchase that is not there',
    'SELECT count(*) AS n FROM purchase_changes WHERE purchase NOT IN (SELECT seq FROM purchases)',
  ],
  [
    'changes name an import that is not there',
    'SELECT count(*) AS n FROM purchase_changes WHERE import NOT IN (SELECT seq FROM imports)',
  ],
]

/** Checks the file's pages, its foreign keys and the references without one. */
export function findProblems(db: Connection): string[] {
  db.find('SELECT 1') // throws when the storage is closed, which is not damage
  try {
    return checkAll(db)
  } catch (error) {
    // SQLite stops at some damage, and does not describe it.
    if (error instanceof TillError) return [reasonOf(error)]
    throw error
  }
}

function checkAll(db: Connection): string[] {
  const integrity = db
    .all('PRAGMA integrity_check')
    .map(({ integrity_check }) => String(integrity_check))
    .filter((line) => line !== 'ok')
  if (integrity.length > 0) return integrity // the other checks need undamaged pages
  const foreign = db
    .all('PRAGMA foreign_key_check')
    .map(({ table, rowid, parent }) => `row ${rowid} of ${table} names a missing row of ${parent}`)
  const references = REFERENCES.flatMap(([sentence, sql]) => {
    const count = db.find(sql)?.n as number
    return count === 0 ? [] : [`${count} ${sentence}`]
  })
  return [...foreign, ...references]
}
