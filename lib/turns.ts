import { setImmediate } from 'node:timers/promises'

export interface TurnLimits {
  /** The most calls that run at the same time; at least one. */
  readonly most: number
  /** The most calls of one owner; default: `most`. */
  readonly mostOfOwner?: number
  /** Refuses a call that has waited for so many milliseconds. */
  readonly refusal?: { readonly after: number; readonly error: () => Error }
}

export interface TurnOptions {
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
  readonly #most: number
  readonly #mostOfOwner: number
  readonly #refusal: TurnLimits['refusal']
  /** The waiting calls by owner. The owner with the next turn comes first. */
  readonly #waiting = new Map<string, Set<() => void>>()
  readonly #running = new Map<string, number>()
  #total = 0

  constructor({ most, mostOfOwner = most, refusal }: TurnLimits) {
    this.#most = Math.max(1, Math.floor(most))
    this.#mostOfOwner = Math.max(1, Math.floor(mostOfOwner))
    this.#refusal = refusal
  }

  /** Runs `work` in the owner's turn. */
  async run<T>(owner: string, work: () => Promise<T>, options: TurnOptions = {}): Promise<T> {
    options.signal?.throwIfAborted()
    if (this.#hasRoom(owner)) this.#count(owner, 1)
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

  #hasRoom(owner: string): boolean {
    return this.#total < this.#most && (this.#running.get(owner) ?? 0) < this.#mostOfOwner
  }

  #count(owner: string, change: 1 | -1): void {
    this.#total += change
    const running = (this.#running.get(owner) ?? 0) + change
    if (running > 0) this.#running.set(owner, running)
    else this.#running.delete(owner)
  }

  #wait(owner: string, { signal, isPatient }: TurnOptions): Promise<void> {
    const refusal = isPatient ? undefined : this.#refusal
    return new Promise((resolve, reject) => {
      const calls = this.#waiting.get(owner) ?? new Set()
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
        calls.delete(start)
        if (calls.size === 0) this.#waiting.delete(owner)
        reject(error)
      }
      const leave = () => refuse(signal?.reason)
      const timer = refusal && setTimeout(() => refuse(refusal.error()), refusal.after)
      signal?.addEventListener('abort', leave)
      this.#waiting.set(owner, calls.add(start))
    })
  }

  /** Ends a call. The turn passes on once the event loop has run other requests. */
  async #release(owner: string, took: number): Promise<void> {
    for (let left = took > HEAVY_MS ? REST : 1; left > 0; left--) await setImmediate()
    this.#count(owner, -1)
    for (const [next, calls] of this.#waiting) {
      if (this.#total >= this.#most) return
      const [start] = calls
      if (!start || !this.#hasRoom(next)) continue
      calls.delete(start)
      this.#waiting.delete(next)
      if (calls.size > 0) this.#waiting.set(next, calls) // moves the owner to the end
      this.#count(next, 1)
      start()
      return
    }
  }
}

/**
 * Turns for work of the main thread that may take some milliseconds: parsing, formatting, and the
 * reads of SQLite, which are synchronous. If a thousand callers worked in one iteration of the
 * event loop, they would block all other requests.
 */
export const mainThread = new Turns({ most: 3, mostOfOwner: 1 })
