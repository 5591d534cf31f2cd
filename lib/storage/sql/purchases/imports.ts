import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { TillError } from '../../../errors.ts'
import type { Pause } from '../cleanup.ts'
import { numberOf, type Row } from '../columns.ts'
import type { Dialect, Sql } from '../dialect.ts'
import { all, find, type Program, run } from '../program.ts'
import type { StoreKey } from '../records.ts'
import type { PurchaseImport } from './records.ts'

/** The right to write into a running import or undo. */
export interface Lease {
  /** The `seq` of the import. */
  readonly import: number
  readonly store: number
  /** The name of the owner. Each new owner writes a new name. */
  readonly owner: string
}

/** An import that has begun. */
export interface NewImport extends Lease {
  readonly account_id: string
  /** The `seq` of its first row. Purchases that are recorded meanwhile have lower ones. */
  readonly first: number
}

/** The parts of imports that differ between the databases. */
export interface ImportDialect {
  /** The SQL for the time of a heartbeat, and for a time in the past. */
  readonly now: string
  readonly longAgo: string
  /** The SQL condition that an import `i` has lost its lease. */
  readonly isExpired: string
  /** Selects only an import that has lost its lease and whose commit is not running. */
  readonly ifExpired: string
  /** Begin with a comma: the further columns of each import, and the SQL of their values. */
  readonly columns: string
  readonly values: string
  /** The SQL for the `first_purchase` of an import that begins in a store `s`. */
  readonly first: string
  /** Locks the store `s` until the import is inserted: `first` must stay true until then. */
  readonly lock: string
  /** Moves waiting status changes of committed imports into the purchases. */
  applyChanges?(pause?: Pause): Promise<void>
  /**
   * Begins with AND: the SQL condition that no status changes wait in a store `s`. An import begins
   * only then, and until it ends, no other import into the store commits changes.
   */
  readonly ifApplied: string
  /** Finds the `seq` of the `first` and `last` row that an import may have, and `is_undone`. */
  readonly findRows: string
  /**
   * Deletes a slice of an import: its rows from one `seq` to another, then all else that refers to
   * it. Resolves to the next `from`. Resolves to undefined if nothing is left, or another owner has
   * the import.
   */
  deleteSlice(lease: Lease, from: number, last: number): Promise<number | undefined>
  /** Further statements that delete parts of an import. Their parameter is its `seq`. */
  readonly deletions: readonly string[]
  createImport(started: NewImport, leases: Leases): Omit<PurchaseImport, 'markUndelivered'>
  /** Prepares the commit of an undo. */
  prepareUndo?(lease: NewImport, undone: number): Promise<void>
  /** Restores the statuses that an import changed, and ends the lease of the undo. */
  commitUndo(lease: Lease, undone: number): Program<void>
}

export interface Leases {
  /** Renews a lease periodically until the returned function is called. */
  keepLease(lease: Lease): () => void
  /**
   * Takes an import from its owner, and deletes its rows. Also deletes its record, except that of
   * an undone import, which lists still show. Does nothing if the import has ended or has another
   * owner.
   */
  clearImport(lease: Lease): Promise<void>
}

const HEARTBEAT_MS = 5_000

/** How often the end of a lease is tried. Afterwards, the lease has expired. */
const END_ATTEMPTS = 30
const END_RETRY_MS = 1_000

/** Throws if the import has another owner. On PostgreSQL, locks its row. */
export function* assertOwned(sql: Dialect, lease: Lease): Program<void> {
  if (yield* find(FIND_OWNED + sql.forUpdate, lease.import, lease.owner)) return
  throw new TillError('storage_unavailable', 'The import was interrupted for too long; repeat it')
}

/** Renews a lease. Returns false if another owner has the import. */
export function* renewLease({ now }: ImportDialect, lease: Lease): Program<boolean> {
  const sql = `UPDATE imports SET alive_at = ${now} WHERE seq = ? AND owner = ?`
  return (yield* run(sql, lease.import, lease.owner)) === 1
}

/** Starts and deletes imports. A store has one import or undo at a time. */
export function importLeases(sql: Sql, dialect: ImportDialect) {
  const { now, isExpired, ifExpired, columns, values } = dialect
  const findStore = `
    SELECT s.seq AS store, i.seq, i.owner, ${isExpired} AS is_expired
    FROM stores s LEFT JOIN imports i ON i.store = s.seq AND i.owner IS NOT NULL
    WHERE s.account_id = ? AND s.store_id = ?`
  const findRunning = `
    SELECT i.store, i.seq, i.owner, ${isExpired} AS is_expired FROM imports i
    WHERE i.owner IS NOT NULL`
  const insert = `
    INSERT INTO imports (import_id, owner, undoes, store, first_purchase${columns})
    SELECT ?, ?, ?, s.seq, ${dialect.first}${values} FROM stores s
    WHERE s.seq = ? ${dialect.ifApplied} ${dialect.lock}
    ON CONFLICT (store) WHERE owner IS NOT NULL DO NOTHING RETURNING seq, first_purchase`
  const takeOver = (condition: string) => `
    UPDATE imports SET owner = ?, alive_at = ${now} WHERE seq IN (
      SELECT i.seq FROM imports i WHERE i.seq = ? AND i.owner = ? ${condition})`
  const expire = `UPDATE imports SET alive_at = ${dialect.longAgo} WHERE seq = ? AND owner = ?`

  const clearImport = async (lease: Lease, pause: Pause = setImmediate, condition = '') => {
    const taken = { ...lease, owner: randomUUID() }
    const values = [taken.owner, lease.import, lease.owner]
    let isTaken = false
    try {
      isTaken = (await sql.write(() => run(takeOver(condition), ...values), ALONE)) > 0
      if (isTaken) await deleteImport(taken, pause)
    } catch (error) {
      if (isTaken) await endLease(taken)
      else if (condition === '') endLeaseLater(lease)
      throw error
    }
  }

  /** Ends a lease: the next import into the store begins at once, and deletes the rows first. */
  const endLease = async (lease: Lease, attempts = END_ATTEMPTS) => {
    const end = () => run(expire, lease.import, lease.owner)
    await sql.write(end, ALONE).catch(() => endLeaseLater(lease, attempts - 1))
  }

  /** Tries again, because a disk may be full or a database gone only for a short time. */
  const endLeaseLater = (lease: Lease, attempts = END_ATTEMPTS) => {
    if (attempts > 0) setTimeout(() => void endLease(lease, attempts), END_RETRY_MS).unref()
  }

  const deleteImport = async (lease: Lease, pause: Pause) => {
    const seq = lease.import
    const rows = await sql.read(find(dialect.findRows, seq))
    if (rows?.is_undone) await dialect.applyChanges?.(pause)
    const last = Number(rows?.last)
    let from: number | undefined = Number(rows?.first)
    while (from !== undefined && from <= last) {
      from = await dialect.deleteSlice(lease, from, last)
      await pause()
    }
    await sql.write(function* () {
      if (!(yield* renewLease(dialect, lease))) return
      for (const each of dialect.deletions) yield* run(each, seq)
      yield* run(rows?.is_undone ? END_UNDO : 'DELETE FROM imports WHERE seq = ?', seq)
    }, ALONE)
  }

  /** Deletes abandoned imports. Resolves to false if others run, which may be abandoned later. */
  const clearAbandoned = async (pause: Pause = setImmediate): Promise<boolean> => {
    const rows = await sql.read(all(findRunning))
    const abandoned = rows.filter(({ is_expired }) => is_expired)
    for (const row of abandoned) await clearImport(leaseOf(row), pause, ifExpired)
    return abandoned.length === rows.length
  }

  /**
   * Inserts the row of an import that begins, or of an undo, with this process as its owner.
   * Resolves to undefined while another import or undo runs in the store.
   */
  const insertImport = async (
    { account_id, store_id }: StoreKey,
    import_id: string,
    undoes: number | null = null,
  ): Promise<NewImport | undefined> => {
    const found = await sql.read(find(findStore, account_id, store_id))
    if (!found) throw new Error('the store must be inserted before its items and purchases')
    if (found.owner !== null) {
      if (!found.is_expired) return undefined
      await clearImport(leaseOf(found), setImmediate, ifExpired)
    }
    await dialect.applyChanges?.()
    const store = found.store as number
    const owner = randomUUID()
    const row = await sql.writeOnce(() => find(insert, import_id, owner, undoes, store))
    const first = numberOf(row?.first_purchase ?? 0)
    return row && { account_id, store, owner, import: row.seq as number, first }
  }

  const keepLease = (lease: Lease): (() => void) => {
    // Ignores failures: the next heartbeat tries again, and the next slice notices a lost lease.
    const renew = () => void sql.writeOnce(() => renewLease(dialect, lease)).catch(() => {})
    const heartbeat = setInterval(renew, HEARTBEAT_MS).unref()
    return () => clearInterval(heartbeat)
  }

  return { insertImport, keepLease, clearImport, clearAbandoned }
}

const ALONE = { isAlone: true } as const

const FIND_OWNED = 'SELECT 1 FROM imports WHERE seq = ? AND owner = ?'
const END_UNDO = 'UPDATE imports SET owner = NULL, last_purchase = 0 WHERE seq = ?'

function leaseOf({ seq, store, owner }: Row): Lease {
  return { import: seq as number, store: store as number, owner: owner as string }
}
