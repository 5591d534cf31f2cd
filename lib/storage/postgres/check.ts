import { type Check, findBroken } from '../sql/check.ts'
import type { Database } from './connection.ts'
import { FIND_HIDING } from './purchases/repair.ts'
import { execute } from './sql.ts'

/** Finds rows that break references without a foreign key, and invalid indexes. */
const PROBLEMS: readonly Check[] = [
  [
    'stores hide purchases: start a server, or run "tillkit upgrade", to show them again',
    `SELECT count(*) AS n FROM (${FIND_HIDING}) hiding`,
  ],
  [
    'changes name a purchase that is not there',
    `SELECT count(*) AS n FROM purchase_changes c JOIN stores s ON s.seq = c.store
     WHERE c.purchase <= s.last_purchase
       AND NOT EXISTS (SELECT 1 FROM purchases p WHERE p.store = c.store AND p.seq = c.purchase)`,
  ],
  [
    'indexes or constraints are not valid',
    `SELECT (SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
       WHERE c.relnamespace = current_schema()::regnamespace AND NOT i.indisvalid)
     + (SELECT count(*) FROM pg_constraint
       WHERE connamespace = current_schema()::regnamespace AND NOT convalidated) AS n`,
  ],
]

const TIMEOUT_MS = 60 * 60_000

/** Checks the references that have no foreign key. PostgreSQL itself checks its data pages. */
export function findProblems(db: Database): Promise<string[]> {
  return db.transaction(async (tx) => {
    await tx.exec('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY')
    return execute(tx, findBroken(PROBLEMS, 'r.store = p.store'))
  }, TIMEOUT_MS)
}
