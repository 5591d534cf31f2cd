import { TillError } from '../errors.ts'

const MAX_WAIT_MS = 10_000

/**
 * Limits how many calls that take long use a connection of the database at the same time: a third
 * of `connections`, at least one. The others wait without a connection, and the accounts take turns.
 * SQLite has no pool: three long calls at a time.
 */
export function createLongCalls(connections = 9) {
  const most = Math.max(1, Math.floor(connections / 3))
  /** The waiting calls by account. The account with the next turn comes first. */
  const waiting = new Map<string, Set<() => void>>()
  let running = 0

  const wait = (account_id: string, limit: number | undefined) =>
    new Promise<void>((resolve, reject) => {
      const calls = waiting.get(account_id) ?? new Set()
      const refuse = () => {
        calls.delete(start)
        if (calls.size === 0) waiting.delete(account_id)
        reject(new TillError('storage_unavailable', 'Too many long calls are running; try again'))
      }
      const timer = limit === undefined ? undefined : setTimeout(refuse, limit)
      const start = () => {
        clearTimeout(timer)
        resolve()
      }
      waiting.set(account_id, calls.add(start))
    })

  /** Passes the turn of a call that has ended on to the next account. */
  const startNext = () => {
    const [next] = waiting
    if (!next) {
      running--
      return
    }
    const [account_id, calls] = next
    const [start] = calls
    if (start) calls.delete(start)
    waiting.delete(account_id)
    if (calls.size > 0) waiting.set(account_id, calls) // moves the account to the end
    start?.()
  }

  const run = async <T>(account_id: string, work: () => Promise<T>, limit?: number): Promise<T> => {
    if (running < most) running++
    else await wait(account_id, limit)
    try {
      return await work()
    } finally {
      startNext()
    }
  }

  return {
    /** Runs `work` in the account's turn. After waiting for 10 s, throws `storage_unavailable`. */
    run: <T>(account_id: string, work: () => Promise<T>) => run(account_id, work, MAX_WAIT_MS),
    /**
     * Yields the values of `source`. Each one is created in a turn of its own. Only the first one
     * may be refused: its successors wait as long as necessary.
     */
    async *each<T>(account_id: string, source: AsyncIterable<T>): AsyncGenerator<T> {
      const values = source[Symbol.asyncIterator]()
      const next = () => values.next()
      try {
        let value = await run(account_id, next, MAX_WAIT_MS)
        for (; !value.done; value = await run(account_id, next)) yield value.value
      } finally {
        await values.return?.()
      }
    },
  }
}
