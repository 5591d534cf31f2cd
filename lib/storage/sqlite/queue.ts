import { TillError } from '../../errors.ts'

/** How a group of writes is begun and ended. */
export interface GroupTransaction {
  /** False while another process has the lock. */
  begin(): boolean
  /** Runs one write of the group; if it throws, what it wrote is undone and the others' kept. */
  attempt<T>(work: () => T): T
  commit(): void
  rollback(): void
}

interface Waiting {
  readonly work: () => unknown
  readonly resolve: (result: never) => void
  readonly reject: (error: unknown) => void
}

/** So that no group holds the event loop for more than some 10 ms. */
const MAX_GROUP = 500
const MAX_PAUSE_MS = 10
const GIVE_UP_MS = 10_000

/**
 * Gathers the writes of one turn of the event loop into a transaction. A write alone waits for the
 * disk as long as it ever did; 64 at once wait once, not 64 times (bench/create).
 */
export function createWriteQueue(transaction: GroupTransaction): <T>(work: () => T) => Promise<T> {
  let waiting: Waiting[] = []
  let busySince: number | undefined

  const flush = () => {
    const begun = begin()
    if (begun === undefined) return
    const group = waiting.slice(0, MAX_GROUP)
    waiting = waiting.slice(MAX_GROUP)
    if (waiting.length > 0) setImmediate(flush)
    if (begun instanceof Error) rejectAll(group, begun)
    else settle(group)
  }

  /** Whether the transaction is begun; undefined when it is tried again later. */
  const begin = (): true | Error | undefined => {
    try {
      if (transaction.begin()) {
        busySince = undefined
        return true
      }
    } catch (error) {
      return error as Error
    }
    busySince ??= performance.now()
    if (performance.now() - busySince < GIVE_UP_MS) {
      // At random, so that of several processes none is the one that always comes too late.
      setTimeout(flush, 1 + Math.random() * MAX_PAUSE_MS)
      return undefined
    }
    busySince = undefined
    return new TillError('storage_unavailable', 'The database is locked by another process')
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
      // Anything else than the write's own failure is one of the transaction: it is lost as a whole.
      if (error !== failure) throw failure ?? error
      return () => reject(error)
    }
    return () => resolve(result as never)
  }

  return (work) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0 && busySince === undefined) setImmediate(flush)
      waiting.push({ work, resolve, reject })
    })
}

function rejectAll(group: readonly Waiting[], error: unknown): void {
  for (const { reject } of group) reject(error)
}
