import { BoundedMap } from '../../bounded-map.ts'
import type { Page, Storage, Together } from '../port.ts'
import {
  CACHED_READS,
  type CachedRead,
  type Change,
  createChangeCounter,
  sourceOf,
} from './dependencies.ts'
import { createSharedReads } from './shared-reads.ts'
import { type Check, Clock, createVersionChecks } from './version-checks.ts'

/** A database that reports each commit of a write, and each connection that it has lost. */
interface Listened {
  onWrite(listener: (isAudited: boolean) => void): unknown
  onLost?(listener: () => void): void
}

/** A storage to which a cache is added. */
export type Uncached = Omit<Storage, 'together' | 'stale' | 'dataVersion'>

const CACHE_BYTES = 32 * 2 ** 20

type Method = (...args: readonly unknown[]) => Promise<unknown>

/** Returns the time after which the version check for a read must be sent. */
type Earliest = () => number

const NO_CHECK = -1

interface Entry {
  readonly value: unknown
  readonly size: number
  /** See `sourceOf`. */
  readonly source: string
  /** The number of the latest change when the read began. */
  readonly changes: number
}

/**
 * Adds a read cache of at most `bytes` to a storage; none for 0 bytes. A call returns a cached
 * result only if a version check that began after the call finds no change of the result. The cache
 * therefore never returns an outdated result, except through `stale`.
 *
 * Calls in the same turn of the event loop share a version check. A result that is not cached is
 * read from the database, without a version check. Equal calls in one turn share this read. Only the
 * first page of a list is cached: otherwise one client that reads a long list would fill the cache.
 *
 * Records are frozen, and a cached record is always the same object. A caller may use this object
 * as the key of its own cache.
 */
export function withReadCache<V>(
  storage: Uncached,
  db: Listened,
  check: Check<V>,
  bytes = CACHE_BYTES,
): Storage {
  if (bytes === 0) return { ...storage, together: () => (work) => work(), stale: storage }
  const cache = new BoundedMap<Entry>(bytes, ({ size }) => size)
  const clock = new Clock()
  const changes = createChangeCounter()

  const clear = () => {
    changes.addAll()
    cache.clear()
  }
  const checks = createVersionChecks(check, clock, (found: readonly Change[] | undefined) => {
    if (!found) return clear()
    for (const change of found) if (!changes.add(change)) clear()
  })
  const share = createSharedReads(clock)
  const { isCurrent } = changes

  const find = (key: string): Entry | undefined => {
    const entry = cache.get(key)
    return entry && isCurrent(entry.source, entry.changes) ? entry : undefined
  }

  const read = async (name: CachedRead, key: string, args: readonly unknown[]) => {
    const begun = changes.count
    const isKnown = checks.version !== undefined
    const value = await (storage[name] as Method)(...args)
    if (value === undefined || !isKnown || isLaterPage(args)) return value
    const source = sourceOf(name, value, args)
    if (!isCurrent(source, begun)) return value
    cache.set(key, { value, size: sizeOf(key + source, value), source, changes: begun })
    return value
  }

  const { hasChecked, checkAfter } = checks

  /** Returns the result of a read. A cached one needs a version check that was sent later than `since`. */
  const get = async (name: CachedRead, since: number, args: readonly unknown[]) => {
    const key = keyOf(name, args)
    const known = find(key)
    if (known) {
      if (!hasChecked(since)) await checkAfter(since)
      if (isCurrent(known.source, known.changes)) return known.value
    }
    if (checks.version === undefined) checkAfter(since).catch(() => {})
    // A read that was sent before the call may miss a new record, also through `stale`.
    return share(key, since === NO_CHECK ? clock.now : since, () => read(name, key, args))
  }

  /** The time of this process's latest write. */
  let wroteAt = 0
  /**
   * Makes later reads wait for a version check, which finds a write by its audit entry. Empties the
   * cache after a write without an audit entry.
   */
  db.onWrite((isAudited) => {
    wroteAt = clock.tick()
    if (!isAudited) clear()
  })
  db.onLost?.(checks.forget)

  const now = () => clock.now
  // The services do not pass the request on to the storage. `together` therefore sets it for the
  // calls that its work begins synchronously.
  let earliest: Earliest = now
  const together = (): Together => {
    const at = clock.now
    const ofRequest = () => Math.max(at, wroteAt)
    return (work) => {
      const outer = earliest
      earliest = ofRequest
      try {
        return work()
      } finally {
        earliest = outer
      }
    }
  }
  return {
    ...storage,
    ...readsOf(
      (name) =>
        (...args) =>
          get(name, earliest(), args),
    ),
    stale: readsOf(
      (name) =>
        (...args) =>
          get(name, NO_CHECK, args),
    ),
    dataVersion: { current: () => changes.count, check: () => checkAfter(clock.now) },
    together,
  }
}

function readsOf(make: (name: CachedRead) => Method): Pick<Storage, CachedRead> {
  const reads = Object.fromEntries(CACHED_READS.map((name) => [name, make(name)]))
  return reads as unknown as Pick<Storage, CachedRead>
}

function isLaterPage([, page]: readonly unknown[]): boolean {
  return typeof page === 'object' && (page as Page).after !== undefined
}

/** Prefixes the length of the first string: otherwise 'a', 'bc' and 'ab', 'c' have the same key. */
function keyOf(name: string, args: readonly unknown[]): string {
  const [first, second] = args
  if (typeof first !== 'string' || typeof second === 'object' || args.length > 2) {
    return `${name}\n${JSON.stringify(args)}`
  }
  return typeof second === 'string'
    ? `${name}\n${first.length} ${first}${second}`
    : `${name}\n${first}`
}

/** The estimated overhead of a cache entry in bytes, without its key and value. */
const ENTRY_BYTES = 128

/** Returns an upper estimate of the bytes of a cache entry. Freezes the value deeply. */
function sizeOf(key: string, value: unknown): number {
  return ENTRY_BYTES + bytesOf(key) + freeze(value)
}

/**
 * Freezes a value deeply. Returns an upper estimate of its bytes in memory, based on measurements
 * of 64-bit Node 20 and 26. The estimate includes the JSON text of an HTTP response, which callers
 * may cache for the value. The length of that text alone would be far too low. A value has at most
 * 32 levels of nesting.
 */
function freeze(value: unknown): number {
  if (typeof value !== 'object' || value === null) return bytesOf(value)
  Object.freeze(value)
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + 8 + freeze(each), 64)
  let sum = 128
  for (const [key, member] of Object.entries(value)) sum += 56 + key.length + freeze(member)
  return sum
}

function bytesOf(value: unknown): number {
  return typeof value === 'string' ? 32 + value.length + 2 * Buffer.byteLength(value) : 24
}
