import { TillError } from '../../errors.ts'

/** How long a write waits for another process's lock. */
export const GIVE_UP_MS = 10_000

/**
 * Milliseconds before the next attempt to lock. Short, because a process that writes without a pause
 * leaves the file unlocked for 2% of the time: SQLite's busy handler, which tries every 100 ms, got
 * no lock for 5 s. Random, so that two processes do not collide again and again.
 */
export function pauseForLock(): number {
  return 1 + Math.random() * 3
}

export function lockedError(): TillError {
  return new TillError('storage_unavailable', 'The database is locked by another process')
}
