import { setTimeout } from 'node:timers/promises'
import type { AttemptResult } from '../../lib/index.ts'

/**
 * Milliseconds between two batches of results. Each batch is one commit. With 25 ms, each message
 * took a tenth more CPU time. After a crash, messages without a stored result are sent again.
 */
const INTERVAL_MS = 100
/** Milliseconds before a batch that the storage did not accept is written again. */
const RETRY_MS = 1_000
const MAX_BATCH = 500
/** The sender claims no more messages while this many results are not yet written. */
const MAX_RESULTS = 1_000

/** Collects results and writes them in batches, one batch at a time. */
export function createSettlement(
  settle: (results: readonly AttemptResult[]) => Promise<void>,
  onError: (error: unknown) => void,
) {
  const results: AttemptResult[] = []
  const closing = new AbortController()
  let running: Promise<void> | undefined
  const pause = (milliseconds: number) =>
    // `close` aborts `closing`, which ends this pause early.
    setTimeout(milliseconds, undefined, { signal: closing.signal }).catch(() => {})

  const run = async () => {
    await pause(INTERVAL_MS)
    while (results.length > 0) {
      const batch = results.splice(0, MAX_BATCH)
      try {
        await settle(batch)
        if (results.length < MAX_BATCH) await pause(INTERVAL_MS)
      } catch (error) {
        onError(error)
        if (closing.signal.aborted) return // the messages are sent again when their lease ends
        results.unshift(...batch)
        await pause(RETRY_MS)
      }
    }
  }
  const start = () => {
    running ??= run().finally(() => {
      running = undefined
      if (results.length > 0 && !closing.signal.aborted) start()
    })
    return running
  }

  return {
    add(result: AttemptResult): void {
      results.push(result)
      start()
    },
    hasRoom: () => results.length < MAX_RESULTS,
    /** Writes all results, without retries. */
    async close(): Promise<void> {
      closing.abort()
      await running
      if (results.length > 0) await run()
    },
  }
}
