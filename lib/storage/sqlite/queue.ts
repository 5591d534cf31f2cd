import { GIVE_UP_MS, lockedError, pauseForLock } from './lock.ts'

/** How a group of writes is begun and ended. */
export interface GroupTransaction {
  /** False while another process has the lock. */
  begin(): boolean
  /** Runs one write of the group; if it throws, what it wrote is undone and the others' kept. */
  attempt<T>(work: () => T): T
  commit(): void
  rollback(): void
}

export interface WriteQueue {
  /** Resolves to what `work` returns, once that is committed. */
  write<T>(work: () => T): Promise<T>
  /** Resolves once all that wait are settled; nothing is to be written after. */
  end(): Promise<void>
}

interface Waiting {
  readonly work: () => unknown
  readonly resolve: (result: never) => void
  readonly reject: (error: unknown) => void
  readonly since: number
}

/** So that no group holds the event loop for more than some 10 ms. */
const MAX_GROUP = 500

/**
 * Gathers the writes of one turn of the event loop into a transaction. A write alone waits for the
 * disk as long as it ever did; 64 at once wait once, not 64 times (bench/create).
 */
export function createWriteQueue(transaction: GroupTransaction): WriteQueue {
  const waiting: Waiting[] = []
  let isScheduled = false
  let tellEnd: (() => void) | undefined

  const schedule = (pause?: number) => {
    if (isScheduled) return
    isScheduled = true
    if (pause === undefined) setImmediate(flush)
    else setTimeout(flush, pause)
  }

  const flush = () => {
    isScheduled = false
    if (waiting.length > 0) schedule(writeGroup())
    else tellEnd?.()
  }

  /** Settles the first of those that wait; how long to pause before the next. */
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
    const patient = waiting.findIndex(({ since }) => since > latest)
    rejectAll(waiting.splice(0, patient < 0 ? waiting.length : patient), lockedError())
    return pauseForLock()
  }

  const settle = (group: readonly Waiting[]) => {
    const settled: (() => void)[] = []
    try {
      for (const each of group) settled.push(attempt(each))
      transaction.commit()
    } catch (error) {
      transaction.rollback()
      rejectAll(group, error)
      return
    }
    for (const each of settled) each()
  }

  /** What is to be told once the group is committed. */
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
      // Anything else than the write's own failure is one of the transaction: it is lost as a
      // whole.
      if (error !== failure) throw failure ?? error
      return () => reject(error)
    }
    return () => resolve(result as never)
  }

  return {
    write(work) {
      schedule()
      return new Promise((resolve, reject) => {
        waiting.push({ work, resolve, reject, since: performance.now() })
      })
    },
    end() {
      schedule()
      return new Promise((resolve) => {
        tellEnd = resolve
      })
    },
  }
}

function rejectAll(group: readonly Waiting[], error: unknown): void {
  for (const { reject } of group) reject(error)
}
