import { type NewPurchase, PURCHASE_STATUSES } from '../../../domain/purchase.ts'
import type { RepeatRules } from '../../../domain/repeat.ts'
import { createEntries, type Entry } from '../../sql/purchases/entries.ts'
import { assertOwned, type Lease } from '../../sql/purchases/imports.ts'
import type { AdvancedRows, RowOutcomes, StatusRow } from '../../sql/purchases/records.ts'
import { advanceStatuses, compareRows } from '../../sql/purchases/repeats.ts'
import { NO_ROWS, sumAdvanced, sumOutcomes } from '../../sql/purchases/row-outcomes.ts'
import { createSeenRows } from '../../sql/purchases/seen-rows.ts'
import type { Database, Transaction } from '../connection.ts'
import { formatCell } from '../copy-protocol.ts'
import { isUniqueViolation } from '../drivers.ts'
import { DIALECT, execute } from '../sql.ts'
import { hasErased } from './erasure.ts'
import { REPEATS } from './repeats.ts'

const BLOCK_ROWS = 10_000
/** The maximum number of characters of the texts in a block. At most two blocks are in memory. */
const BLOCK_CHARS = 1024 * 1024
/** Rows of status changes to compare at once: they may be orders of 5,000 purchases. */
const ADVANCE_ROWS = 50

/**
 * Writes the rows of one import in blocks, each in its own transaction. Collects the next block
 * meanwhile, so a slow client occupies no connection.
 */
export function createRowWriter(db: Database, lease: Lease, firstPurchase: number) {
  const entriesOf = createEntries(DIALECT, lease.store)
  let block: Entry[] = []
  let blockChars = 0
  /** The outcome of the block that is being written, or was the last one. */
  let writing: Promise<RowOutcomes> | undefined
  let last = firstPurchase - 1
  let expectsRepeats = false
  /**
   * Whether the store has erased purchases; undefined before the first block. Does not change
   * during the import, because an erasure needs an import of its own.
   */
  let hasErasures: boolean | undefined
  let rules: RepeatRules = {}
  const seenRows = createSeenRows()

  /**
   * Runs `work` in a transaction that locks the import first. Recorded purchases wait for this lock:
   * what `work` reads of the store is true until its commit, and no deadlock is possible.
   */
  const inBlock = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> =>
    db.transaction(async (tx) => {
      await execute(tx, assertOwned(DIALECT, lease))
      return work(tx)
    })

  /** Starts to write the block, once the one before is written. Resolves to the latter's outcome. */
  const startWrite = async (): Promise<RowOutcomes> => {
    const entries = block
    block = []
    blockChars = 0
    const result = await endWrite()
    writing = write(entries)
    writing.catch(() => {}) // ignored, because the same error rejects `endWrite`
    return result
  }

  const endWrite = async (): Promise<RowOutcomes> => {
    const result = (await writing) ?? NO_ROWS
    writing = undefined
    return result
  }

  /**
   * Copies the block without a search for repeats, so a file without repeats takes no longer than a
   * plain COPY (bench/). If a transaction id is already stored, the COPY fails. The block is then
   * compared with the stored purchases first. So are all blocks of a store with erased purchases: the
   * ids of deleted ones are not in `purchases`.
   */
  const write = async (entries: readonly Entry[]): Promise<RowOutcomes> => {
    const first = last + 1
    hasErasures ??= await hasErased(db, lease.store)
    if (!expectsRepeats && !hasErasures) {
      try {
        await inBlock((tx) => copyRows(tx, entries, first))
        last += entries.length
        return { ...NO_ROWS, added: entries.length }
      } catch (error) {
        if (!isUniqueViolation(error)) throw error
      }
    }
    const { result, seen } = await inBlock((tx) => writeCompared(tx, entries, first))
    seenRows.addAll(seen)
    expectsRepeats = result.added < entries.length
    last += result.added
    return result
  }

  const copyRows = async (tx: Transaction, entries: readonly Entry[], first: number) => {
    await tx.insertLines(`purchases (${COLUMNS})`, linesOf(lease, first, entries))
  }

  const writeCompared = async (tx: Transaction, entries: readonly Entry[], first: number) => {
    await planAnew(tx)
    const comparing = { rules, first, seenRows }
    const repeats = compareRows(DIALECT, REPEATS, lease, entries, comparing)
    const { result, fresh, seen } = await execute(tx, repeats)
    if (fresh.length > 0) await copyRows(tx, fresh, first)
    return { result, seen }
  }

  return {
    /** Advances the statuses of stored purchases. */
    advance: (rows: readonly StatusRow[]): Promise<AdvancedRows> =>
      inBlock(async (tx) => {
        await planAnew(tx)
        const results: AdvancedRows[] = []
        for (let first = 0; first < rows.length; first += ADVANCE_ROWS) {
          const step = rows.slice(first, first + ADVANCE_ROWS)
          results.push(await execute(tx, advanceStatuses(REPEATS, lease, step)))
        }
        return sumAdvanced(results)
      }),
    /** Adds rows. Resolves to the outcome of an earlier block if it waited for one. */
    async append(rows: readonly NewPurchase[], given: RepeatRules = {}): Promise<RowOutcomes> {
      rules = given
      const { entries, unknown } = await execute(db, entriesOf(rows))
      const results: RowOutcomes[] = []
      for (const entry of entries) {
        block.push(entry)
        blockChars += charsOf(entry)
        if (block.length < BLOCK_ROWS && blockChars < BLOCK_CHARS) continue
        results.push(await startWrite())
      }
      return { ...sumOutcomes(results), unknown }
    },
    /** Writes the last block. Resolves to the outcome of the blocks that were not reported yet. */
    async finish() {
      const earlier = block.length > 0 ? await startWrite() : NO_ROWS
      return sumOutcomes([earlier, await endWrite()])
    },
    /** Waits until no block is being written any more. */
    async settle() {
      await writing?.catch(() => {})
    },
    get isWaiting() {
      return block.length > 0 || writing !== undefined
    },
    /** The highest `seq` of the rows written, or one less than the first if there is none. */
    get lastPurchase() {
      return last
    },
  }
}

/** Makes a new plan for each statement, because a cached plan may be for a smaller table. */
async function planAnew(tx: Transaction): Promise<void> {
  await tx.exec('SET LOCAL plan_cache_mode = force_custom_plan')
}

function charsOf({ transaction_id, user_id, metadata }: Entry): number {
  return transaction_id.length + (user_id?.length ?? 0) + (metadata?.length ?? 0)
}

/** The columns of purchases that `lineOf` writes. */
export const COLUMNS =
  'store, import, seq, purchased_at, price, item, quantity, status, expires_at, transaction_id, user_id, currency, metadata'

/** Yields line by line: the server processes the first lines while later ones are formatted. */
function* linesOf(lease: Lease, first: number, entries: readonly Entry[]): Generator<string> {
  for (const [index, entry] of entries.entries()) yield lineOf(lease, first + index, entry)
}

// Uses template strings: with joined arrays, a million rows would take 5.5 s instead of 5 s.
export function lineOf(lease: Pick<Lease, 'store' | 'import'>, seq: number, row: Entry): string {
  const numbers = `${lease.store}\t${lease.import}\t${seq}\t${row.purchased_at}\t${row.price ?? '\\N'}\t${row.sku}\t${row.quantity}\t${PURCHASE_STATUSES.indexOf(row.status)}\t${row.expires_at ?? '\\N'}`
  const texts = `${formatCell(row.transaction_id)}\t${formatCell(row.user_id)}\t${formatCell(row.currency)}\t${formatCell(row.metadata)}`
  return `${numbers}\t${texts}\n`
}
