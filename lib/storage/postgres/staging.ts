import { type NewPurchase, PURCHASE_STATUSES } from '../../domain/purchase.ts'
import type { StagedRows } from '../port.ts'
import { NOTHING_STAGED, sumStaged } from '../staged.ts'
import type { Database, Transaction } from './connection.ts'
import { copyCell } from './copy.ts'
import { isUniqueViolation } from './drivers.ts'
import { assertOwned, type Lease } from './leases.ts'
import { createItemLookup } from './lookup.ts'
import { type Entry, findKnown, judge, stageChanges } from './repeats.ts'

/**
 * The rows of one import on their way in: collected in blocks, each written in a transaction of its
 * own while the next one is collected, so that a slow client holds no connection.
 */
export interface Staging {
  /** Adds rows, and tells what became of those of earlier blocks. */
  append(rows: readonly NewPurchase[]): Promise<StagedRows>
  /** Writes what waits, and tells what became of it. */
  finish(): Promise<StagedRows>
  /** Waits for what is under way, whatever becomes of it. */
  settle(): Promise<void>
  readonly isWaiting: boolean
  /** The number of the last row written. */
  readonly lastPurchase: number
}

const BLOCK_ROWS = 10_000
/** Of the texts of its rows. Two blocks at most are in memory. */
const BLOCK_CHARS = 2 * 1024 * 1024

export function createStaging(db: Database, lease: Lease, lastPurchase: number): Staging {
  const itemsOf = createItemLookup(db, lease.store)
  let block: Entry[] = []
  let blockChars = 0
  let underWay: Promise<StagedRows> | undefined
  let last = lastPurchase
  let expectsRepeats = false

  /**
   * Copies the block as it is; only where that stumbles on a transaction that is there already are
   * the known ones asked for first. So a file without repeats costs what COPY costs (bench/).
   */
  const write = async (entries: readonly Entry[]): Promise<StagedRows> => {
    if (!expectsRepeats) {
      try {
        await db.transaction(async (tx) => {
          await assertOwned(tx, lease)
          await copyRows(tx, entries)
        })
        last += entries.length
        return { ...NOTHING_STAGED, added: entries.length }
      } catch (error) {
        if (!isUniqueViolation(error)) throw error
      }
    }
    const { told, fresh } = await db.transaction((tx) => writeJudged(tx, entries))
    last += fresh
    expectsRepeats = fresh < entries.length
    return told
  }

  const copyRows = async (tx: Transaction, entries: readonly Entry[]) => {
    await tx.copy(`purchases (${COLUMNS})`, linesOf(lease, last + 1, entries))
  }

  const writeJudged = async (tx: Transaction, entries: readonly Entry[]) => {
    await assertOwned(tx, lease)
    // A plan that was made for a smaller table may be kept too long.
    await tx.exec('SET LOCAL plan_cache_mode = force_custom_plan')
    const { told, fresh, changes } = judge(await findKnown(tx, lease, entries), entries)
    if (fresh.length > 0) await copyRows(tx, fresh)
    if (changes.length > 0) await stageChanges(tx, lease, changes)
    return { told, fresh: fresh.length }
  }

  /** What became of the block under way. */
  const told = async (): Promise<StagedRows> => {
    const result = (await underWay) ?? NOTHING_STAGED
    underWay = undefined
    return result
  }

  return {
    async append(rows) {
      const items = await itemsOf(rows)
      const unknown: number[] = []
      const results: StagedRows[] = []
      for (const row of rows) {
        const item = items.get(row.sku)
        if (item === undefined) {
          unknown.push(row.line)
          continue
        }
        const entry = entryOf(row, item)
        block.push(entry)
        blockChars += charsOf(entry)
        if (block.length < BLOCK_ROWS && blockChars < BLOCK_CHARS) continue
        results.push(await told())
        underWay = write(block)
        underWay.catch(() => {}) // told when it is asked for
        block = []
        blockChars = 0
      }
      return { ...sumStaged(results), unknown }
    },
    async finish() {
      const results = [await told()]
      if (block.length > 0) results.push(await write(block))
      block = []
      return sumStaged(results)
    },
    async settle() {
      await underWay?.catch(() => {})
    },
    get isWaiting() {
      return block.length > 0 || underWay !== undefined
    },
    get lastPurchase() {
      return last
    },
  }
}

function entryOf(row: NewPurchase, item: number): Entry {
  return {
    line: row.line,
    transaction_id: row.transaction_id,
    sku: String(item),
    purchased_at: row.purchased_at,
    user_id: row.user_id,
    quantity: row.quantity,
    price: row.price,
    currency: row.currency,
    status: row.status,
    metadata: metadataText(row),
  }
}

function charsOf({ transaction_id, user_id, metadata }: Entry): number {
  return transaction_id.length + (user_id?.length ?? 0) + (metadata?.length ?? 0)
}

function metadataText({ metadata }: NewPurchase): string | null {
  for (const _ in metadata) return JSON.stringify(metadata)
  return null
}

const COLUMNS =
  'store, import, seq, purchased_at, price, item, quantity, status, transaction_id, user_id, currency, metadata'

/** Line by line, so that the server works on the first ones while the last are made. */
function* linesOf(lease: Lease, first: number, entries: readonly Entry[]): Generator<string> {
  for (const [index, entry] of entries.entries()) yield lineOf(lease, first + index, entry)
}

// One template, no list of cells in between: 0.5 s of a million rows' 5.
function lineOf(lease: Lease, seq: number, row: Entry): string {
  const numbers = `${lease.store}\t${lease.import}\t${seq}\t${row.purchased_at}\t${row.price ?? '\\N'}\t${row.sku}\t${row.quantity}\t${PURCHASE_STATUSES.indexOf(row.status)}`
  const texts = `${copyCell(row.transaction_id)}\t${copyCell(row.user_id)}\t${copyCell(row.currency)}\t${copyCell(row.metadata)}`
  return `${numbers}\t${texts}\n`
}
