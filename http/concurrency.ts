import { setTimeout } from 'node:timers/promises'
import type { Limits } from './limits.ts'
import { overloaded, type TransportFault } from './problems.ts'

/** The kinds of requests that have a concurrency limit. */
export type RequestKind = 'reads' | 'writes' | 'uploads' | 'reports'

/**
 * Limits how many requests of one kind run at the same time, in total and for each owner. The owner
 * of a request is its account or, until the account is known, its address.
 */
export interface ConcurrencyLimit {
  readonly size: number
  /**
   * The maximum number of requests of one owner at a time. The owner is an account or, until the
   * account is known, an address.
   */
  readonly share: number
  /** The maximum number of requests of one project at a time. */
  readonly projectShare: number | undefined
  readonly owners: Map<string, number>
  readonly projects: Map<string, number>
  taken: number
  refused: number
  readonly full: TransportFault
  readonly shareFull: TransportFault
}

export type ConcurrencyLimits = { readonly [K in RequestKind | 'verifications']: ConcurrencyLimit }

/** Creates the concurrency limits. Throws a TypeError when `accountShare` is not a percentage. */
export function createConcurrencyLimits(limits: Limits): ConcurrencyLimits {
  const { accountShare, uploadsOfProject } = limits
  if (!Number.isInteger(accountShare) || accountShare < 1 || accountShare > 100) {
    throw new TypeError('accountShare must be a whole number of percent, 1 to 100')
  }
  const create = (
    size: number,
    owner: 'account' | 'address',
    requests: string,
    retryAfter: string,
    projectShare?: number,
  ): ConcurrencyLimit => ({
    size,
    share: Math.max(1, Math.floor((size * accountShare) / 100)),
    projectShare,
    owners: new Map(),
    projects: new Map(),
    taken: 0,
    refused: 0,
    // Creates the 503 errors only once: creating an error with its stack takes microseconds.
    full: overloaded(`Too many ${requests} are in flight; try again`, retryAfter),
    shareFull: overloaded(`This ${owner} has its share of the ${requests} in flight`, retryAfter),
  })
  return {
    reads: create(limits.readsInFlight, 'account', 'reads', '1'),
    writes: create(limits.writesInFlight, 'account', 'writes', '1'),
    uploads: create(limits.uploadsInFlight, 'account', 'imports', '5', uploadsOfProject),
    reports: create(limits.reportsInFlight, 'account', 'reports', '1'),
    verifications: create(limits.verificationsInFlight, 'address', 'credential checks', '1'),
  }
}

const projectFull = overloaded('Too many imports of this project are in flight', '5')

/** Throws 503 when the limit is reached. Does not count the request. */
export function assertRoom(limit: ConcurrencyLimit): void {
  if (limit.taken >= limit.size) throw countRefusal(limit, limit.full)
}

/** Counts a request until `release`. Throws 503 when the limit or the caller's share is used up. */
export function acquire(limit: ConcurrencyLimit, owner: string, project?: string): void {
  assertRoom(limit)
  const { owners, projects, share, projectShare } = limit
  const held = owners.get(owner) ?? 0
  if (held >= share) throw countRefusal(limit, limit.shareFull)
  if (projectShare !== undefined && project !== undefined) {
    const heldByProject = projects.get(project) ?? 0
    if (heldByProject >= projectShare) throw countRefusal(limit, projectFull)
    projects.set(project, heldByProject + 1)
  }
  owners.set(owner, held + 1)
  limit.taken++
}

/** Like `acquire`, but returns false instead of throwing. Does not check `projectShare`. */
export function tryAcquire(limit: ConcurrencyLimit, owner: string): boolean {
  if (!hasRoom(limit, owner)) return false
  acquire(limit, owner)
  return true
}

/** Stops counting a request. Pass the arguments with which `acquire` counted the request. */
export function release(limit: ConcurrencyLimit, owner: string, project?: string): void {
  limit.taken--
  decrement(limit.owners, owner)
  if (limit.projectShare !== undefined && project !== undefined) decrement(limit.projects, project)
}

const POLL_MS = 100

/**
 * Runs `work` for a request whose answer has begun. The status of the answer can no longer become
 * 503, so this function waits until the limit has room. Counts the request while `work` runs.
 * Throws if the limit has no room within `timeout` ms.
 */
export async function runWhenFree<T>(
  limit: ConcurrencyLimit,
  owner: string,
  timeout: number,
  work: () => Promise<T>,
): Promise<T> {
  for (let waited = 0; waited < timeout && !hasRoom(limit, owner); waited += POLL_MS) {
    await setTimeout(POLL_MS)
  }
  acquire(limit, owner)
  try {
    return await work()
  } finally {
    release(limit, owner)
  }
}

function hasRoom({ taken, size, owners, share }: ConcurrencyLimit, owner: string): boolean {
  return taken < size && (owners.get(owner) ?? 0) < share
}

function decrement(counts: Map<string, number>, key: string): void {
  const count = counts.get(key) ?? 0
  if (count > 1) counts.set(key, count - 1)
  else counts.delete(key)
}

function countRefusal(limit: ConcurrencyLimit, fault: TransportFault): TransportFault {
  limit.refused++
  return fault
}
