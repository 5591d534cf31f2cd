import { GIVE_UP_MS, lockedError, pauseForLock } from './lock.ts'

/** The functions that run a transaction for a group of writes. */
export interface GroupTransaction {
  /** Begins the transaction. Returns false if another process has the lock. */
  begin(): boolean
  /** Runs one write of the group in a savepoint. If it throws, only its changes are rolled back. */
  attempt<T>(work: () => T): T
  commit(): void
  rollback(): void
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
  let isScheduled = false
  /** Whether a write of the first group has thrown before. */
  let isRepeated = false
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
      if (transaction.begin()) settle(waiting.splice(0, MAX_GROUP))
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
   * Runs the writes of a group without savepoints. If one throws, rolls back, and repeats the group
   * with a savepoint for each write. After a savepoint, SQLite copies each page that it changes into
   * a temporary file. For a create, these are 70 KB.
   */
  const settle = (group: readonly Waiting[]) => {
    const settled: (() => void)[] = []
    let isRun = false
    try {
      for (const each of group) settled.push(isRepeated ? attempt(each) : run(each))
      isRun = true
      transaction.commit()
    } catch (error) {
      transaction.rollback()
      isRepeated = !isRun && !isRepeated && group.length > 1
      if (isRepeated) waiting.unshift(...group)
      else rejectAll(group, error)
      return
    }
    isRepeated = false
    for (const each of settled) each()
  }

  /** Runs one write. Returns a function that resolves its promise after the commit. */
  const run = ({ work, resolve }: Waiting): (() => void) => {
    const result = work()
    return () => resolve(result as never)
  }

  /** Runs one write in a savepoint. Returns a function that resolves or rejects its promise. */
  const attempt = ({ work, resolve, reject }: Waiting): (() => void) => {
    let failure: unknown
    let result: unknown
    try {
      result = transaction.attempt(() => {
        try {
          return work()
        } catch (error) {
          failure = error
          throw error
        }
      })
    } catch (error) {
      // An error of `work` rejects only its own write. Any other error comes from the transaction,
      // and fails the whole group.
      if (error !== failure) throw failure ?? error
      return () => reject(error)
    }
    return () => resolve(result as never)
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
