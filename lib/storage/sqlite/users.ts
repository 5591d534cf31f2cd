import { setImmediate } from 'node:timers/promises'
import { type Cleanup, type Pause, startCleanup } from '../cleanup.ts'
import { createBlock } from './block.ts'
import type { Connection } from './connection.ts'

/** Fills `purchase_users` in the background. Until then, reads scan the rows that are not in it. */
export interface UserIndexer {
  /** Starts the work, unless it runs. */
  wake(): void
  stop(): Promise<void>
}

export function createUserIndexer(db: Connection): UserIndexer {
  let running: Cleanup | undefined
  return {
    wake() {
      if (running || !db.find(FIND_UNINDEXED)) return
      running = startCleanup(async (pause) => {
        await indexUsers(db, pause)
        running = undefined
        return true
      })
    },
    async stop() {
      await running?.stop()
    },
  }
}

/** Indexes the users of an import of this size in its commit. */
const SMALL_IMPORT = 2_000
const SLICE_ROWS = 1_000
// The larger the block, the fewer pages are written: each block writes most pages of the index.
const BLOCK_ROWS = 100_000
const BLOCK_BYTES = 4 * 2 ** 20

/** Indexes the users of a small import. Call it in the transaction of the commit. */
export function indexSmallImport(db: Connection, seq: number): void {
  const rows = db.find(COUNT_ROWS, seq, SMALL_IMPORT + 1)?.n as number
  if (rows > SMALL_IMPORT) return
  db.run(INDEX_IMPORT, seq)
  db.run('UPDATE imports SET users_indexed = last_purchase WHERE seq = ?', seq)
}

const ROWS_OF_IMPORT = `
  FROM imports i CROSS JOIN purchases p
    ON p.import = i.seq AND p.seq BETWEEN i.first_purchase AND i.last_purchase
  WHERE i.seq = ?`
const COUNT_ROWS = `SELECT count(*) AS n FROM (SELECT 1 ${ROWS_OF_IMPORT} LIMIT ?)`
const INDEX_IMPORT = `
  INSERT INTO purchase_users
  SELECT i.store, p.user_id, p.seq ${ROWS_OF_IMPORT} AND p.user_id IS NOT NULL
  ORDER BY p.user_id`

/** Indexes the users of all committed imports. */
export async function indexUsers(db: Connection, pause: Pause = setImmediate): Promise<void> {
  for (;;) {
    const row = db.find(FIND_UNINDEXED) as unknown as Unindexed | undefined
    if (!row) return
    await indexBlock(db, row, pause)
  }
}

interface Unindexed {
  readonly seq: number
  readonly store: number
  /** The first and the last row that is not indexed. */
  readonly first: number
  readonly last: number
}

const FIND_UNINDEXED = `
  SELECT seq, store, max(first_purchase, users_indexed + 1) AS first, last_purchase AS last
  FROM imports WHERE owner IS NULL AND last_purchase > users_indexed LIMIT 1`

/**
 * Indexes the next rows of an import. They count as indexed once all of them are, so that any
 * process may repeat an interrupted block.
 */
async function indexBlock(db: Connection, row: Unindexed, pause: Pause): Promise<void> {
  const { seq, store, first, last } = row
  const block = createBlock()
  let done = first - 1
  while (done < last && block.size < BLOCK_ROWS && block.bytes < BLOCK_BYTES) {
    const rows = db.all(FIND_USERS, done, last, seq, SLICE_ROWS)
    for (const { seq: purchase, user_id } of rows as { seq: number; user_id: string }[]) {
      block.add({ transaction_id: user_id, line: 0, purchase })
    }
    done = rows.length < SLICE_ROWS ? last : (rows.at(-1)?.seq as number)
    await pause()
  }
  while (block.size > 0) {
    const purchases = block.take(SLICE_ROWS).map(({ purchase }) => purchase)
    await db.lazyTransaction(() => db.run(INDEX_ROWS, store, JSON.stringify(purchases), seq))
    await pause()
  }
  await db.lazyTransaction(() => db.run(SET_INDEXED, done, seq, done))
}

const FIND_USERS = `
  SELECT seq, user_id FROM purchases
  WHERE seq > ? AND seq <= ? AND import = ? AND user_id IS NOT NULL ORDER BY seq LIMIT ?`

// Reads the users again, because they may have been deleted since.
const INDEX_ROWS = `
  INSERT INTO purchase_users
  SELECT ?, p.user_id, p.seq FROM json_each(?) e CROSS JOIN purchases p ON p.seq = e.value
  WHERE p.import = ? AND p.user_id IS NOT NULL ON CONFLICT DO NOTHING`

const SET_INDEXED = 'UPDATE imports SET users_indexed = ? WHERE seq = ? AND users_indexed < ?'
