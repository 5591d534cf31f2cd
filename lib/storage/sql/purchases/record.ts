import type { Authority } from '../../../domain/authority.ts'
import type { NewPurchase, PurchaseToRecord } from '../../../domain/purchase.ts'
import { compareRepeat } from '../../../domain/repeat.ts'
import { numberOf, type Row } from '../columns.ts'
import type { Sql } from '../dialect.ts'
import { find, type Program, run } from '../program.ts'
import type { StoreKey, WriteOptions } from '../records.ts'
import { IMPORT_DETAILS, PURCHASE_IDENTITIES, PURCHASES } from '../tables.ts'
import { recordWrite } from '../write.ts'
import type { PurchaseChange } from './fills.ts'
import type { ImportDialect } from './imports.ts'
import { IS_LISTED, recordedDetails, storedFills, storedPurchase } from './recorded.ts'
import type { RecordedRow } from './records.ts'

/** The steps of `recordPurchase` that differ between the databases. */
export interface RecordDialect {
  /**
   * Verifies the authority, and keeps imports from writing until the transaction ends. Returns the
   * `seq` of the store, or undefined if an import has just begun.
   */
  lockStore(store: StoreKey, authority: Authority | undefined): Program<number | undefined>
  /**
   * Finds the stored purchase with a transaction id. `is_busy`: a running import has added or
   * changed it, or a running undo removes or restores it. `changed_by` is the import of a committed
   * change that is not yet in `status_changes`. The parameters are the store and the id.
   */
  readonly findTransaction: string
  /**
   * Finds the same of the purchases that a transaction id stands for: at most 101. `is_waiting`: the
   * purchase is not delivered yet. The parameters are those of `joinOrder`, then the store.
   */
  readonly findOrder: string
  /** Takes the next `seq` of a purchase, unless a running import has reserved it for its rows. */
  nextPurchase(store: number): Program<number | undefined>
  /** Inserts a purchase, which is not delivered yet. */
  insertRow(
    store: number,
    added: number,
    seq: number,
    row: NewPurchase,
    item: number,
  ): Program<void>
  /**
   * Changes a purchase, and records the change for an undo. If `isUndelivered`, a purchase that may
   * be delivered and was not delivered before is not delivered yet.
   */
  changePurchase(
    store: number,
    updated: number,
    purchase: number,
    change: PurchaseChange,
    isUndelivered: boolean,
  ): Program<void>
}

export function recordMethod(
  sql: Sql,
  dialect: RecordDialect,
  imports: ImportDialect,
  clearAbandoned: () => Promise<unknown>,
) {
  const insertImport = importInsertion(imports)
  const noteRepeat = repeatNote(sql)

  function* recordRow(
    { store_id }: StoreKey,
    store: number,
    import_id: string,
    row: PurchaseToRecord,
    options: WriteOptions,
  ): Program<RecordedRow | undefined> {
    const item = yield* find(FIND_ITEM, row.transaction_id, store, row.sku)
    if (!item) return { outcome: 'unknown' }
    const { is_deleted } = item
    if (is_deleted) return { outcome: 'skipped' }
    const found = yield* find(dialect.findTransaction, store, row.transaction_id)
    if (!found) {
      const seq = yield* dialect.nextPurchase(store)
      if (seq === undefined) return undefined
      const added = yield* insertImport(store, import_id, seq, [row], options)
      yield* dialect.insertRow(store, added, seq, row, item.seq as number)
      return { outcome: 'added', purchase: storedPurchase(row, store_id, import_id) }
    }
    if (found.is_busy) return undefined
    const stored = PURCHASES.readInto({ store_id }, found)
    const known = { sku: stored.sku, is_erased: is_deleted !== null }
    const repeat = compareRepeat(PURCHASE_IDENTITIES.readInto(known, found), row)
    if (repeat.outcome === 'conflict') return repeat
    if (row.is_grant && !stored.is_grant) return { outcome: 'conflict', field: 'is_grant' }
    if (stored.is_grant && row.price) return { outcome: 'conflict', field: 'price' }
    if (repeat.outcome === 'skipped') {
      yield* noteRepeat(store, found)
      return { outcome: 'skipped', purchase: stored }
    }
    const { status, fills } = repeat
    const isAdvance = status !== stored.status
    const updated = yield* insertImport(store, import_id, undefined, [row], options)
    const filled = isAdvance ? null : (found.import as number)
    yield* run(NOTE_UPDATE, updated, store, updated, filled)
    const isUndelivered = isAdvance || fills.user_id !== undefined
    const seq = numberOf(found.seq)
    yield* dialect.changePurchase(store, updated, seq, { status, fills }, isUndelivered)
    return { outcome: 'updated', purchase: { ...stored, status, ...storedFills(fills) } }
  }

  return async (
    key: StoreKey,
    import_id: string,
    row: PurchaseToRecord,
    options: WriteOptions = {},
  ): Promise<RecordedRow | undefined> => {
    const result = await sql.write(function* (): Program<RecordedRow | undefined> {
      const store = yield* dialect.lockStore(key, options.authority)
      if (store === undefined) return undefined
      const recorded = yield* recordRow(key, store, import_id, row, options)
      const outcome = recorded?.outcome
      if (outcome === 'added' || outcome === 'updated') yield* recordWrite(sql, options)
      return recorded
    }, key)
    // An import whose process died blocks this purchase until that import is deleted.
    if (!result) clearAbandoned().catch(() => {})
    return result
  }
}

/**
 * Returns the program that inserts the import of a purchase that is added with a `seq`, or of
 * purchases whose status changes.
 */
export function importInsertion({ columns, values }: ImportDialect) {
  const insert = `
    INSERT INTO imports (import_id, store, first_purchase, last_purchase${columns},
      ${IMPORT_DETAILS.list})
    VALUES (?, ?, ?, ?${values}, ${IMPORT_DETAILS.names.map(() => '?').join()}) RETURNING seq`
  return function* (
    store: number,
    import_id: string,
    seq: number | undefined,
    rows: Parameters<typeof recordedDetails>[0],
    options: WriteOptions,
  ): Program<number> {
    const [first, last] = seq === undefined ? [1, 0] : [seq, seq]
    const details = IMPORT_DETAILS.values(recordedDetails(rows, seq !== undefined, options))
    return (yield* find(insert, import_id, store, first, last, ...details))?.seq as number
  }
}

/**
 * Returns the program that notes a repeated purchase: adds 1 to the skipped rows of the imports
 * that added it or changed its status. Leaves out other recordings, which a caller may have
 * repeated.
 */
export function repeatNote({ statusChanges }: Sql) {
  const { joinTransaction, isPurchaseOfChange } = statusChanges
  const note = `
    INSERT INTO import_overlaps AS o (import, earlier, rows)
    SELECT i.seq, i.seq, 1 FROM imports i WHERE ${IS_LISTED} AND i.seq IN (
      SELECT CAST(? AS integer) UNION ALL SELECT CAST(? AS integer)
      UNION ALL SELECT c.import FROM stores s ${joinTransaction}
        JOIN status_changes c ON ${isPurchaseOfChange} WHERE s.seq = ?)
    ON CONFLICT (import, earlier) DO UPDATE SET rows = o.rows + 1`
  return function* (store: number, found: Row): Program<void> {
    const imports = [found.import as number, (found.changed_by as number | null) ?? null]
    yield* run(note, ...imports, found.transaction_id as string, store)
  }
}

/** Finds an item by its SKU. If the purchase was erased, `is_deleted` is not null. */
const FIND_ITEM = `
  SELECT seq, (SELECT is_deleted FROM erased_purchases e
    WHERE e.store = items.store AND e.transaction_id = ?) AS is_deleted
  FROM items WHERE store = ? AND name = ?`

export const RECORD_IMPORT = IMPORT_DETAILS.updateWhere('seq = ?')

/**
 * Notes that the running import, if there is one, is committed later than an update of a purchase: it
 * may skip a row because of the update. The parameters are the import of the update, the store, the
 * import of the update again, and the import whose purchase it only fills, or null.
 */
export const NOTE_UPDATE = `
  INSERT INTO import_overlaps (import, earlier, rows)
  SELECT i.seq, CAST(? AS integer), 0 FROM imports i
  WHERE i.store = ? AND i.owner IS NOT NULL AND i.undoes IS NULL
  UNION ALL SELECT CAST(? AS integer), i.seq, 1 FROM imports i WHERE i.seq = CAST(? AS integer)`
