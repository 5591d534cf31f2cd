import type { CopyDialect } from '../sql/copy.ts'
import type { Connection } from './connection.ts'
import { applyChanges } from './purchases/changes.ts'

export function copyDialect(db: Connection): CopyDialect {
  return {
    tables: { purchases: { key: ['seq'], store: STORE }, status_changes: { store: STORE } },
    complete: COMPLETE,
    /** Does not fsync: `endCopy` makes all copied rows durable. */
    async insertRows({ name, columns }, rows) {
      const stored = Object.entries(columns)
        .map(([column, type], place) => ({ column, type, place }))
        .filter(({ column }) => column !== 'store' || !OF_IMPORT.includes(name))
      const fixed = name === 'imports' ? ['alive_at, ', '0, '] : ['', '']
      const insertion = `INSERT INTO ${name} (${fixed[0]}${stored.map(({ column }) => column)})
        VALUES (${fixed[1]}${stored.map(() => '?')})`
      const valuesOf = (row: (typeof rows)[number]) =>
        stored.map(({ type, place }) => {
          const text = row[place] as string | null
          return type === 'bytea' ? Buffer.from(text as string, 'hex') : text
        })
      await db.lazyTransaction(() => {
        for (const row of rows) db.run(insertion, ...valuesOf(row))
      })
    },
    applyChanges: () => applyChanges(db),
  }
}

const STORE = '(SELECT i.store FROM imports i WHERE i.seq = r.import)'
/** The tables whose rows have the store of their import. */
const OF_IMPORT = ['purchases', 'status_changes']

/** Fills the indexes of the purchases. */
const COMPLETE = [
  `INSERT INTO transactions (store, transaction_id, purchase)
    SELECT i.store, p.transaction_id, p.seq FROM purchases p CROSS JOIN imports i ON i.seq = p.import
    WHERE true ORDER BY i.store, p.transaction_id ON CONFLICT DO NOTHING`,
  `INSERT INTO transactions (store, transaction_id, purchase)
    SELECT store, transaction_id, 0 FROM erased_purchases WHERE is_deleted ON CONFLICT DO NOTHING`,
  `INSERT INTO purchase_users (user_key, purchase)
    SELECT user_key(i.store, p.user_id), p.seq FROM purchases p
    CROSS JOIN imports i ON i.seq = p.import WHERE p.user_id IS NOT NULL ORDER BY 1, 2
    ON CONFLICT DO NOTHING`,
]
