import { BoundedMap } from '../bounded-map.ts'
import type { Page, Storage } from './port.ts'

/** The methods whose results are cached: the reads that frequent requests need. */
export const READS = [
  'findAccountByKeyHash',
  'findProject',
  'findProjectByPublicKey',
  'findFormerPublicKey',
  'findStore',
  'listStoreSummaries',
  'findItem',
  'listItems',
  'findWatermark',
] as const satisfies readonly (keyof Storage)[]

/**
 * The maximum number of version checks that follow the first one in a turn of the event loop. A
 * request needs fewer. A longer series of reads continues in the next turn.
 */
const CHECKS_PER_TURN = 8

type Method = (...args: readonly unknown[]) => Promise<unknown>

/**
 * Adds a read cache of at most `bytes` to a storage. Each read first compares the result of
 * `readVersion` with the previous one, and clears the cache if they differ. A read therefore never
 * returns an outdated result. `readVersion` must return another value after each change of the cached
 * results.
 *
 * Reads in the same turn of the event loop share one version check, because a check takes as long
 * as a small read. With one check for each read, 64 connections that read a list had half the
 * throughput.
 *
 * Records are frozen, and a cached record is always the same object. A caller may use this object
 * as the key of its own cache.
 */
export function createReadCache(
  storage: Storage,
  readVersion: () => unknown,
  bytes: number,
): Storage {
  const cache = new BoundedMap<Entry>(bytes, ({ size }) => size)
  const pending = new Map<string, Promise<unknown>>()
  let epoch = 0
  let version: unknown
  let checking: Promise<void> | undefined
  let checksLeft = 0

  const clear = () => {
    epoch++
    cache.clear()
    pending.clear()
  }

  const checkNow = () => {
    checking = undefined
    const found = readVersion()
    if (found === version) return
    clear()
    version = found
  }

  /**
   * Resolves after a version check that starts after the call. An earlier check is not enough,
   * because another connection may have committed since then.
   *
   * The first check of a turn runs in `setImmediate`, when all requests that have arrived are
   * parsed. Further checks of the same turn run in `process.nextTick`. They serve reads that need
   * the result of an earlier read. Running each check in its own turn would take a tenth more CPU
   * time per request.
   */
  const checkVersion = () => {
    checking ??= new Promise((resolve, reject) => {
      const settle = () => {
        try {
          resolve(checkNow())
        } catch (error) {
          reject(error)
        }
      }
      if (checksLeft > 0) {
        checksLeft--
        process.nextTick(settle)
        return
      }
      setImmediate(() => {
        checksLeft = CHECKS_PER_TURN
        settle()
      })
      setImmediate(() => {
        checksLeft = 0
      })
    })
    return checking
  }

  const cached = (name: (typeof READS)[number]): Method => {
    const method = storage[name] as Method
    return async (...args) => {
      await checkVersion()
      const key = keyOf(name, args)
      const known = cache.get(key)?.value
      if (known !== undefined && known !== READ_ONCE) return known
      return readOnce(key, async () => {
        const begun = epoch
        const found = await method(...args)
        if (found === undefined || epoch !== begun) return found
        const value = known === READ_ONCE || !isLaterPage(args) ? found : READ_ONCE
        cache.set(key, { value, size: sizeOf(key, value) })
        return found
      })
    }
  }

  /** Reads a result that is not cached. Simultaneous reads with the same key share one read. */
  const readOnce = (key: string, read: () => Promise<unknown>) => {
    const known = pending.get(key)
    if (known) return known
    const result = read().finally(() => {
      if (pending.get(key) === result) pending.delete(key)
    })
    pending.set(key, result)
    return result
  }

  return {
    ...storage,
    ...Object.fromEntries(READS.map((name) => [name, cached(name)])),
    revision: { current: () => epoch, check: checkVersion },
  }
}

/**
 * Marks a page that was read only once. The first read of a page caches this mark, and the second
 * read caches the page. Otherwise one client that reads a long list would fill the cache with pages
 * that nobody reads again. The first page of a list is cached at its first read.
 */
export const READ_ONCE = Symbol('read once')

export function isLaterPage([, page]: readonly unknown[]): boolean {
  return typeof page === 'object' && (page as Page).after !== undefined
}

/** Prefixes the length of the first string: otherwise 'a', 'bc' and 'ab', 'c' have the same key. */
export function keyOf(name: string, args: readonly unknown[]): string {
  const [first, second] = args
  if (typeof first !== 'string' || typeof second === 'object' || args.length > 2) {
    return `${name}\n${JSON.stringify(args)}`
  }
  return typeof second === 'string'
    ? `${name}\n${first.length} ${first}${second}`
    : `${name}\n${first}`
}

interface Entry {
  readonly value: unknown
  readonly size: number
}

/** The estimated overhead of a cache entry in bytes, without its key and value. */
const ENTRY_BYTES = 128

/** Returns an upper estimate of the bytes of a cache entry. Freezes the value deeply. */
export function sizeOf(key: string, value: unknown): number {
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
