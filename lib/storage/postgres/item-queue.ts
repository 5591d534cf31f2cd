import type { AuditEntry } from '../../domain/audit.ts'
import type { Item } from '../../domain/item.ts'
import { TillError } from '../../errors.ts'
import { lockOf } from '../sql/authority.ts'
import type { OwnItemMethods } from '../sql/items.ts'
import { AUDIT, ITEM_ROWS } from '../tables.ts'
import type { Database } from './connection.ts'
import { execute, FIND_LOCKED_KEY, insertAudited } from './sql.ts'
import { insertionOfMany } from './statements.ts'

interface Waiting {
  readonly item: Item
  readonly audit: AuditEntry
  resolve(isInserted: boolean): void
  reject(error: unknown): void
}

/** The maximum number of items in a statement. An item may have 64 KiB of metadata. */
const BATCH = 64

/**
 * Inserts items with few statements. While a statement for an account key runs, further items of
 * that key wait. The next statement inserts all of them, verifies the key once and commits once. If
 * no statement runs, an item is sent immediately.
 */
export function createItemQueue(db: Database): Required<OwnItemMethods>['queueItem'] {
  const queues = new Map<string, Waiting[]>()

  /** A statement for a single item takes 0.7 of the CPU time of one for several items. */
  const insertOne = async (key_id: string, { item, audit, resolve, reject }: Waiting) => {
    try {
      resolve(await execute(db, insertAudited({ audit, authority: { key_id } }, ITEM_ROWS, item)))
    } catch (error) {
      reject(error)
    }
  }

  const insert = async (key_id: string, batch: readonly Waiting[]) => {
    const [first, second] = batch
    if (first && !second) return insertOne(key_id, first)
    try {
      const items = batch.map(({ item }) => item)
      const entries = batch.map(({ audit }, i) => ({ ...audit, item: items[i]?.id }))
      const rows = await db.write(INSERT, lockOf.key(key_id), key_id, items, entries)
      const inserted = new Set(rows.map(({ id }) => id))
      for (const { item, resolve } of batch) resolve(inserted.has(item.id))
    } catch (error) {
      // A TillError, such as `storage_unavailable`, concerns all items. Any other error may come
      // from one item, so each item is then inserted alone.
      if (error instanceof TillError) for (const { reject } of batch) reject(error)
      else for (const each of batch) await insertOne(key_id, each)
    }
  }

  const run = async (key_id: string, queue: Waiting[]) => {
    while (queue.length > 0) await insert(key_id, queue.splice(0, BATCH).sort(byName))
    queues.delete(key_id)
  }

  return (key_id, item, audit) =>
    new Promise((resolve, reject) => {
      const waiting = { item, audit, resolve, reject }
      const queue = queues.get(key_id)
      if (queue) queue.push(waiting)
      else {
        const own = [waiting]
        queues.set(key_id, own)
        void run(key_id, own)
      }
    })
}

/** Sorts the items, to prevent a deadlock of two servers that insert the same names. */
function byName({ item: a }: Waiting, { item: b }: Waiting): number {
  const [first, second] = [a, b].map(({ store_id, name }) => `${store_id} ${name}`) as [
    string,
    string,
  ]
  return first < second ? -1 : Number(first > second)
}

const INSERT = `
  WITH authority AS (${FIND_LOCKED_KEY}),
    changed AS (${insertionOfMany(ITEM_ROWS, { under: 'authority' })} RETURNING id),
    audited AS (${AUDIT.insertionFrom(
      `changed JOIN json_to_recordset(?) AS a (${AUDIT.typedFields}, item text) ON a.item = changed.id`,
      (field) => `a.${field}`,
    )})
  SELECT id FROM changed`
