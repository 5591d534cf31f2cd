import { TillError } from '../../errors.ts'

/** How long a write waits for another process's lock before it fails. */
export const GIVE_UP_MS = 10_000

/**
 * Milliseconds before the next attempt to lock. Short, because a process that writes without pause
 * leaves the file unlocked for only 2% of the time. SQLite's busy handler, which tries every 100
 * ms, got no lock for 5 s. Random, to keep two processes from colliding again and again.
 */
export function pauseForLock(): number {
  return 1 + Math.random() * 3
}

export function lockedError(): TillError {
  return new TillError('storage_unavailable', 'The database is locked by another process')
}
