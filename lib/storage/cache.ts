import type { Page, Storage } from './port.ts'

/** The verbs whose answers are remembered: the reads that a request is answered from. */
const READS = [
  'findAccountByKeyHash',
  'findProject',
  'findProjectByPublicKey',
  'findFormerPublicKey',
  'findStore',
  'listStores',
  'findItem',
  'listItems',
  'findItemsRevision',
  'findTokenBound',
] as const satisfies readonly (keyof Storage)[]

/** The verbs after which nothing remembered may be believed. Those of imports touch none of it. */
const WRITES = [
  'insertAccount',
  'insertAccountKey',
  'revokeAccountKey',
  'insertProject',
  'updateProject',
  'rotatePublicKey',
  'insertStore',
  'updateStore',
  'insertItem',
  'insertTokenBound',
] as const satisfies readonly (keyof Storage)[]

type Verb = (...args: readonly unknown[]) => Promise<unknown>

/**
 * A storage that remembers what it has read, in at most some `bytes`, and is never stale: an answer
 * is given from memory only when a look at the database, taken after it was asked for, has shown that
 * no one has committed since it was read. `look` answers something else after each commit of others.
 *
 * Reads that arrive in one turn of the event loop share one look (SQLite's takes 3 µs, and a request
 * reads three times: bench/read). Records come out frozen, the same object each time, so that what is
 * made of one can be remembered with it.
 */
export function createReadCache(storage: Storage, look: () => unknown, bytes: number): Storage {
  const memory = createMemory(bytes)
  let seen: unknown
  let hasLooked = false
  let looking: Promise<void> | undefined

  const lookOnce = () => {
    looking = undefined
    const found = look()
    if (found !== seen) memory.clear()
    seen = found
    hasLooked = true
  }

  /**
   * Resolves once a look was taken. What goes on from there without waiting for anything else runs
   * before the next request is read, so that for this one stretch all need no further look.
   */
  const freshen = () => {
    looking ??= new Promise((resolve, reject) => {
      setImmediate(() => {
        try {
          lookOnce()
          resolve()
        } catch (error) {
          reject(error)
        }
      })
      setImmediate(() => {
        hasLooked = false
      })
    })
    return looking
  }

  const remembered = (name: (typeof READS)[number]): Verb => {
    const verb = storage[name] as Verb
    return async (...args) => {
      if (!hasLooked) await freshen()
      const key = keyOf(args)
      const known = memory.get(name, key)
      if (known !== undefined) return known
      const { epoch } = memory
      const found = await verb(...args)
      if (found !== undefined && epoch === memory.epoch && !isLaterPage(args)) {
        memory.set(name, key, deepFreeze(found))
      }
      return found
    }
  }

  const forgetting = (name: (typeof WRITES)[number]): Verb => {
    const verb = storage[name] as Verb
    return async (...args) => {
      try {
        return await verb(...args)
      } finally {
        memory.clear()
      }
    }
  }

  return {
    ...storage,
    ...Object.fromEntries(READS.map((name) => [name, remembered(name)])),
    ...Object.fromEntries(WRITES.map((name) => [name, forgetting(name)])),
  }
}

/** A list that is read to its end would fill the memory with pages that no one asks for again. */
function isLaterPage([, page]: readonly unknown[]): boolean {
  return typeof page === 'object' && (page as Page).after !== undefined
}

/** A verb always has as many arguments, so that a key of one string is never one of two. */
function keyOf(args: readonly unknown[]): string {
  const [first, second] = args
  if (typeof first !== 'string') return JSON.stringify(args)
  return typeof second === 'string' ? `${first.length} ${first}${second}` : first
}

interface Entry {
  readonly value: unknown
  readonly size: number
}

type Generation = Map<string, Map<string, Entry>>

/**
 * Values by verb and key in two generations: when the younger one is full, the older one is forgotten,
 * and what was asked for meanwhile has moved to the younger. Cheaper than an exact order of last use.
 */
function createMemory(bytes: number) {
  const newGeneration = (): Generation => new Map(READS.map((name) => [name, new Map()]))
  let young = newGeneration()
  let old = newGeneration()
  let size = 0
  let isEmpty = true

  const keep = (name: string, key: string, entry: Entry) => {
    if (entry.size > bytes / 2) return
    if (size + entry.size > bytes / 2) {
      old = young
      young = newGeneration()
      size = 0
    }
    young.get(name)?.set(key, entry)
    size += entry.size
    isEmpty = false
  }

  return {
    /** Differs after each `clear`. */
    epoch: 0,
    get(name: string, key: string): unknown {
      const found = young.get(name)?.get(key)
      if (found) return found.value
      const older = old.get(name)?.get(key)
      if (older) keep(name, key, older)
      return older?.value
    },
    set(name: string, key: string, value: unknown) {
      keep(name, key, { value, size: 2 * key.length + sizeOf(value) })
    },
    clear() {
      this.epoch++
      if (isEmpty) return
      young = newGeneration()
      old = newGeneration()
      size = 0
      isEmpty = true
    },
  }
}

/** What a record takes, with what is made of it: as object, as text and as bytes (measured: 4 × JSON). */
function sizeOf(value: unknown): number {
  return 256 + 4 * JSON.stringify(value).length
}

/** Without recursion to spare: free-form objects nest 32 deep at most. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value
  for (const member of Object.values(value)) deepFreeze(member)
  return Object.freeze(value)
}
