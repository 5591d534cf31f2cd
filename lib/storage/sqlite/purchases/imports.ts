import { fileTurns } from '../../../turns.ts'
import { verifyAuthority } from '../../sql/authority.ts'
import { run } from '../../sql/program.ts'
import { createEntries } from '../../sql/purchases/entries.ts'
import { assertOwned, type Leases, type NewImport } from '../../sql/purchases/imports.ts'
import { RECORD_IMPORT } from '../../sql/purchases/record.ts'
import type { AdvancedRows, PurchaseImport, RowOutcomes } from '../../sql/purchases/records.ts'
import { advanceStatuses } from '../../sql/purchases/repeats.ts'
import { NO_ROWS, sumAdvanced, sumOutcomes } from '../../sql/purchases/row-outcomes.ts'
import { IMPORT_DETAILS } from '../../sql/tables.ts'
import { recordWrite } from '../../sql/write.ts'
import type { Connection } from '../connection.ts'
import { assertDiskSpace } from '../disk-space.ts'
import { DIALECT, execute } from '../sql.ts'
import { applyChanges } from './changes.ts'
import { REPEATS } from './repeats.ts'
import { createRowWriter } from './row-writer.ts'

/** Runs work in a turn of the account of an import. The account may have several imports. */
function turnsOf({ account_id }: NewImport) {
  return <T>(work: () => T): Promise<T> => fileTurns.run(account_id, async () => work())
}

/** Runs each step of an import or undo in its own transaction and turn, if the disk has space. */
export function createSlices(db: Connection, lease: NewImport) {
  const inTurn = turnsOf(lease)
  return async <T>(work: () => T): Promise<T> => {
    db.assertInPlace()
    await assertDiskSpace(db)
    return db.lazyTransaction(() => {
      execute(db, assertOwned(DIALECT, lease))
      return work()
    }, inTurn)
  }
}

/**
 * Creates an import. Writes its rows directly into `purchases`, slice by slice. Reads leave the rows
 * out while the import has an owner. No lock is held between slices, and the commit changes only one
 * row.
 */
export function createImport(
  db: Connection,
  lease: NewImport,
  { keepLease, clearImport }: Leases,
): Omit<PurchaseImport, 'markUndelivered'> {
  const { import: seq, store } = lease
  const entriesOf = createEntries(DIALECT, store)
  const rowWriter = createRowWriter(db, lease, lease.first)
  const inTurn = turnsOf(lease)
  const runSlice = createSlices(db, lease)
  const release = keepLease(lease)
  let isFinished = true

  const indexWhile = async (isDue: () => boolean): Promise<RowOutcomes[]> => {
    const results: RowOutcomes[] = []
    while (isDue()) {
      if (!rowWriter.isSorted) await inTurn(rowWriter.sort)
      results.push(await runSlice(() => rowWriter.indexSlice()))
    }
    return results
  }

  return {
    async advance(rows) {
      const results: AdvancedRows[] = []
      const advanceSlice = () => {
        const end = performance.now() + ADVANCE_MS
        const slice: AdvancedRows[] = []
        do {
          const first = (results.length + slice.length) * ADVANCE_ROWS
          const step = rows.slice(first, first + ADVANCE_ROWS)
          slice.push(execute(db, advanceStatuses(REPEATS, lease, step)))
        } while (slice.length + results.length < steps && performance.now() < end)
        return slice
      }
      const steps = Math.ceil(rows.length / ADVANCE_ROWS)
      while (results.length < steps) results.push(...(await runSlice(advanceSlice)))
      return sumAdvanced(results)
    },
    async add(rows, rules) {
      isFinished = false
      const { entries, unknown } = execute(db, entriesOf(rows))
      const appended = await runSlice(() => rowWriter.append(entries, rules))
      // Indexes no more than needed, because `rows` stay in memory until `add` ends. Otherwise V8
      // would move them, and later rows with them, to its old generation (bench/: 25 MiB).
      const indexed = await indexWhile(() => rowWriter.isBlockFull)
      return sumOutcomes([{ ...NO_ROWS, unknown }, appended, ...indexed])
    },
    async finish() {
      const results = await indexWhile(() => rowWriter.isWaiting)
      isFinished = true
      return sumOutcomes(results)
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
      // Ignores failures, because the import is already committed. The next import then applies the
      // status changes.
      await applyChanges(db).catch(() => {})
    },
    async abort() {
      release()
      await clearImport(lease).finally(rowWriter.discard)
    },
  }
}

/**
 * A slice of status changes takes rows in steps, and ends after this time. 10 rows may be orders of
 * 1,000 purchases, which take some 10 ms.
 */
const ADVANCE_MS = 15
const ADVANCE_ROWS = 10

const COMMIT = `
  UPDATE imports SET owner = NULL, last_purchase = p.last
  FROM (SELECT coalesce(max(seq), 0) AS last FROM purchases) p WHERE imports.seq = ?`
