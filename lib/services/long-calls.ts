import { TillError } from '../errors.ts'
import { Turns } from '../turns.ts'

const MAX_WAIT_MS = 10_000

/**
 * Limits how many calls that take long use a connection of the database at the same time: a third
 * of `connections`, at least one. The others wait without a connection, and the accounts take turns.
 * SQLite has no pool: three long calls at a time. After waiting for 10 s, a call throws
 * `storage_unavailable`.
 */
export function createLongCalls(connections = 9): Turns {
  return new Turns({ most: connections / 3, refusal })
}

/**
 * Limits how many calls keep what a whole file says in memory, such as 55 MiB of ids: two, one an
 * account.
 */
export function createFileCalls(): Turns {
  return new Turns({ most: 2, mostOfOwner: 1, refusal })
}

const refusal = {
  after: MAX_WAIT_MS,
  error: () => new TillError('storage_unavailable', 'Too many long calls are running; try again'),
}
