import { BoundedMap } from '../../bounded-map.ts'
import { isLaterPage, keyOf, READ_ONCE, READS, sizeOf } from '../cache.ts'
import type { Storage } from '../port.ts'
import { type CachedRead, namesOfChange, sourceOf } from './dependencies.ts'
import { createRests } from './rests.ts'
import type { Change, Checked, Version } from './version-check.ts'

type Method = (...args: readonly unknown[]) => Promise<unknown>

/**
 * Adds a read cache of at most `bytes` to a storage on a database server. A call returns a cached
 * result only if a version check that was sent after the call finds no change of the result. The
 * cache therefore never returns an outdated result.
 *
 * Calls in the same turn of the event loop share a version check. A result that is not cached is
 * read from the database, without a version check. Equal calls in one turn share this read.
 */
export function createPostgresCache(
  storage: Storage,
  check: (previous?: Version) => Promise<Checked>,
  bytes: number,
) {
  const cache = new BoundedMap<Entry>(bytes, ({ size }) => size)
  const pending = new Map<string, Pending>()
  const rests = createRests()
  /** The number of changes that version checks have found. The latest change has this number. */
  let changes = 0
  /**
   * For each name of data (see `sourceOf`), the number of its latest change. `allChangedAt`
   * is the number at which the whole cache was last cleared.
   */
  const changedAt = new Map<string, number>()
  let allChangedAt = 0
  let losses = 0
  let version: Version | undefined
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
  /** The `clock` at the start of a request, while `together` runs calls of that request. */
  let requestedAt: number | undefined
  /** Whether `allowStale` currently runs its `work`. */
  let isStaleAllowed = false

  const clear = () => {
    allChangedAt = ++changes
    changedAt.clear()
    cache.clear()
  }

  /** Drops all results and the known version of the data. Call it after a connection was lost. */
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

  const find = (key: string): unknown => {
    const entry = cache.get(key)
    return entry && isCurrent(entry) ? entry.value : undefined
  }

  const cached = (name: CachedRead): Method => {
    const method = storage[name] as Method
    return async (...args) => {
      const since = requestedAt === undefined ? clock : Math.max(requestedAt, wroteAt)
      const key = keyOf(name, args)
      const known = cache.get(key)
      if (known && version && known.value !== READ_ONCE && isCurrent(known)) {
        if (isStaleAllowed) return known.value
        const { source } = known
        if (rests.isOver(source)) {
          if (checkedAt <= since) await checkAfter(since)
          const found = find(key)
          if (found !== undefined) {
            rests.hit(source)
            return found
          }
          if (!pending.has(key)) rests.miss(source) // counts a shared read only once
        }
      }
      if (!version) checkAfter(since).catch(() => {})
      return share(key, since, () => read(name, method, key, args))
    }
  }

  const read = async (name: CachedRead, method: Method, key: string, args: readonly unknown[]) => {
    const begun = { changes, version }
    const found = await method(...args)
    if (found === undefined || !begun.version) return found
    const source = sourceOf(name, found, args)
    if (!isCurrent({ source, changes: begun.changes }) || !rests.isOver(source)) return found
    const value = find(key) === READ_ONCE || !isLaterPage(args) ? found : READ_ONCE
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
   * cache after a write without an audit entry. Call it after each commit.
   */
  const notice = (isAudited: boolean) => {
    wroteAt = ++clock
    if (!isAudited) clear()
  }

  const cachedStorage: Storage = {
    ...storage,
    ...Object.fromEntries(READS.map((name) => [name, cached(name)])),
    revision: { current: () => changes, check: () => checkAfter(clock) },
    together() {
      const at = clock
      return (work) => {
        const outer = requestedAt
        requestedAt = at
        try {
          return work()
        } finally {
          requestedAt = outer
        }
      }
    },
    allowStale(work) {
      const outer = isStaleAllowed
      isStaleAllowed = true
      try {
        return work()
      } finally {
        isStaleAllowed = outer
      }
    },
  }
  return { storage: cachedStorage, forget, notice }
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
