import { TillError } from '../../errors.ts'
import { type Check, findBroken } from '../sql/check.ts'
import type { Connection } from './connection.ts'
import { reasonOf } from './drivers.ts'
import { execute } from './sql.ts'

/** Finds rows that break references without a foreign key (see the schema). */
const REFERENCES: readonly Check[] = [
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
    'purchases are missing from the index of users',
    `SELECT count(*) AS n FROM purchases p JOIN imports i ON i.seq = p.import
     WHERE i.owner IS NULL AND p.user_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM purchase_users u
       WHERE u.user_key = user_key(i.store, p.user_id) AND u.purchase = p.seq)`,
  ],
  [
    'entries of the index of users name a purchase that is not there or of another user',
    `SELECT count(*) AS n FROM purchase_users u LEFT JOIN purchases p ON p.seq = u.purchase
       LEFT JOIN imports i ON i.seq = p.import LEFT JOIN purchase_changes c ON c.purchase = p.seq
     WHERE (u.user_key = user_key(i.store, coalesce(p.user_id, c.user_id))) IS NOT TRUE`,
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

/** Checks the pages of the file, its foreign keys, and the references without one. */
export function findProblems(db: Connection): string[] {
  db.find('SELECT 1') // throws for a closed storage, which must not be reported as damaged
  try {
    return checkAll(db)
  } catch (error) {
    // SQLite stops at some kinds of damage without describing them.
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
  return [...foreign, ...execute(db, findBroken(REFERENCES))]
}
