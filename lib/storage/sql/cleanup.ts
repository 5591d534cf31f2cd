import { setTimeout } from 'node:timers/promises'

/** Waits between two slices of work to let other work run. Rejects when the cleanup is stopped. */
export type Pause = () => Promise<unknown>

/**
 * The time between two runs, at least as long as an import's lease. An import that was abandoned
 * before the first run has lost its lease by the second run.
 */
const RETRY_MS = 30_000
const MAX_PAUSE_MS = 1_000

/** Returns a pause that is as long as the work since the pause before, but at most 1 s. */
export function createPause(
  wait: (ms: number) => Promise<unknown> = (ms) => setTimeout(ms),
): Pause {
  let since = performance.now()
  return async () => {
    await wait(Math.min(performance.now() - since, MAX_PAUSE_MS))
    since = performance.now()
  }
}

/**
 * Runs `clear` in the background every 30 s until it resolves to true. `clear` calls `pause` after
 * each slice of work. Ignores errors, because no read returns the rows to delete, and the next run
 * tries again.
 */
export function startCleanup(clear: (pause: Pause) => Promise<boolean>) {
  const stopping = new AbortController()
  const { signal } = stopping
  const wait = (ms: number) => setTimeout(ms, undefined, { signal, ref: false })

  const run = async () => {
    const pause = createPause(wait)
    await pause()
    while (!(await clear(pause).catch(() => false))) await wait(RETRY_MS)
  }

  const ended = run().catch(() => {}) // stopping the cleanup rejects its pause
  return {
    /** Stops the cleanup. Resolves after the current slice of work. */
    async stop() {
      stopping.abort()
      await ended
    },
  }
}
