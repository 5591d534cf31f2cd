import { verifyAuthority } from '../authority.ts'
import { createPause } from '../cleanup.ts'
import { text } from '../columns.ts'
import type { Sql } from '../dialect.ts'
import { all, type Program, run } from '../program.ts'
import type { StoreKey } from '../records.ts'
import { assertOwned, type importLeases, type Lease } from './imports.ts'
import { ALL, type PurchaseDialect } from './purchases.ts'
import type { Erasure } from './records.ts'

/** Erasing 100,000 purchases takes SQLite 5 s, and blocks the event loop for 0.1 s at most. */
const BATCH = 500

export function erasureMethod(
  sql: Sql,
  { listed, eraseRows }: PurchaseDialect,
  { insertImport, keepLease, clearImport }: ReturnType<typeof importLeases>,
) {
  const erased = sql.rows({ transaction_id: text() })
  const mark = `
    INSERT INTO erased_purchases (store, transaction_id, is_deleted)
    SELECT ?, r.transaction_id, ? FROM ${erased} r WHERE true
    ON CONFLICT (store, transaction_id) DO UPDATE SET is_deleted = excluded.is_deleted`
  // SQLite may give the number of a deleted purchase to a new one, which would wait for delivery.
  const stopWaiting = `
    DELETE FROM deliveries WHERE store = ? AND purchase IS NOT NULL
      AND transaction_id IN (SELECT r.transaction_id FROM ${erased} r)`

  function* eraseBatch(lease: Lease, key: StoreKey, erasure: Erasure): Program<number> {
    const { user_id, deletes, authority } = erasure
    yield* assertOwned(sql, lease) // first: all that lock an import lock it before its store
    yield* verifyAuthority(sql, authority)
    const found = listed('p.seq AS seq, p.transaction_id', key, { user_id }, ALL)
    const rows = yield* all(`${found.sql} LIMIT ${BATCH}`, ...found.values)
    if (rows.length === 0) return 0
    yield* run(mark, lease.store, deletes, rows)
    if (deletes) yield* run(stopWaiting, lease.store, rows)
    yield* eraseRows(lease.store, user_id, rows, deletes)
    return rows.length
  }

  return async (key: StoreKey, import_id: string, erasure: Erasure): Promise<true | undefined> => {
    const lease = await insertImport(key, import_id)
    if (!lease) return undefined
    const release = keepLease(lease)
    const pause = createPause()
    try {
      for (;;) {
        erasure.signal?.throwIfAborted()
        const erased = await sql.write(() => eraseBatch(lease, key, erasure), LAZY)
        if (erased === 0) return true
        erasure.onErased?.(erased)
        await pause()
      }
    } finally {
      release()
      await clearImport(lease, pause)
    }
  }
}

const LAZY = { isLazy: true } as const
