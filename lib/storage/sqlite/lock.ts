import { TillError } from '../../errors.ts'

/** How long a write waits for another process's lock. */
export const GIVE_UP_MS = 10_000

/**
 * How long to wait before the lock is tried again. Short, because a process that writes without a
 * pause leaves it free for a fiftieth of the time: SQLite's own handler, which comes back every 100
 * ms, was kept out for 5 s by one such process. At random, so that no two keep meeting.
 */
export function pauseForLock(): number {
  return 1 + Math.random() * 3
}

export function lockedError(): TillError {
  return new TillError('storage_unavailable', 'The database is locked by another process')
}
