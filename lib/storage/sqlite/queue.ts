import { setImmediate as nextTurn } from 'node:timers/promises'

interface Waiting {
  readonly work: () => unknown
  readonly resolve: (result: never) => void
  readonly reject: (error: unknown) => void
}

/** The maximum number of writes in a group. A full group blocks the event loop for some 10 ms. */
const MAX_GROUP = 500

/**
 * Creates a queue for group commits: writes in one turn of the event loop share a transaction. 64
 * concurrent writes wait for one fsync instead of 64 (bench/create.mjs).
 */
export function createWriteQueue(transaction: (work: () => void) => Promise<void>) {
  const waiting: Waiting[] = []
  let most = MAX_GROUP
  let running: Promise<void> | undefined

  const run = async () => {
    while (waiting.length > 0) {
      await nextTurn()
      // Lets several writes wait for those of one more turn. Without it, 64 clients form two groups
      // of 32 that take turns, and a create writes a quarter more bytes.
      if (waiting.length > 1) await nextTurn()
      await writeGroup()
    }
    running = undefined
  }

  /**
   * Writes the next group. If one of several writes throws, the group is rolled back, and the writes
   * before that one become a group of their own. A savepoint for each write would cost more: SQLite
   * then copies each page that it changes into a temporary file. For a create, these are 70 KB.
   */
  const writeGroup = async () => {
    let group: Waiting[] = []
    const results: unknown[] = []
    try {
      await transaction(() => {
        group = waiting.splice(0, most)
        for (const { work } of group) results.push(work())
      })
      for (const [i, { resolve }] of group.entries()) resolve(results[i] as never)
    } catch (error) {
      if (group.length > 1 && results.length < group.length) {
        waiting.unshift(...group)
        most = results.length || 1
        return
      }
      // Without a group, the transaction has not begun.
      for (const { reject } of group.length > 0 ? group : waiting.splice(0)) reject(error)
    }
    most = MAX_GROUP
  }

  return {
    /** Resolves to the result of `work` after its group is committed. */
    write: <T>(work: () => T) =>
      new Promise<T>((resolve, reject) => {
        waiting.push({ work, resolve, reject })
        running ??= run()
      }),
    /** Resolves when all writes have ended. Do not write after calling it. */
    end: async () => running,
  }
}
