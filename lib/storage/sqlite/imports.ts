import { availableParallelism } from 'node:os'
import { setImmediate } from 'node:timers/promises'
import type { PurchaseImport, RowOutcomes } from '../records.ts'
import { NO_ROWS, sumOutcomes } from '../row-outcomes.ts'
import { verifyAuthority } from '../sql/authority.ts'
import { assertOwned, type Lease, type Leases } from '../sql/imports.ts'
import { createItemLookup } from '../sql/lookup.ts'
import { run } from '../sql/program.ts'
import { RECORD_IMPORT } from '../sql/record.ts'
import { recordWrite } from '../sql/write.ts'
import { IMPORT_DETAILS } from '../tables.ts'
import { applyChanges } from './changes.ts'
import type { Connection } from './connection.ts'
import { assertDiskSpace } from './diskspace.ts'
import { type ImportWriter, startImportWriter } from './import-writer.ts'
import { type PackedRows, packRows } from './packed-rows.ts'
import { advanceStatuses } from './repeats.ts'
import { createRowWriter } from './row-writer.ts'
import { DIALECT, execute } from './sql.ts'

// A smaller import ends sooner without the start of a thread.
const THREAD_ROWS = availableParallelism() > 1 ? 10_000 : Number.POSITIVE_INFINITY

/** Runs the steps of an import or undo. */
export function createSlices(db: Connection, lease: Lease) {
  /** Runs one step if the disk has space, then yields to the event loop. */
  const pace = async <T>(step: () => Promise<T>): Promise<T> => {
    db.assertInPlace()
    await assertDiskSpace(db)
    const result = await step()
    await setImmediate()
    return result
  }

  return {
    pace,
    /** Runs one step in its own transaction. */
    run: <T>(work: () => T): Promise<T> =>
      pace(() =>
        db.lazyTransaction(() => {
          execute(db, assertOwned(DIALECT, lease))
          return work()
        }),
      ),
  }
}

/**
 * Creates an import. Writes its rows directly into `purchases`, slice by slice. After `threadRows`
 * rows, another thread writes them. Reads leave the rows out while the import has an owner. No lock
 * is held between slices, and the commit changes only one row.
 */
export function createImport(
  db: Connection,
  lease: Lease,
  { keepLease, clearImport }: Leases,
  threadRows = THREAD_ROWS,
): PurchaseImport {
  const { import: seq, store } = lease
  const first = db.find('SELECT first_purchase FROM imports WHERE seq = ?', seq)?.first_purchase
  const itemsOf = createItemLookup(DIALECT, store)
  const rowWriter = createRowWriter(db, store, seq, first as number)
  const slices = createSlices(db, lease)
  const release = keepLease(lease)
  const index = () => {
    rowWriter.sort()
    return slices.run(() => rowWriter.indexSlice())
  }
  let rowsHere = 0
  let isFinished = true
  let starting: Promise<ImportWriter | undefined> | undefined
  let writer: ImportWriter | undefined

  const addHere = async (rows: PackedRows): Promise<RowOutcomes> => {
    rowsHere += rows.size
    const results = [await slices.run(() => rowWriter.append(rows))]
    // Indexes no more than needed, because `rows` stay in memory until `add` ends. Otherwise V8
    // would move them, and later rows with them, to its old generation (bench/: 25 MiB).
    while (rowWriter.isBlockFull) results.push(await index())
    return sumOutcomes(results)
  }

  /** Starts the thread when it is worth its start. Without threads, goes on in this one. */
  const changeToThread = async (): Promise<RowOutcomes> => {
    if (starting || rowsHere < threadRows) return NO_ROWS
    const result = finishHere()
    starting = result.then(() => startImportWriter(db, lease, rowWriter.next))
    writer = await starting
    return result
  }

  const endThread = async () => {
    const started = await starting?.catch(() => undefined)
    await started?.end()
  }

  const finishHere = async (): Promise<RowOutcomes> => {
    const results: RowOutcomes[] = []
    while (rowWriter.isWaiting) results.push(await index())
    return sumOutcomes(results)
  }

  return {
    advance: (rows) => slices.run(() => advanceStatuses(db, store, seq, rows)),
    async add(rows, comparison) {
      isFinished = false
      const items = execute(db, itemsOf(rows))
      const bad = rows.filter(({ sku }) => !items.has(sku))
      const good = bad.length === 0 ? rows : rows.filter(({ sku }) => items.has(sku))
      const unknown = bad.map(({ line }) => line)
      if (good.length === 0) return slices.run(() => ({ ...NO_ROWS, unknown }))
      const packed = packRows(store, good, items, comparison)
      const earlier = await changeToThread()
      const into = writer
      const result = await (into ? slices.pace(() => into.add(packed)) : addHere(packed))
      return sumOutcomes([{ ...NO_ROWS, unknown }, earlier, result])
    },
    async finish() {
      const into = writer
      const result = await (into ? slices.pace(() => into.finish()) : finishHere())
      isFinished = true
      return result
    },
    async commit(write = {}, details) {
      await db.transaction(() => {
        execute(db, assertOwned(DIALECT, lease))
        if (!isFinished) throw new TypeError('finish the import before its commit')
        execute(db, verifyAuthority(DIALECT, write.authority))
        db.run(COMMIT, seq)
        if (details) execute(db, run(RECORD_IMPORT, ...IMPORT_DETAILS.values(details), seq))
        execute(db, recordWrite(DIALECT, write))
      })
      release()
      await endThread()
      // Ignores failures, because the import is already committed. The next import then applies the
      // status changes.
      await applyChanges(db).catch(() => {})
    },
    async abort() {
      release()
      await endThread()
      await clearImport(lease).finally(rowWriter.discard)
    },
  }
}

const COMMIT = `
  UPDATE imports SET owner = NULL, last_purchase = p.last
  FROM (SELECT coalesce(max(seq), 0) AS last FROM purchases) p WHERE imports.seq = ?`
