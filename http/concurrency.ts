import { setTimeout } from 'node:timers/promises'
import type { Limits } from './limits.ts'
import { overloaded, type TransportFault } from './problems.ts'

/** The kinds of requests that have a concurrency limit. */
export type RequestKind = 'reads' | 'writes' | 'uploads'

/** How many requests of one kind run at once, and how many of these one owner may have. */
export interface ConcurrencyLimit {
  readonly size: number
  /** The most that one owner holds: an account, or an address whose account is not known yet. */
  readonly share: number
  /** The most that one project holds. */
  readonly projectShare: number | undefined
  readonly owners: Map<string, number>
  readonly projects: Map<string, number>
  taken: number
  refused: number
  readonly full: TransportFault
  readonly shareFull: TransportFault
}

export type ConcurrencyLimits = { readonly [K in RequestKind | 'verifications']: ConcurrencyLimit }

/** Throws a TypeError for a share that is not a percentage. */
export function createConcurrencyLimits(limits: Limits): ConcurrencyLimits {
  const { accountShare, uploadsOfProject } = limits
  if (!Number.isInteger(accountShare) || accountShare < 1 || accountShare > 100) {
    throw new TypeError('accountShare must be a whole number of percent, 1 to 100')
  }
  const create = (
    size: number,
    owner: 'account' | 'address',
    what: string,
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
    // Created once: under load even the stack of an error costs.
    full: overloaded(`Too many ${what} are in flight; try again`, retryAfter),
    shareFull: overloaded(`This ${owner} has its share of the ${what} in flight`, retryAfter),
  })
  return {
    reads: create(limits.readsInFlight, 'account', 'reads', '1'),
    writes: create(limits.writesInFlight, 'account', 'writes', '1'),
    uploads: create(limits.uploadsInFlight, 'account', 'imports', '5', uploadsOfProject),
    verifications: create(limits.verificationsInFlight, 'address', 'credential checks', '1'),
  }
}

const projectFull = overloaded('Too many imports of this project are in flight', '5')

/** Throws 503 when the limit is reached for everybody. Acquires nothing. */
export function assertRoom(limit: ConcurrencyLimit): void {
  if (limit.taken >= limit.size) throw refusal(limit, limit.full)
}

/** Counts a request until its `release`. Throws 503 past the limit or the owner's share. */
export function acquire(limit: ConcurrencyLimit, owner: string, project?: string): void {
  assertRoom(limit)
  const { owners, projects, share, projectShare } = limit
  const held = owners.get(owner) ?? 0
  if (held >= share) throw refusal(limit, limit.shareFull)
  if (projectShare !== undefined && project !== undefined) {
    const heldByProject = projects.get(project) ?? 0
    if (heldByProject >= projectShare) throw refusal(limit, projectFull)
    projects.set(project, heldByProject + 1)
  }
  owners.set(owner, held + 1)
  limit.taken++
}

/** Ends what `acquire` began with the same arguments. */
export function release(limit: ConcurrencyLimit, owner: string, project?: string): void {
  limit.taken--
  decrement(limit.owners, owner)
  if (limit.projectShare !== undefined && project !== undefined) decrement(limit.projects, project)
}

const POLL_MS = 100

/**
 * Does further work of a request that gave its place back. Waits for room, since its answer has
 * begun already; throws 503 after `timeout` ms.
 */
export async function workWhenFree<T>(
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

function refusal(limit: ConcurrencyLimit, fault: TransportFault): TransportFault {
  limit.refused++
  return fault
}
