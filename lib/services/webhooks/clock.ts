import type { Context } from '../context.ts'

const CHECK_MS = 10_000

/**
 * The clock of the database, for times that another server may compare later, such as that of the
 * next attempt: the clock of this machine may differ. `check` measures the difference, at most every
 * 10 s. Without a database server, both are the same clock.
 */
export function createDatabaseClock({ storage, now }: Pick<Context, 'storage' | 'now'>) {
  let offset = 0
  let checkedUntil = 0
  return {
    now: () => now() + offset,
    async check(): Promise<void> {
      if (performance.now() < checkedUntil) return
      const started = Date.now()
      const clock = await storage.ping()
      if (clock !== undefined) offset = Math.round(clock - (started + Date.now()) / 2)
      checkedUntil = performance.now() + CHECK_MS
    },
  }
}
