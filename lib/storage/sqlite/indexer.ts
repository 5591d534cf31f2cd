import { setImmediate } from 'node:timers/promises'
import { type Cleanup, type Pause, startCleanup } from '../cleanup.ts'
import type { Connection } from './connection.ts'
import { userKey } from './user-key.ts'
import { createUserBlock } from './users.ts'

/**
 * Fills the index `purchase_users` in the background, for imports of earlier versions. Until the
 * index is complete, reads also scan the rows that are missing there.
 */
export interface UserIndexer {
  /** Starts to index in the background, unless that already runs. */
  wake(): void
  /** Indexes all rows now. */
  run(): Promise<void>
  stop(): Promise<void>
}

export function createUserIndexer(db: Connection): UserIndexer {
  let running: Cleanup | undefined
  const stop = async () => {
    await running?.stop()
    running = undefined
  }
  return {
    wake() {
      if (running || !db.find(FIND_UNINDEXED)) return
      running = startCleanup(async (pause) => {
        await indexUsers(db, pause)
        running = undefined
        return true
      })
    },
    async run() {
      await stop() // two runs at a time would index each row twice
      await indexUsers(db)
    },
    stop,
  }
}

const SLICE_ROWS = 1_000

async function indexUsers(db: Connection, pause: Pause = setImmediate): Promise<void> {
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
 * Indexes the next rows of an import. Marks them as indexed only at the end, so that any process
 * may repeat an interrupted block.
 */
async function indexBlock(db: Connection, row: Unindexed, pause: Pause): Promise<void> {
  const { seq, store, first, last } = row
  const block = createUserBlock(db)
  block.verify(seq)
  let done = first - 1
  while (done < last && !block.isFull) {
    const rows = db.all(FIND_USERS, done, last, seq, SLICE_ROWS)
    for (const { seq: purchase, user_id } of rows) {
      block.add(userKey(store, user_id as string), purchase as number)
    }
    done = rows.length < SLICE_ROWS ? last : (rows.at(-1)?.seq as number)
    await pause()
  }
  while (block.size > 0) {
    await db.lazyTransaction(() => block.writeSlice())
    await pause()
  }
  await db.lazyTransaction(() => db.run(SET_INDEXED, done, seq, done))
}

const FIND_USERS = `
  SELECT seq, user_id FROM purchases
  WHERE seq > ? AND seq <= ? AND import = ? AND user_id IS NOT NULL ORDER BY seq LIMIT ?`

const SET_INDEXED = 'UPDATE imports SET users_indexed = ? WHERE seq = ? AND users_indexed < ?'
