import { availableParallelism } from 'node:os'
import { setImmediate } from 'node:timers/promises'
import { RECORDED_GAP } from '../recorded.ts'
import type { PurchaseImport, StagedRows } from '../records.ts'
import { verifyAuthority } from '../sql/authority.ts'
import { createItemLookup } from '../sql/lookup.ts'
import { run } from '../sql/program.ts'
import { RECORD_IMPORT } from '../sql/record.ts'
import { recordWrite } from '../sql/write.ts'
import { NOTHING_STAGED, sumStaged } from '../staged.ts'
import { IMPORT_DETAILS } from '../tables.ts'
import { applyChanges } from './changes.ts'
import type { Connection } from './connection.ts'
import { createDiskSpaceCheck } from './diskspace.ts'
import { erasePurchases } from './erasure.ts'
import { type ImportWriter, startImportWriter } from './import-writer.ts'
import { assertOwned, clearImport, type ImportRow, isAlive, OWNER, renewLease } from './leases.ts'
import { type PackedRows, packRows } from './packed-rows.ts'
import { stageStatuses } from './repeats.ts'
import { DIALECT, execute } from './sql.ts'
import { createStaging } from './staging.ts'

const HEARTBEAT_MS = 5_000

// A smaller import ends sooner without the start of a thread.
const THREAD_ROWS = availableParallelism() > 1 ? 10_000 : Number.POSITIVE_INFINITY

/**
 * Starts an import. Writes its rows directly into `purchases`, slice by slice. After `threadRows`
 * rows, another thread writes them. Reads leave the rows out while the import has an owner. No lock
 * is held between slices, and the commit changes only one row. A unique index on `imports` allows
 * one import into a store at a time.
 */
export async function openImport(
  db: Connection,
  store: number,
  import_id: string,
  threadRows = THREAD_ROWS,
): Promise<PurchaseImport | undefined> {
  const row = await insertImport(db, store, import_id)
  return row && createImport(db, row, threadRows)
}

/**
 * Inserts the row of an import that begins, or of an undo, with this process as its owner. Returns
 * undefined while another import or undo runs in the store.
 */
export async function insertImport(
  db: Connection,
  store: number,
  import_id: string,
  undoes: number | null = null,
): Promise<ImportRow | undefined> {
  const other = db.find(FIND_OTHER, store) as unknown as ImportRow | undefined
  if (other) {
    if (isAlive(other)) return undefined
    await clearImport(db, other)
  }
  await applyChanges(db)
  const now = Date.now()
  const inserted = await db.transaction(() =>
    db.run(INSERT, import_id, store, OWNER, now, store, new Date(now).toISOString(), undoes),
  )
  if (inserted === 0) return undefined
  return db.find('SELECT * FROM imports WHERE import_id = ?', import_id) as unknown as ImportRow
}

const FIND_OTHER = 'SELECT * FROM imports WHERE store = ? AND owner IS NOT NULL'

const INSERT = `
  INSERT INTO imports (import_id, store, owner, alive_at, first_purchase, created_at, undoes)
  VALUES (?, ?, ?, ?, ${RECORDED_GAP} + 1 + max(
    (SELECT coalesce(max(seq), 0) FROM purchases),
    (SELECT coalesce(max(last_purchase), 0) FROM imports WHERE store = ?),
    (SELECT coalesce(max(first_purchase), 0) FROM imports WHERE owner IS NOT NULL)), ?, ?)
  ON CONFLICT (store) WHERE owner IS NOT NULL DO NOTHING`

/** Keeps the lease of a running import or undo, and runs its steps. */
export function createSlices(db: Connection, row: ImportRow) {
  const { seq } = row
  // Ignores failures: the next heartbeat tries again, and the next slice notices a lost lease.
  const renew = () => void db.write(() => renewLease(db, seq, OWNER)).catch(() => {})
  const heartbeat = setInterval(renew, HEARTBEAT_MS).unref()
  const assertDiskSpace = createDiskSpaceCheck(db)

  /** Runs one step if the disk has space, then yields to the event loop. */
  const pace = async <T>(step: () => Promise<T>): Promise<T> => {
    db.assertInPlace()
    await assertDiskSpace()
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
          assertOwned(db, seq)
          return work()
        }),
      ),
    /** Ends the lease of a committed import. */
    release() {
      clearInterval(heartbeat)
    },
    async abort() {
      clearInterval(heartbeat)
      await clearImport(db, { ...row, owner: OWNER })
    },
  }
}

function createImport(db: Connection, row: ImportRow, threadRows: number): PurchaseImport {
  const { seq } = row
  const itemsOf = createItemLookup(DIALECT, row.store)
  const staging = createStaging(db, row.store, seq, row.first_purchase)
  const slices = createSlices(db, row)
  const index = () => slices.run(() => staging.indexSlice())
  let rowsHere = 0
  let isFinished = true
  let starting: Promise<ImportWriter | undefined> | undefined
  let writer: ImportWriter | undefined

  const stageHere = async (rows: PackedRows): Promise<StagedRows> => {
    rowsHere += rows.size
    const results = [await slices.run(() => staging.append(rows))]
    // Indexes no more than needed, because `rows` stay in memory until `stage` ends. Otherwise V8
    // would move them, and later rows with them, to its old generation (bench/: 25 MiB).
    while (staging.isBlockFull) results.push(await index())
    return sumStaged(results)
  }

  /** Starts the thread when it is worth its start. Without threads, goes on in this one. */
  const changeToThread = async (): Promise<StagedRows> => {
    if (starting || rowsHere < threadRows) return NOTHING_STAGED
    const result = finishHere()
    starting = result.then(() => startImportWriter(db, row, staging.next))
    writer = await starting
    return result
  }

  const endThread = async () => {
    const started = await starting?.catch(() => undefined)
    await started?.end()
  }

  const finishHere = async (): Promise<StagedRows> => {
    const results: StagedRows[] = []
    while (staging.isWaiting) results.push(await index())
    return sumStaged(results)
  }

  return {
    erase: (erasure, write = {}) =>
      slices.run(() => {
        execute(db, verifyAuthority(DIALECT, write.authority))
        const erased = erasePurchases(db, row.store, erasure)
        execute(db, recordWrite(DIALECT, write))
        return erased
      }),
    advance: (rows) => slices.run(() => stageStatuses(db, row.store, seq, rows)),
    async stage(rows, comparison) {
      isFinished = false
      const items = execute(db, itemsOf(rows))
      const bad = rows.filter(({ sku }) => !items.has(sku))
      const good = bad.length === 0 ? rows : rows.filter(({ sku }) => items.has(sku))
      const unknown = bad.map(({ line }) => line)
      if (good.length === 0) return slices.run(() => ({ ...NOTHING_STAGED, unknown }))
      const packed = packRows(row.store, good, items, comparison)
      const earlier = await changeToThread()
      const into = writer
      const result = await (into ? slices.pace(() => into.stage(packed)) : stageHere(packed))
      return sumStaged([{ ...NOTHING_STAGED, unknown }, earlier, result])
    },
    async finish() {
      const into = writer
      const result = await (into ? slices.pace(() => into.finish()) : finishHere())
      isFinished = true
      return result
    },
    async commit(write = {}, details) {
      await db.transaction(() => {
        assertOwned(db, seq)
        if (!isFinished) throw new TypeError('finish the import before its commit')
        execute(db, verifyAuthority(DIALECT, write.authority))
        db.run(COMMIT, seq)
        if (details) execute(db, run(RECORD_IMPORT, ...IMPORT_DETAILS.values(details), seq))
        execute(db, recordWrite(DIALECT, write))
      })
      slices.release()
      await endThread()
      // Ignores failures, because the import is already committed. The next import then applies the
      // status changes.
      await applyChanges(db).catch(() => {})
    },
    async abort() {
      await endThread()
      await slices.abort()
    },
  }
}

const COMMIT = `
  UPDATE imports SET owner = NULL, last_purchase = p.last
  FROM (SELECT coalesce(max(seq), 0) AS last FROM purchases) p WHERE imports.seq = ?`
