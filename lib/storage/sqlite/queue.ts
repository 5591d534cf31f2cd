import { setImmediate as nextTurn } from 'node:timers/promises'
import { TillError } from '../../errors.ts'
import { RoundRobin } from '../../round-robin.ts'
import { Turns } from '../../turns.ts'

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
 * concurrent writes wait for one fsync instead of 64 (bench/create.mjs). The accounts take turns, so
 * the write of one does not wait for all writes of another.
 */
export function createWriteQueue(
  transaction: (work: () => void) => Promise<void>,
  countChanges: () => number,
) {
  const waiting = new RoundRobin<Waiting>()
  /** The writes of a group that was rolled back. They come first. */
  let repeated: Waiting[] = []
  /** After a group that took long, other requests run first. */
  const turns = new Turns({ most: 1 })
  let most = MAX_GROUP
  let running: Promise<void> | undefined

  const count = () => repeated.length + waiting.size
  const takeNext = () => repeated.shift() ?? waiting.take()?.value

  const run = async () => {
    while (count() > 0) {
      await nextTurn()
      // Lets several writes wait for those of one more turn. Without it, 64 clients form two groups
      // of 32 that take turns, and a create writes a quarter more bytes.
      if (count() > 1) await nextTurn()
      await turns.run('', writeGroup)
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
          const next = takeNext() as Waiting
          group.push(next)
          settled.push(attempt(next))
        } while (count() > 0 && group.length < most && performance.now() < end)
      })
      for (const settle of settled) settle()
    } catch (error) {
      if (group.length > 1 && settled.length < group.length) {
        repeated = [...group, ...repeated]
        most = settled.length || 1
        return
      }
      // Without a group, the transaction has not begun: all writes fail.
      while (group.length === 0 && count() > 0) takeNext()?.reject(error)
      for (const { reject } of group) reject(error)
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
    /** Resolves to the result of `work`, a write for an account, after its group is committed. */
    write: <T>(work: () => T, account_id = '') =>
      new Promise<T>((resolve, reject) => {
        waiting.add(account_id, { work, resolve, reject })
        running ??= run()
      }),
    /** Resolves when all writes have ended. Do not write after calling it. */
    end: async () => running,
  }
}
