import { verifyAuthority } from '../../sql/authority.ts'
import { columnAfter, settingAll } from '../../sql/purchases/fills.ts'
import { assertOwned, type Leases, type NewImport } from '../../sql/purchases/imports.ts'
import { RECORD_IMPORT } from '../../sql/purchases/record.ts'
import type { PurchaseImport } from '../../sql/purchases/records.ts'
import { IMPORT_DETAILS } from '../../sql/tables.ts'
import { recordWrite } from '../../sql/write.ts'
import { type Database, LONG_MS } from '../connection.ts'
import { DIALECT, execute } from '../sql.ts'
import { createRowWriter } from './row-writer.ts'

const MANY_ROWS = 10_000

/**
 * Creates an import. Writes its rows directly into `purchases`, block by block. Reads leave these
 * rows out, because their `seq` is above `last_purchase` of the store. The commit raises
 * `last_purchase`. No lock is held between blocks.
 */
export function createImport(
  db: Database,
  lease: NewImport,
  { keepLease, clearImport }: Leases,
): Omit<PurchaseImport, 'markUndelivered'> {
  const rowWriter = createRowWriter(db, lease, lease.first)
  const release = keepLease(lease)

  return {
    add: rowWriter.append,
    advance: rowWriter.advance,
    finish: () => rowWriter.finish(),
    async commit(write = {}, details) {
      if (rowWriter.isWaiting) throw new TypeError('finish the import before its commit')
      const last = rowWriter.lastPurchase
      await db.transaction(async (tx) => {
        await execute(tx, assertOwned(DIALECT, lease))
        await tx.run(RECORD_CHANGES, lease.store, lease.import)
        await tx.run(APPLY_CHANGES, lease.store)
        await tx.run('DELETE FROM purchase_changes WHERE store = ?', lease.store)
        await tx.run(COMMIT, last, lease.import)
        if (details) await tx.run(RECORD_IMPORT, ...IMPORT_DETAILS.values(details), lease.import)
        // Verifies the authority after the statements above, which may take minutes: once it is
        // verified, revocations have to wait for the commit.
        await execute(tx, verifyAuthority(DIALECT, write.authority))
        // Without rows, leaves the counter where recordings have raised it.
        if (last >= lease.first) await tx.run(RAISE_LAST, last, lease.store)
        await execute(tx, recordWrite(DIALECT, write))
      }, LONG_MS)
      release()
      if (last - lease.first >= MANY_ROWS) await analyze(db)
    },
    async abort() {
      release()
      await rowWriter.settle()
      await clearImport(lease)
    },
  }
}

const COMMIT = 'UPDATE imports SET owner = NULL, last_purchase = ? WHERE seq = ?'

const RAISE_LAST = `
  UPDATE stores SET last_purchase = greatest(last_purchase, ?) WHERE seq = ?`

/** Leaves out the rows of the import itself: its undo deletes them. */
const RECORD_CHANGES = `
  INSERT INTO status_changes (store, import, purchase, before, after, filled)
  SELECT c.store, $2, c.purchase, p.status, c.status, c.filled FROM purchase_changes c
  JOIN purchases p ON p.store = c.store AND p.seq = c.purchase
  WHERE c.store = $1 AND p.import <> $2`

const APPLY_CHANGES = `
  UPDATE purchases p SET status = c.status, ${settingAll(columnAfter)} FROM purchase_changes c
  WHERE c.store = ? AND p.store = c.store AND p.seq = c.purchase`

// Updates the planner's statistics. The server itself updates them only after a minute or more.
// Until then, its plans are for a smaller table, and scan all purchases. Ignores failures, because
// the import is already committed.
async function analyze(db: Database): Promise<void> {
  await db.run('ANALYZE purchases').catch(() => {})
}
