import { setTimeout } from 'node:timers/promises'

/** Called between two slices of work, so that others have their turn. Rejects when it is to stop. */
export type Pause = () => Promise<unknown>

export interface Cleanup {
  /** Resolves once the slice under way has ended; no other begins. */
  stop(): Promise<void>
}

/** Longer than the leases of both databases, so that a second try finds what they kept at first. */
const AGAIN_MS = 30_000
const MAX_PAUSE_MS = 1_000

/**
 * Runs `clear` in the background, and again every 30 s until it says that nothing is left. Works at
 * most half of the time: each pause is as long as the slice before it. A failure is tried again
 * too: what waits to be cleared is not seen, so nobody needs to hear of it.
 */
export function startCleanup(clear: (pause: Pause) => Promise<boolean>): Cleanup {
  const stopping = new AbortController()
  const { signal } = stopping
  const wait = (ms: number) => setTimeout(ms, undefined, { signal, ref: false })

  const run = async () => {
    let since = performance.now()
    const pause = async () => {
      await wait(Math.min(performance.now() - since, MAX_PAUSE_MS))
      since = performance.now()
    }
    await pause()
    while (!(await clear(pause).catch(() => false))) await wait(AGAIN_MS)
  }

  const ended = run().catch(() => {}) // only when it is stopped
  return {
    async stop() {
      stopping.abort()
      await ended
    },
  }
}
