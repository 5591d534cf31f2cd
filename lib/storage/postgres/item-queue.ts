import type { Item } from '../../domain/item.ts'
import { TillError } from '../../errors.ts'
import { lockOf } from '../sql/authority.ts'
import type { Table } from '../sql/columns.ts'
import type { OwnItemMethods } from '../sql/items.ts'
import type { AuditedWrite } from '../sql/records.ts'
import { AUDIT, IDEMPOTENCY_RECORDS, ITEM_ROWS } from '../sql/tables.ts'
import type { Database } from './connection.ts'
import { isUniqueViolation, type PostgresValue } from './drivers.ts'
import { DELETE_EXPIRED, FIND_LOCKED_KEY } from './sql.ts'
import { insertionOfMany } from './statements.ts'

interface Waiting {
  readonly item: Item
  readonly write: AuditedWrite
  resolve(isInserted: boolean): void
  reject(error: unknown): void
}

/** The maximum number of items in a statement. An item may have 64 KiB of metadata. */
const BATCH = 64

/**
 * Inserts items with few statements. While a statement for an account key runs, further items of
 * that key wait. The next statement inserts all of them, verifies the key once and commits once. If
 * no statement runs, an item is sent immediately. Without a key, items wait for those of their
 * account.
 */
export function createItemQueue(db: Database): Required<OwnItemMethods>['insertAlone'] {
  const queues = new Map<string, Waiting[]>()

  const insert = async (batch: readonly Waiting[]): Promise<void> => {
    try {
      const rows = await db.write(insertionOf(batch), batch[0]?.item.account_id)
      if (rows.length > 0) db.notice(true)
      const isAll = rows.length === batch.length
      const inserted = new Set(rows.map(({ id }) => id))
      for (const { item, resolve } of batch) resolve(isAll || inserted.has(item.id))
    } catch (error) {
      // A TillError, such as `storage_unavailable`, concerns all items. Any other error may come
      // from one item, so each item is then inserted alone.
      if (batch.length > 1 && !(error instanceof TillError)) {
        for (const each of batch) await insert([each])
        return
      }
      const isRepeat = isUniqueViolation(error)
      for (const { resolve, reject } of batch) isRepeat ? resolve(false) : reject(error)
    }
  }

  const run = async (name: string, queue: Waiting[]) => {
    while (queue.length > 0) await insert(queue.splice(0, BATCH).sort(byName))
    queues.delete(name)
  }

  return (item, write) =>
    new Promise((resolve, reject) => {
      const name = write.authority?.key_id ?? item.account_id
      const waiting = { item, write, resolve, reject }
      const queue = queues.get(name)
      if (queue) queue.push(waiting)
      else {
        const own = [waiting]
        queues.set(name, own)
        void run(name, own)
      }
    })
}

/** Sorts the items, to prevent a deadlock of two servers that insert the same names. */
function byName(a: Waiting, b: Waiting): number {
  const [first, second] = [nameOf(a), nameOf(b)]
  return first < second ? -1 : Number(first > second)
}

const nameOf = ({ item: { store_id, name } }: Waiting) => `${store_id} ${name}`

/** Returns the statement for a batch of one account key, and its values. */
function insertionOf(batch: readonly Waiting[]): [sql: string, ...values: PostgresValue[]] {
  // All writes of the queue need the same scopes.
  const { key_id, scopes = [] } = batch[0]?.write.authority ?? {}
  const items = batch.map(({ item }) => item)
  const entries = batch.map(({ item, write }) => ({ ...write.audit, item: item.id }))
  const records = batch.flatMap(({ item, write: { idempotency } }) =>
    idempotency ? { ...idempotency, item: item.id } : [],
  )
  const isOne = batch.length === 1
  const valuesOf = <R>(table: Table<R>, all: readonly R[]) =>
    (isOne ? table.values(all[0] as R) : [all]) as PostgresValue[]
  const { one, many } = key_id === undefined ? FREE : KEYED
  const { plain, recorded } = isOne ? one : many
  const [first] = records
  return [
    first ? recorded : plain,
    ...(key_id === undefined ? [] : [lockOf.key(key_id), key_id, scopes]),
    ...valuesOf(ITEM_ROWS, items),
    ...(first ? [first.created_at, ...valuesOf(IDEMPOTENCY_RECORDS, records)] : []),
    ...valuesOf(AUDIT, entries),
  ]
}

/**
 * The statements that insert one item or many, without and with idempotency records. They have no
 * ON CONFLICT for a known idempotency key. Its error undoes the insertion of the item.
 */
function insertionsUnder(authority: string) {
  const insertion = (
    items: string,
    from: <R>(table: Table<R>) => string,
    end: (audited: string) => string,
  ) => {
    const changed = `WITH authority AS (${authority}), changed AS (${items} RETURNING id)`
    const recorded = `${changed}, expired AS (${DELETE_EXPIRED}),
      recorded AS (${from(IDEMPOTENCY_RECORDS)})`
    const audited = end(from(AUDIT))
    return { plain: changed + audited, recorded: recorded + audited }
  }
  return {
    // A statement for a single item takes 0.7 of the CPU time of one for several items.
    one: insertion(
      ITEM_ROWS.insertionFrom('authority'),
      (table) => table.insertionFrom('changed'),
      (audited) => ` ${audited} RETURNING 1`,
    ),
    many: insertion(
      insertionOfMany(ITEM_ROWS, { under: 'authority' }),
      ({ typedFields, insertionFrom }) =>
        insertionFrom(
          `changed JOIN json_to_recordset(?) AS r (${typedFields}, item text) ON r.item = changed.id`,
          (field) => `r.${field}`,
        ),
      (audited) => `, audited AS (${audited}) SELECT id FROM changed`,
    ),
  }
}

const KEYED = insertionsUnder(FIND_LOCKED_KEY)
const FREE = insertionsUnder('SELECT 1')
