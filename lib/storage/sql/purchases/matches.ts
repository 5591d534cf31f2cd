import type { NewPurchase } from '../../../domain/purchase.ts'
import { compareRepeat } from '../../../domain/repeat.ts'
import type { Sql } from '../dialect.ts'
import { all, find, type Program } from '../program.ts'
import type { StoreKey } from '../records.ts'
import { PURCHASE_IDENTITIES, PURCHASES, purchaseColumns } from '../tables.ts'
import { createEntries } from './entries.ts'
import type { CurrentColumns } from './fills.ts'
import type { MatchedRow, MatchedRows } from './records.ts'

/** Values that differ are no conflicts, and those that the stored purchase lacks are not filled. */
const COMPARISON = { comparison: 'product', mayFill: false } as const

/** Returns the program that compares rows of a file with the committed purchases of a store. */
export function matchProgram(sql: Sql, current: CurrentColumns, details: string) {
  const ofStore = 'WHERE s.account_id = ? AND s.store_id = ?'
  const findStore = `SELECT s.seq FROM stores s ${ofStore}`
  const findErased = `
    SELECT e.transaction_id, e.is_deleted FROM stores s JOIN erased_purchases e ON e.store = s.seq
    ${ofStore} AND e.transaction_id IN ${sql.each.text}`
  const findStored = `
    SELECT ${purchaseColumns(current)}, p.item
    FROM stores s ${sql.statusChanges.joinTransactions} ${details}
      AND s.account_id = ? AND s.store_id = ?`

  return function* (
    { account_id, store_id }: StoreKey,
    rows: readonly NewPurchase[],
  ): Program<MatchedRows> {
    const store = (yield* find(findStore, account_id, store_id))?.seq as number
    const { entries, unknown } = yield* createEntries(sql, store)(rows)
    const ids = entries.map(({ transaction_id }) => transaction_id)
    const erased = new Map(
      (yield* all(findErased, account_id, store_id, ids)).map((row) => [row.transaction_id, row]),
    )
    const stored = new Map(
      (yield* all(findStored, ids, account_id, store_id)).map((row) => [row.transaction_id, row]),
    )
    const rowAt = new Map(rows.map((row) => [row.line, row]))
    const matched = entries.map((entry): MatchedRow => {
      const { line, transaction_id } = entry
      const row = rowAt.get(line) as NewPurchase
      const { is_deleted } = erased.get(transaction_id) ?? {}
      const found = stored.get(transaction_id)
      if (!found) return { row, is_deleted: Boolean(is_deleted) }
      const known = { sku: found.item as number, is_erased: is_deleted !== undefined }
      const identity = PURCHASE_IDENTITIES.readInto(known, found)
      const repeat = compareRepeat(identity, entry, COMPARISON)
      return { row, stored: PURCHASES.readInto({ store_id }, found), repeat, is_deleted: false }
    })
    return { matched, unknown }
  }
}
