import { setImmediate } from 'node:timers/promises'
import { PURCHASE_STATUSES } from '../../../domain/purchase.ts'
import type { Sql } from '../dialect.ts'
import { find, run } from '../program.ts'
import { assertOwned, type NewImport } from './imports.ts'

const codes = (['purchased', 'pending'] as const).map((each) => PURCHASE_STATUSES.indexOf(each))

/** The SQL condition that a purchase with this `status` may still be delivered. */
export const IS_DELIVERABLE = `status IN (${codes.join(', ')})`

/** Ends the insertion of purchases that are new. One that was delivered before stays delivered. */
export const UNLESS_DELIVERED = `
  ON CONFLICT (store, transaction_id) DO UPDATE SET purchase = excluded.purchase
  WHERE d.purchase IS NOT NULL`

const SLICE_ROWS = 2_000

/** Returns the function that marks the rows of an import, before its commit, as not delivered. */
export function undeliveredMarker(sql: Sql) {
  const rows = `FROM stores s CROSS JOIN purchases p
    WHERE s.seq = ? AND ${sql.statusChanges.isOfStore} p.import = ? AND p.seq > ?`
  const findLast = `
    SELECT max(seq) AS last FROM (SELECT p.seq ${rows} ORDER BY p.seq LIMIT ${SLICE_ROWS}) f`
  const insert = `
    INSERT INTO deliveries AS d (store, transaction_id, purchase)
    SELECT s.seq, p.transaction_id, p.seq ${rows} AND p.seq <= ? AND p.${IS_DELIVERABLE}
    ${UNLESS_DELIVERED}`

  return async (lease: NewImport): Promise<void> => {
    const { store, import: seq, first } = lease
    for (let after = first - 1; ; ) {
      const last = await sql.write(
        function* () {
          yield* assertOwned(sql, lease)
          const found = yield* find(findLast, store, seq, after)
          if (!found || found.last === null) return undefined
          yield* run(insert, store, seq, after, Number(found.last))
          return Number(found.last)
        },
        { isLazy: true },
      )
      if (last === undefined) return
      after = last
      await setImmediate()
    }
  }
}
