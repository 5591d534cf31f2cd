import { numberOf } from './columns.ts'
import { find, type Program } from './program.ts'

/** A sentence about a problem, and the SQL that counts its rows as `n`. */
export type Check = readonly [sentence: string, sql: string]

/**
 * Makes the checks of both databases, and further ones of one. Returns a sentence for each problem.
 * `inStore` is a condition of the row `r` to which a purchase `p` refers.
 */
export function* findBroken(own: readonly Check[], inStore = 'true'): Program<string[]> {
  const problems: string[] = []
  for (const [sentence, sql] of [...checks(inStore), ...own]) {
    const count = numberOf((yield* find(sql))?.n)
    if (count > 0) problems.push(`${count} ${sentence}`)
  }
  return problems
}

const checks = (inStore: string): readonly Check[] => [
  [
    'purchases name an import that is not there',
    `SELECT count(*) AS n FROM purchases p
     WHERE NOT EXISTS (SELECT 1 FROM imports r WHERE r.seq = p.import AND ${inStore})`,
  ],
  [
    'purchases name an item that is not there',
    `SELECT count(*) AS n FROM purchases p
     WHERE NOT EXISTS (SELECT 1 FROM items r WHERE r.seq = p.item AND ${inStore})`,
  ],
  [
    'items have a version without the id of its change, or the reverse',
    'SELECT count(*) AS n FROM items WHERE (version > 1) <> (changed IS NOT NULL)',
  ],
]
