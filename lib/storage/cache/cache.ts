import { BoundedMap } from '../../bounded-map.ts'
import type { Page, Storage, Together } from '../port.ts'
import {
  CACHED_READS,
  type CachedRead,
  type Change,
  namesOfChange,
  sourceOf,
} from './dependencies.ts'

/** The result of a version check. `V` is the state of the database. */
export interface Checked<V> {
  /** Data that is read after the check has this state or a newer one. Undefined if unknown. */
  readonly version: V | undefined
  /** The changes since the previous version; undefined if not all of them are known. */
  readonly changes: readonly Change[] | undefined
}

/** A database that reports each commit of a write, and each connection that it has lost. */
interface Listened {
  onWrite(listener: (isAudited: boolean) => void): unknown
  onLost?(listener: () => void): void
}

/** A storage to which a cache is added. */
export type Uncached = Omit<Storage, 'together' | 'allowStale' | 'revision'>

const callOnly: Together = (work) => work()

const CACHE_BYTES = 32 * 2 ** 20

type Method = (...args: readonly unknown[]) => Promise<unknown>

/**
 * Adds a read cache of at most `bytes` to a storage; none for 0 bytes. A call returns a cached
 * result only if a version check that began after the call finds no change of the result. The cache
 * therefore never returns an outdated result.
 *
 * Calls in the same turn of the event loop share a version check. A result that is not cached is
 * read from the database, without a version check. Equal calls in one turn share this read.
 *
 * Records are frozen, and a cached record is always the same object. A caller may use this object
 * as the key of its own cache.
 */
export function withReadCache<V>(
  storage: Uncached,
  db: Listened,
  check: (previous?: V) => Checked<V> | Promise<Checked<V>>,
  bytes = CACHE_BYTES,
): Storage {
  if (bytes === 0) return { ...storage, together: () => callOnly, allowStale: callOnly }
  const cache = new BoundedMap<Entry>(bytes, ({ size }) => size)
  const pending = new Map<string, Pending>()
  /** The number of changes that version checks have found. The latest change has this number. */
  let changes = 0
  /**
   * For each name of data (see `sourceOf`), the number of its latest change. `allChangedAt`
   * is the number at which the whole cache was last cleared.
   */
  const changedAt = new Map<string, number>()
  let allChangedAt = 0
  let losses = 0
  let version: V | undefined
  /**
   * A logical clock, which orders all events: it advances when a check or a read is sent, and when
   * a write has ended.
   */
  let clock = 0
  /** The `clock` at which the latest completed check was sent. */
  let checkedAt = 0
  /** The `clock` at the end of this process's latest write. */
  let wroteAt = 0
  let running: { readonly at: number; readonly done: Promise<void> } | undefined
  let next: Promise<void> | undefined
  /** The number of calls that wait for `next`. */
  let waiting = 0
  /** Returns the time of the `clock` after which the check for a read must be sent. */
  let earliest = () => clock

  const clear = () => {
    allChangedAt = ++changes
    changedAt.clear()
    cache.clear()
  }

  /** Drops all results and the known version of the data. */
  const forget = () => {
    losses++
    version = undefined
    clear()
  }

  const apply = (change: Change) => {
    const names = namesOfChange(change)
    if (!names || changedAt.size > MOST_NAMES) return clear()
    if (names.length === 0) return
    changes++
    for (const name of names) changedAt.set(name, changes)
  }

  const checkNow = async () => {
    const begun = losses
    try {
      const checked = await check(version)
      if (losses !== begun) return
      if (checked.changes) for (const change of checked.changes) apply(change)
      else clear()
      version = checked.version
    } catch (error) {
      forget()
      throw error
    }
  }

  const send = () => {
    next = undefined
    waiting = 0
    const at = ++clock
    const done = checkNow()
      .then(() => {
        checkedAt = at
      })
      .finally(() => {
        running = undefined
      })
    running = { at, done }
    return done
  }

  /**
   * Resolves after a check that was sent later than `since`. Only one check runs at a time. If
   * several calls wait for it, it also waits for the calls of the next turn of the event loop.
   */
  const checkAfter = (since: number): Promise<void> => {
    if (running && running.at > since) return running.done
    waiting++
    next ??= new Promise((resolve, reject) => {
      const start = () => void send().then(resolve, reject)
      const soon = () => setImmediate(() => (waiting > 1 ? setImmediate(start) : start()))
      if (running) running.done.then(soon, soon)
      else soon()
    })
    return next
  }

  const isCurrent = ({ source, changes }: Pick<Entry, 'source' | 'changes'>) =>
    allChangedAt <= changes && (changedAt.get(source) ?? 0) <= changes

  const find = (key: string): Entry | undefined => {
    const entry = cache.get(key)
    return entry && isCurrent(entry) ? entry : undefined
  }

  const withEarliest = <T>(inner: () => number, work: () => T): T => {
    const outer = earliest
    earliest = inner
    try {
      return work()
    } finally {
      earliest = outer
    }
  }

  const cached = (name: CachedRead): Method => {
    const method = storage[name] as Method
    return async (...args) => {
      const since = earliest()
      const key = keyOf(name, args)
      const known = find(key)
      if (known && known.value !== READ_ONCE) {
        if (checkedAt <= since) await checkAfter(since)
        if (isCurrent(known)) return known.value
      }
      if (version === undefined) checkAfter(since).catch(() => {})
      // A read that was sent before the call may miss a new record, also with `allowStale`.
      return share(key, since < 0 ? clock : since, () => read(name, method, key, args))
    }
  }

  const read = async (name: CachedRead, method: Method, key: string, args: readonly unknown[]) => {
    const begun = { changes, version }
    const found = await method(...args)
    if (found === undefined || begun.version === undefined) return found
    const source = sourceOf(name, found, args)
    if (!isCurrent({ source, changes: begun.changes })) return found
    const value = find(key)?.value === READ_ONCE || !isLaterPage(args) ? found : READ_ONCE
    const size = sizeOf(key + source, value)
    cache.set(key, { value, size, source, changes: begun.changes })
    return found
  }

  /**
   * Shares one read between equal calls in the same turn. Within `together`, a call also shares a
   * read that was sent after the start of its request.
   */
  const share = (key: string, since: number, work: () => Promise<unknown>) => {
    const known = pending.get(key)
    if (known && known.at > since) return known.result
    const own: Pending = { at: Number.POSITIVE_INFINITY, result: undefined }
    pending.set(key, own)
    own.result = new Promise((resolve, reject) => {
      setImmediate(() => {
        own.at = ++clock
        work()
          .finally(() => {
            if (pending.get(key) === own) pending.delete(key)
          })
          .then(resolve, reject)
      })
    })
    return own.result
  }

  /**
   * Makes later reads wait for a version check, which finds a write by its audit entry. Empties the
   * cache after a write without an audit entry.
   */
  const notice = (isAudited: boolean) => {
    wroteAt = ++clock
    if (!isAudited) clear()
  }

  db.onWrite(notice)
  db.onLost?.(forget)
  return {
    ...storage,
    ...Object.fromEntries(CACHED_READS.map((name) => [name, cached(name)])),
    revision: { current: () => changes, check: () => checkAfter(clock) },
    together() {
      const at = clock
      const earliest = () => Math.max(at, wroteAt)
      return (work) => withEarliest(earliest, work)
    },
    allowStale: (work) => withEarliest(() => -1, work),
  }
}

interface Entry {
  readonly value: unknown
  readonly size: number
  /** See `sourceOf`. */
  readonly source: string
  /** The value of the variable `changes` when the read began. */
  readonly changes: number
}

interface Pending {
  /** The `clock` when the read was sent; infinite until the read is sent. */
  at: number
  result: Promise<unknown> | undefined
}

/**
 * The maximum number of names in `changedAt`, which take about 1 MB. Above it, the cache is
 * cleared.
 */
const MOST_NAMES = 10_000

/**
 * Marks a page that was read only once. The first read of a page caches this mark, and the second
 * read caches the page. Otherwise one client that reads a long list would fill the cache with pages
 * that nobody reads again. The first page of a list is cached at its first read.
 */
const READ_ONCE = Symbol('read once')

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
