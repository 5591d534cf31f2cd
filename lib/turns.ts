import { setImmediate } from 'node:timers/promises'
import { RoundRobin } from './round-robin.ts'
import { SharedLimit } from './shared-limit.ts'

interface TurnLimits {
  /** The most calls that run at the same time; at least one. */
  readonly most: number
  /** The most calls of one owner; default: `most`. */
  readonly mostOfOwner?: number
  /** Refuses a call that has waited for so many milliseconds. */
  readonly refusal?: { readonly after: number; readonly error: () => Error }
}

interface TurnOptions {
  /** Ends the wait of a call whose caller has gone. */
  readonly signal?: AbortSignal | undefined
  /** Whether the call waits for as long as necessary. */
  readonly isPatient?: boolean
}

/** Work that took longer counts as heavy. */
const HEAVY_MS = 5
/** The iterations of the event loop between heavy work and the next work: a write needs three. */
const REST = 3

/**
 * Limits how many calls run at the same time, and how many of one owner. The others wait, and the
 * owners take turns. After each call, the event loop runs other requests before the next call.
 */
export class Turns {
  readonly #limit: SharedLimit
  readonly #refusal: TurnLimits['refusal']
  readonly #waiting = new RoundRobin<() => void>()

  constructor({ most, mostOfOwner = most, refusal }: TurnLimits) {
    this.#limit = new SharedLimit(Math.max(1, most), Math.max(1, mostOfOwner))
    this.#refusal = refusal
  }

  /** Runs `work` in the owner's turn. */
  async run<T>(owner: string, work: () => Promise<T>, options: TurnOptions = {}): Promise<T> {
    options.signal?.throwIfAborted()
    if (this.#limit.hasRoom(owner)) this.#limit.add(owner, 1)
    else await this.#wait(owner, options)
    const begun = performance.now()
    try {
      return await work()
    } finally {
      this.#release(owner, performance.now() - begun)
    }
  }

  /**
   * Yields the values of `source`. Each one is created in a turn of its own. Only the first one may
   * be refused: its successors wait as long as necessary.
   */
  async *each<T>(owner: string, source: AsyncIterable<T>): AsyncGenerator<T> {
    const values = source[Symbol.asyncIterator]()
    const next = () => values.next()
    const later = { isPatient: true }
    try {
      let value = await this.run(owner, next)
      for (; !value.done; value = await this.run(owner, next, later)) yield value.value
    } finally {
      await values.return?.()
    }
  }

  #wait(owner: string, { signal, isPatient }: TurnOptions): Promise<void> {
    const refusal = isPatient ? undefined : this.#refusal
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', leave)
      }
      const start = () => {
        end()
        resolve()
      }
      const refuse = (error: unknown) => {
        end()
        this.#waiting.delete(owner, start)
        reject(error)
      }
      const leave = () => refuse(signal?.reason)
      const timer = refusal && setTimeout(() => refuse(refusal.error()), refusal.after)
      signal?.addEventListener('abort', leave)
      this.#waiting.add(owner, start)
    })
  }

  /** Ends a call. The turn passes on once the event loop has run other requests. */
  async #release(owner: string, took: number): Promise<void> {
    for (let left = took > HEAVY_MS ? REST : 1; left > 0; left--) await setImmediate()
    this.#limit.add(owner, -1)
    const next = this.#waiting.take((each) => this.#limit.hasRoom(each))
    if (!next) return
    this.#limit.add(next.owner, 1)
    next.value()
  }
}

/**
 * Turns for work of the main thread that may take some milliseconds: parsing, formatting, and the
 * reads of SQLite, which are synchronous. If a thousand callers worked in one iteration of the
 * event loop, they would block all other requests.
 */
export const mainThread = new Turns({ most: 3, mostOfOwner: 1 })

/** Turns for parts of files and slices of imports. Apart from the others, because a file has many. */
export const fileTurns = new Turns({ most: 2, mostOfOwner: 1 })
