import { TillError } from '../../errors.ts'
import type { Connection } from './connection.ts'
import { reasonOf } from './drivers.ts'
import { userKey } from './user-key.ts'

/** Finds rows that break references without a foreign key (see the schema). */
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
    'items have a version without the id of its change, or the reverse',
    'SELECT count(*) AS n FROM items WHERE (version > 1) <> (changed IS NOT NULL)',
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
  const references = REFERENCES.flatMap(([sentence, sql]) => {
    const count = db.find(sql)?.n as number
    return count === 0 ? [] : [`${count} ${sentence}`]
  })
  return [...foreign, ...references, ...checkUsers(db)]
}

/** Checks the index of users. SQL cannot compute its keys. */
function checkUsers(db: Connection): string[] {
  const indexed = db.find(COUNT_INDEXED)?.n as number
  const { right, wrong } = db.some((rows) => {
    const found = { right: 0, wrong: 0 }
    for (const { user_key, store, user_id, is_indexed } of rows) {
      if (user_id === null || user_key !== userKey(store as number, user_id as string))
        found.wrong++
      else found.right += is_indexed as number
    }
    return found
  }, FIND_ENTRIES)
  const missing = indexed - right
  return [
    ...(missing > 0 ? [`${missing} purchases are missing from the index of users`] : []),
    ...(wrong > 0 ? [`${wrong} ${WRONG_ENTRIES}`] : []),
  ]
}

const WRONG_ENTRIES =
  'entries of the index of users name a purchase that is not there or of another user'

const COUNT_INDEXED = `
  SELECT count(*) AS n FROM imports i JOIN purchases p
    ON p.import = i.seq AND p.seq BETWEEN i.first_purchase AND i.users_indexed
  WHERE i.owner IS NULL AND p.user_id IS NOT NULL`

const FIND_ENTRIES = `
  SELECT u.user_key, i.store, p.user_id,
    i.owner IS NULL AND p.seq BETWEEN i.first_purchase AND i.users_indexed AS is_indexed
  FROM purchase_users u LEFT JOIN purchases p ON p.seq = u.purchase
    LEFT JOIN imports i ON i.seq = p.import`
