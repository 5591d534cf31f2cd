import type { Page, Storage } from './port.ts'

/** The verbs whose answers are remembered: the reads that a request is answered from. */
const READS = [
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
  'insertItems',
  'revokeTokens',
  'insertWatermark',
] as const satisfies readonly (keyof Storage)[]

/** More than a request needs; who reads in a loop must let others have their turn. */
const LOOKS_A_TURN = 8

type Verb = (...args: readonly unknown[]) => Promise<unknown>

/**
 * A storage that remembers what it has read, in at most some `bytes`, and is never stale: an answer
 * is given from memory only when a look at the database, taken after it was asked for, has shown
 * that no one has committed since it was read. `look` answers something else after each commit of
 * others.
 *
 * Reads that arrive in one turn of the event loop share one look, because it costs as much as a
 * small read: with one for each, 64 connections that read a list were answered half as fast.
 * Records come out frozen, the same object each time, so that what is made of one can be remembered
 * with it.
 */
export function createReadCache(storage: Storage, look: () => unknown, bytes: number): Storage {
  const memory = createMemory(bytes)
  const asking = new Map<string, Promise<unknown>>()
  let seen: unknown
  let looking: Promise<void> | undefined
  let following = 0

  const forget = () => {
    memory.clear()
    asking.clear()
  }

  const lookOnce = () => {
    looking = undefined
    const found = look()
    if (found === seen) return
    forget()
    seen = found
  }

  /**
   * Resolves once a look was taken. No read may go without, not even one that follows on another:
   * code that writes past this storage without awaiting anything (a connection of its own, a
   * process that it waits for) may stand between the two. The first look comes when all requests of
   * this turn are read; those for what follows on it, all together, before the next turn (a tenth
   * less processor time a request than in turns of their own).
   */
  const freshen = () => {
    looking ??= new Promise((resolve, reject) => {
      const settle = () => {
        try {
          resolve(lookOnce())
        } catch (error) {
          reject(error)
        }
      }
      if (following > 0) {
        following--
        process.nextTick(settle)
        return
      }
      setImmediate(() => {
        following = LOOKS_A_TURN
        settle()
      })
      setImmediate(() => {
        following = 0
      })
    })
    return looking
  }

  const remembered = (name: (typeof READS)[number]): Verb => {
    const verb = storage[name] as Verb
    return async (...args) => {
      await freshen()
      const key = keyOf(args)
      const known = memory.get(name, key)
      if (known !== undefined && known !== ASKED_ONCE) return known
      return askOnce(`${name}\n${key}`, async () => {
        const { epoch } = memory
        const found = await verb(...args)
        if (found === undefined || epoch !== memory.epoch) return found
        const isAskedAgain = known === ASKED_ONCE || !isLaterPage(args)
        memory.set(name, key, isAskedAgain ? found : ASKED_ONCE)
        return found
      })
    }
  }

  /**
   * Those who miss the same at the same time share one answer: after a write, 64 would parse a
   * list.
   */
  const askOnce = (key: string, ask: () => Promise<unknown>) => {
    const asked = asking.get(key)
    if (asked) return asked
    const answer = ask().finally(() => {
      if (asking.get(key) === answer) asking.delete(key)
    })
    asking.set(key, answer)
    return answer
  }

  const forgetting = (name: (typeof WRITES)[number]): Verb => {
    const verb = storage[name] as Verb
    return async (...args) => {
      try {
        return await verb(...args)
      } finally {
        forget()
      }
    }
  }

  return {
    ...storage,
    ...Object.fromEntries(READS.map((name) => [name, remembered(name)])),
    ...Object.fromEntries(WRITES.map((name) => [name, forgetting(name)])),
  }
}

/**
 * What is remembered of a later page until it is asked for again: one who reads a long list to its
 * end would else fill the memory with pages that no one wants.
 */
const ASKED_ONCE = Symbol('asked once')

function isLaterPage([, page]: readonly unknown[]): boolean {
  return typeof page === 'object' && (page as Page).after !== undefined
}

/** A verb always has as many arguments, so that a key of one string is never one of two. */
function keyOf(args: readonly unknown[]): string {
  const [first, second] = args
  if (typeof first !== 'string' || typeof second === 'object' || args.length > 2) {
    return JSON.stringify(args)
  }
  return typeof second === 'string' ? `${first.length} ${first}${second}` : first
}

interface Entry {
  readonly value: unknown
  readonly size: number
}

type Generation = Map<string, Map<string, Entry>>

/**
 * Values by verb and key in two generations: when the younger one is full, the older one is
 * forgotten, and what was asked for meanwhile has moved to the younger. Cheaper than an exact order
 * of last use.
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
      keep(name, key, { value, size: ENTRY + weigh(key) + freeze(value) })
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

/** What an entry takes beside its key and its value. */
const ENTRY = 128

/**
 * Freezes a value with all that it holds, and tells what it takes at most with what may be made of
 * it: its text and its bytes. The figures are measured (Node 20 and 26, 64 bits): what JSON writes
 * in three characters may take 67 bytes, so that its length says too little. Free-form objects nest
 * 32 deep.
 */
function freeze(value: unknown): number {
  if (typeof value !== 'object' || value === null) return weigh(value)
  Object.freeze(value)
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + 8 + freeze(each), 64)
  let sum = 128
  for (const [key, member] of Object.entries(value)) sum += 56 + key.length + freeze(member)
  return sum
}

function weigh(value: unknown): number {
  return typeof value === 'string' ? 32 + value.length + 2 * Buffer.byteLength(value) : 24
}
