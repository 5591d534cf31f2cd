import { randomUUID } from 'node:crypto'
import { verifyAuthority } from '../authority.ts'
import { createPause, type Pause } from '../cleanup.ts'
import { numberOf } from '../columns.ts'
import type { Sql } from '../dialect.ts'
import { find, type Program, run } from '../program.ts'
import type { StoreKey, WriteOptions } from '../records.ts'
import { recordWrite } from '../write.ts'
import type { StatusChangeDialect } from './dialect.ts'
import { assertOwned, type ImportDialect, type importLeases, type Lease } from './imports.ts'
import type { ImportUndo, UndoOutcome } from './records.ts'

/**
 * The rows that one statement of the check before an undo compares. SQLite compares them in 10 ms;
 * 300,000 at once would take 0.8 s.
 */
const SLICE_ROWS = 2_000

/**
 * Removes the rows that a finished import added, restores the statuses that it changed, and empties
 * what it filled. The import must have been committed with `details`. Resolves to undefined while an import into the
 * store runs. Does nothing if the import is already undone.
 *
 * One transaction restores the statuses, and sets `undone_at` and an owner, which hide the rows of
 * the import. Reads see either none of it or all of it. The rows are then deleted like those of an
 * abandoned import, by this call or by the cleanup.
 */
export function undoMethod(
  sql: Sql,
  dialect: ImportDialect,
  { insertImport, keepLease, clearImport }: ReturnType<typeof importLeases>,
) {
  const hide = `UPDATE imports SET owner = ?, alive_at = ${dialect.now}, undone_at = ? WHERE seq = ?`
  const refusals = refusalStatements(sql.statusChanges)

  /**
   * Finds the reason why an import cannot be undone, if there is one. Reads in slices. Nothing
   * changes meanwhile: the lease of the undo keeps imports out, and `isBeingUndone` recordings.
   */
  const findRefusal = async (
    seq: number,
    force: boolean,
    pause: Pause,
  ): Promise<UndoOutcome | undefined> => {
    const own = await count(refusals.own, seq, pause)
    const others = await count(refusals.others, seq, pause)
    const changed = own.changed + others.changed
    if (changed > 0) {
      const latest = await sql.read(find(ID_OF_IMPORT, Math.max(own.latest, others.latest)))
      return { outcome: 'changed', rows: changed, by: latest?.import_id as string }
    }
    if (force) return undefined
    const row = await sql.read(find(COUNT_SKIPPED, seq))
    const skipped = numberOf(row?.n) + others.skipped
    return skipped > 0 ? { outcome: 'skipped', rows: skipped } : undefined
  }

  /** Adds up the counts of a statement, slice by slice. */
  const count = async (statement: string, seq: number, pause: Pause) => {
    const sums = { changed: 0, skipped: 0, latest: 0 }
    for (let after = 0, rows = SLICE_ROWS; rows === SLICE_ROWS; ) {
      const slice = await sql.read(find(statement, seq, after, SLICE_ROWS))
      rows = numberOf(slice?.n)
      after = numberOf(slice?.last ?? after)
      sums.changed += numberOf(slice?.changed)
      sums.skipped += numberOf(slice?.skipped)
      sums.latest = Math.max(sums.latest, numberOf(slice?.latest ?? 0))
      await pause()
    }
    return sums
  }

  function* commit(
    lease: Lease,
    undone: Lease,
    undone_at: string,
    write: WriteOptions,
  ): Program<void> {
    yield* assertOwned(sql, lease)
    yield* dialect.commitUndo(lease, undone.import)
    yield* run(hide, undone.owner, undone_at, undone.import)
    yield* verifyAuthority(sql, write.authority)
    yield* recordWrite(sql, write)
  }

  return async (
    store: StoreKey,
    { import_id, undone_at, force }: ImportUndo,
    write: WriteOptions = {},
  ): Promise<UndoOutcome | undefined> => {
    const found = await sql.read(find(FIND_IMPORT, import_id, store.account_id, store.store_id))
    const seq = found?.seq as number
    const lease = await insertImport(store, `undo:${import_id}`, seq)
    if (!lease) return undefined
    const release = keepLease(lease)
    const undone = { ...lease, import: seq, owner: randomUUID() }
    const pause = createPause()
    let isCommitted = false

    try {
      if (await sql.read(find(IS_UNDONE, seq))) return UNDONE // by an earlier call
      const refusal = await findRefusal(seq, force, pause)
      if (refusal) return refusal
      await dialect.prepareUndo?.(lease, seq)
      await sql.write(() => commit(lease, undone, undone_at, write), {
        isAlone: true,
        isLong: true,
      })
      isCommitted = true
      return UNDONE
    } finally {
      release()
      // Ignores an error after the commit: the next import deletes the rows.
      if (isCommitted) await clearImport(undone, pause).catch(() => {})
      else await clearImport(lease, pause)
    }
  }
}

const UNDONE = { outcome: 'undone' } as const

const FIND_IMPORT = `
  SELECT i.seq FROM imports i JOIN stores s ON s.seq = i.store
  WHERE i.import_id = ? AND s.account_id = ? AND s.store_id = ?`
const IS_UNDONE = 'SELECT 1 FROM imports WHERE seq = ? AND undone_at IS NOT NULL'

const ID_OF_IMPORT = 'SELECT import_id FROM imports WHERE seq = ?'

/** Counts the rows that later imports and recordings skipped because this import had stored them. */
const COUNT_SKIPPED = 'SELECT coalesce(sum(rows), 0) AS n FROM import_overlaps WHERE earlier = ?'

/**
 * The statements that compare a slice of purchases. Their parameters are the import, the last
 * purchase of the slice before, and the most rows. `last` is the last purchase of this slice, `n` the
 * number of its rows, and `latest` the latest import that changed a status.
 */
function refusalStatements({
  isPurchaseOfChange,
  isChangedAgain,
  findOwnChanges,
}: StatusChangeDialect) {
  return {
    /** Counts the rows of the import whose status another one changed. */
    own: `
      SELECT count(*) AS n, max(c.purchase) AS last, 0 AS skipped,
        count(CASE WHEN c.latest IS NOT NULL THEN p.seq END) AS changed,
        max(CASE WHEN p.seq IS NOT NULL THEN c.latest END) AS latest
      FROM (${findOwnChanges}) c LEFT JOIN purchases p
        ON ${isPurchaseOfChange} AND p.import = c.own`,
    /**
     * Counts the purchases whose status this import changed: those whose status changed again, and
     * those of an import whose rows were skipped by one that was committed later.
     */
    others: `
      SELECT count(*) AS n, max(c.purchase) AS last,
        count(c.latest) AS changed, max(c.latest) AS latest,
        count(CASE WHEN EXISTS (
          SELECT 1 FROM purchases p CROSS JOIN import_overlaps l
          WHERE ${isPurchaseOfChange} AND l.earlier = p.import AND (
            l.import > c.import OR EXISTS (
              SELECT 1 FROM import_overlaps d
              WHERE d.import = l.import AND d.earlier = c.import))) THEN 1 END) AS skipped
      FROM (SELECT c.*, (
          SELECT max(l.import) FROM status_changes l WHERE ${isChangedAgain}
            AND c.before <> c.after AND l.before <> l.after) AS latest
        FROM (SELECT * FROM status_changes WHERE import = ? AND purchase > ?
          ORDER BY purchase LIMIT ?) c) c`,
  }
}

/**
 * The SQL condition that a running undo removes purchase `p` of import `i`, or restores its status.
 * Recordings then wait, because the undo has already compared the purchase.
 */
export const isBeingUndone = ({ isPurchaseOfChange }: StatusChangeDialect) => `
  EXISTS (SELECT 1 FROM imports u WHERE u.store = i.store AND u.owner IS NOT NULL
    AND (u.undoes = p.import OR EXISTS (
      SELECT 1 FROM status_changes c WHERE c.import = u.undoes AND ${isPurchaseOfChange})))`
