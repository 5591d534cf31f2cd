import { GIVE_UP_MS, lockedError, pauseForLock } from './lock.ts'

/** The functions that run a transaction for a group of writes. */
export interface GroupTransaction {
  /** Begins the transaction. Returns false if another process has the lock. */
  begin(): boolean
  commit(): void
  rollBack(): void
}

interface Waiting {
  readonly work: () => unknown
  readonly resolve: (result: never) => void
  readonly reject: (error: unknown) => void
  readonly since: number
}

/** The maximum number of writes in a group. A full group blocks the event loop for some 10 ms. */
const MAX_GROUP = 500

/**
 * Creates a queue for group commits: writes in one turn of the event loop share a transaction. 64
 * concurrent writes wait for one fsync instead of 64 (bench/create.mjs).
 */
export function createWriteQueue(transaction: GroupTransaction) {
  const waiting: Waiting[] = []
  /** The maximum number of writes in the next group. */
  let most = MAX_GROUP
  let isScheduled = false
  let onEnd: (() => void) | undefined

  const schedule = (pause?: number) => {
    if (isScheduled) return
    isScheduled = true
    if (pause === undefined) setImmediate(collect)
    else setTimeout(flush, pause)
  }

  /**
   * Lets several writes wait for those of one more turn. Without it, 64 clients form two groups of
   * 32 that take turns, and a create writes a quarter more bytes.
   */
  const collect = () => void (waiting.length > 1 ? setImmediate(flush) : flush())

  const flush = () => {
    isScheduled = false
    if (waiting.length > 0) schedule(writeGroup())
    else onEnd?.()
  }

  /** Writes the next group. If another process has the lock, returns the pause before a retry. */
  const writeGroup = (): number | undefined => {
    try {
      if (transaction.begin()) settle(waiting.splice(0, most))
      else return rejectOverdue()
    } catch (error) {
      rejectAll(waiting.splice(0), error)
    }
    return undefined
  }

  const rejectOverdue = (): number => {
    const latest = performance.now() - GIVE_UP_MS
    const inTime = waiting.findIndex(({ since }) => since > latest)
    rejectAll(waiting.splice(0, inTime < 0 ? waiting.length : inTime), lockedError())
    return pauseForLock()
  }

  /**
   * Runs the writes of a group. If one throws, rolls back, and repeats the writes before it as a
   * group of their own. The first write of a group fails alone. There are no savepoints: after one,
   * SQLite copies each page that it changes into a temporary file, 70 KB for a create.
   */
  const settle = (group: readonly Waiting[]) => {
    const results: unknown[] = []
    most = MAX_GROUP
    try {
      for (const { work } of group) results.push(work())
    } catch (error) {
      transaction.rollBack()
      if (results.length === 0) group[0]?.reject(error)
      else most = results.length
      waiting.unshift(...group.slice(results.length === 0 ? 1 : 0))
      return
    }
    try {
      transaction.commit()
    } catch (error) {
      transaction.rollBack()
      rejectAll(group, error)
      return
    }
    for (const [i, { resolve }] of group.entries()) resolve(results[i] as never)
  }

  return {
    /** Resolves to the result of `work` after its group is committed. */
    write<T>(work: () => T) {
      schedule()
      return new Promise<T>((resolve, reject) => {
        waiting.push({ work, resolve, reject, since: performance.now() })
      })
    },
    /** Resolves when all writes have ended. Do not write after calling it. */
    end() {
      schedule()
      return new Promise<void>((resolve) => {
        onEnd = resolve
      })
    },
  }
}

function rejectAll(group: readonly Waiting[], error: unknown): void {
  for (const { reject } of group) reject(error)
}
