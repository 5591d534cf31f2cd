import { BoundedMap } from '../../bounded-map.ts'
import type { AuditAction } from '../../domain/audit.ts'
import type { Item } from '../../domain/item.ts'
import { isLaterPage, keyOf, READ_ONCE, READS, sizeOf, WRITES } from '../cache.ts'
import type { Storage, StoreKey } from '../port.ts'
import { createRests } from './rests.ts'
import type { Change, Checked, Version } from './version-check.ts'

type Method = (...args: readonly unknown[]) => Promise<unknown>

export interface PostgresCache {
  readonly storage: Storage
  /** Drops all results and the version, after a connection was lost. */
  forget(): void
}

/**
 * Adds a read cache of at most `bytes` to a storage on a database server. It never returns an
 * outdated result: before it returns a cached one, a version check that was sent after the call
 * finds that nothing has changed it.
 *
 * Calls in the same turn of the event loop share a version check. A missing result is read without
 * a check, because a read is as new as a check; equal calls in one turn share the read.
 */
export function createPostgresCache(
  storage: Storage,
  check: (previous: Version | undefined) => Promise<Checked>,
  bytes: number,
): PostgresCache {
  const cache = new BoundedMap<Entry>(bytes, ({ size }) => size)
  const pending = new Map<string, Pending>()
  const rests = createRests()
  /** Counts the changes of each store's items and of each item, by a hash of the name. */
  const changes = new Uint32Array(SLOTS)
  let epoch = 0
  let losses = 0
  let version: Version | undefined
  /** Counts the checks and reads that were sent. Orders them and the calls. */
  let clock = 0
  /** The `clock` at which the latest completed check was sent. */
  let checkedAt = 0
  let running: { readonly at: number; readonly done: Promise<void> } | undefined
  let next: Promise<void> | undefined
  /** The `clock` of the request whose reads are being called; see `together`. */
  let requestedAt: number | undefined

  const clear = () => {
    epoch++
    cache.clear()
    pending.clear()
  }

  const forget = () => {
    losses++
    version = undefined
    clear()
  }

  const touch = (name: string) => {
    const slot = slotOf(name)
    changes[slot] = (changes[slot] as number) + 1
    pending.clear()
  }

  const apply = ({ action, account_id, store_id, subject }: Change) => {
    const effect = EFFECTS[action] ?? 'everything'
    if (effect === 'nothing') return
    // Servers of version 0.1, which may still run during an upgrade, leave `store_id` empty.
    if (effect === 'everything' || store_id === '') return clear()
    touch(nameOf({ account_id, store_id }))
    if (effect === 'item') touch(subject)
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

  /** Resolves after a check that is sent after `since`. At most one check runs at a time. */
  const checkAfter = (since: number): Promise<void> => {
    if (running && running.at > since) return running.done
    next ??= new Promise((resolve, reject) => {
      const soon = () => setImmediate(() => send().then(resolve, reject))
      if (running) running.done.then(soon, soon)
      else soon()
    })
    return next
  }

  const find = (key: string): unknown => {
    const entry = cache.get(key)
    return entry && changes[entry.slot] === entry.changes ? entry.value : undefined
  }

  const cached = (name: (typeof READS)[number]): Method => {
    const method = storage[name] as Method
    const rest = rests[name]
    return async (...args) => {
      const since = requestedAt ?? clock
      const key = keyOf(name, args)
      if (rest.isOver()) {
        const known = find(key)
        if (version && known !== undefined && known !== READ_ONCE) {
          if (checkedAt <= since) await checkAfter(since)
          const found = find(key)
          if (found !== undefined) {
            rest.hit()
            return found
          }
          if (!pending.has(key)) rest.miss() // else it shares a read
        }
        if (!version) checkAfter(since).catch(() => {})
      }
      return share(key, since, () => read(name, method, key, args))
    }
  }

  const read = async (
    name: (typeof READS)[number],
    method: Method,
    key: string,
    args: readonly unknown[],
  ) => {
    const slot = slotOf(subjectOf(name, args))
    const begun = { epoch, changes: changes[slot] as number, version }
    const found = await method(...args)
    const isNewest = epoch === begun.epoch && changes[slot] === begun.changes
    if (found === undefined || !begun.version || !isNewest || !rests[name].isOver()) return found
    const value = find(key) === READ_ONCE || !isLaterPage(args) ? found : READ_ONCE
    cache.set(key, { value, size: sizeOf(key, value), slot, changes: begun.changes })
    return found
  }

  /** Shares one read between the calls of one turn, and with `together` those of before. */
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

  const clearing = (name: (typeof WRITES)[number]): Method => {
    const method = storage[name] as Method
    return async (...args) => {
      try {
        return await method(...args)
      } finally {
        if (name === 'insertItem') touch(nameOf(args[0] as Item))
        else clear()
      }
    }
  }

  const cachedStorage: Storage = {
    ...storage,
    ...Object.fromEntries(READS.map((name) => [name, cached(name)])),
    ...Object.fromEntries(WRITES.map((name) => [name, clearing(name)])),
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
  }
  return { storage: cachedStorage, forget }
}

interface Entry {
  readonly value: unknown
  readonly size: number
  readonly slot: number
  readonly changes: number
}

interface Pending {
  /** The `clock` at which the read was sent; infinite before. */
  at: number
  result: Promise<unknown> | undefined
}

/** The cached results that an action can change. Any other action can change all. */
const EFFECTS: { readonly [action in AuditAction]?: 'nothing' | 'items' | 'item' } = {
  'item.create': 'items',
  'item.update': 'item',
  'item.archive': 'item',
  'item.restore': 'item',
  'purchases.import': 'nothing',
  'purchases.record': 'nothing',
  'imports.undo': 'nothing',
  'tokens.issue': 'nothing',
  'signing_keys.rotate': 'nothing',
  'audit.archive': 'nothing',
  'users.export': 'nothing',
}

/** The name of the store or item whose changes alone can change a result; '' for others. */
function subjectOf(name: (typeof READS)[number], [first]: readonly unknown[]): string {
  if (name === 'listItems') return nameOf(first as StoreKey)
  return name === 'findItem' ? (first as string) : ''
}

function nameOf({ account_id, store_id }: StoreKey): string {
  return `${account_id} ${store_id}`
}

/** Two names with the same slot only cost a read more. */
const SLOTS = 4096

/** Slot 0 is for results that no single store or item changes. */
function slotOf(name: string): number {
  if (name === '') return 0
  let hash = 0
  for (let i = 0; i < name.length; i++) hash = (Math.imul(hash, 31) + name.charCodeAt(i)) | 0
  return 1 + ((hash >>> 0) % (SLOTS - 1))
}
