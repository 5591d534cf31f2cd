import type { Connection } from './connection.ts'

/** What references each other without a foreign key: see the schema. */
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
    'transactions name a purchase that is not there',
    'SELECT count(*) AS n FROM transactions WHERE purchase NOT IN (SELECT seq FROM purchases)',
  ],
  [
    'changes name a purchase that is not there',
    'SELECT count(*) AS n FROM purchase_changes WHERE purchase NOT IN (SELECT seq FROM purchases)',
  ],
]

/** Looks through the whole file: its pages, its foreign keys, and what refers to each other. */
export function findProblems(db: Connection): string[] {
  const integrity = db
    .all('PRAGMA integrity_check')
    .map(({ integrity_check }) => String(integrity_check))
    .filter((line) => line !== 'ok')
  if (integrity.length > 0) return integrity // what a damaged file says of its rows means nothing
  const foreign = db
    .all('PRAGMA foreign_key_check')
    .map(({ table, rowid, parent }) => `row ${rowid} of ${table} names a missing row of ${parent}`)
  const references = REFERENCES.flatMap(([sentence, sql]) => {
    const count = db.find(sql)?.n as number
    return count === 0 ? [] : [`${count} ${sentence}`]
  })
  return [...foreign, ...references]
}
