import { setImmediate as nextTurn } from 'node:timers/promises'
import { TillError } from '../../errors.ts'

interface Waiting {
  readonly work: () => unknown
  readonly resolve: (result: never) => void
  readonly reject: (error: unknown) => void
}

/** The maximum number of writes in a group, and the milliseconds after which none is added. */
const MAX_GROUP = 500
const GROUP_MS = 10

/**
 * Creates a queue for group commits: writes in one turn of the event loop share a transaction. 64
 * concurrent writes wait for one fsync instead of 64 (bench/create.mjs).
 */
export function createWriteQueue(
  transaction: (work: () => void) => Promise<void>,
  countChanges: () => number,
) {
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
   * Writes the next group. If one of several writes throws after changes, the group is rolled back,
   * and the writes before that one become a group of their own. A savepoint for each write would
   * cost more: SQLite then copies each page that it changes into a temporary file. For a create,
   * these are 70 KB.
   */
  const writeGroup = async () => {
    const group: Waiting[] = []
    const settled: (() => void)[] = []
    try {
      await transaction(() => {
        const end = performance.now() + GROUP_MS
        do {
          const next = waiting.shift() as Waiting
          group.push(next)
          settled.push(attempt(next))
        } while (waiting.length > 0 && group.length < most && performance.now() < end)
      })
      for (const settle of settled) settle()
    } catch (error) {
      if (group.length > 1 && settled.length < group.length) {
        waiting.unshift(...group)
        most = settled.length || 1
        return
      }
      // Without a group, the transaction has not begun.
      for (const { reject } of group.length > 0 ? group : waiting.splice(0)) reject(error)
    }
    most = MAX_GROUP
  }

  /** Runs a write. Returns a function that settles its promise after the commit. */
  const attempt = ({ work, resolve, reject }: Waiting): (() => void) => {
    const before = countChanges()
    try {
      const result = work()
      return () => resolve(result as never)
    } catch (error) {
      // Most refusals, such as that of an outdated version, come before any change. Errors of the
      // storage end the transaction.
      const isRefusal = error instanceof TillError && error.kind !== 'unavailable'
      if (!isRefusal || countChanges() !== before) throw error
      return () => reject(error)
    }
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
