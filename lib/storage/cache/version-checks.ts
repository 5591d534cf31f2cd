import type { Change } from './dependencies.ts'

/** The result of a version check. `V` is the state of the database. */
export interface Checked<V> {
  /** Data that is read after the check has this state or a newer one. Undefined if unknown. */
  readonly version: V | undefined
  /** The changes since the previous version; undefined if not all of them are known. */
  readonly changes: readonly Change[] | undefined
}

export type Check<V> = (previous?: V) => Checked<V> | Promise<Checked<V>>

/**
 * A logical clock, which orders all events: it advances when a check or a read is sent, and when a
 * write has ended.
 */
export class Clock {
  now = 0

  /** Returns the time of a new event. */
  tick(): number {
    return ++this.now
  }
}

/**
 * Sends version checks, one at a time. Calls in the same turn of the event loop share one. `onChanges`
 * receives the changes that a check finds; undefined if anything may have changed.
 */
export function createVersionChecks<V>(
  check: Check<V>,
  clock: Clock,
  onChanges: (changes: readonly Change[] | undefined) => void,
) {
  let version: V | undefined
  let losses = 0
  /** The time at which the latest completed check was sent. */
  let checkedAt = 0
  let running: { readonly at: number; readonly done: Promise<void> } | undefined
  let next: Promise<void> | undefined
  /** The number of calls that wait for `next`. */
  let waiting = 0

  const forget = () => {
    losses++
    version = undefined
    onChanges(undefined)
  }

  const checkNow = async () => {
    const begun = losses
    try {
      const checked = await check(version)
      if (losses !== begun) return
      onChanges(checked.changes)
      version = checked.version
    } catch (error) {
      forget()
      throw error
    }
  }

  const send = () => {
    next = undefined
    waiting = 0
    const at = clock.tick()
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

  return {
    /** The known state of the database; undefined before the first check. */
    get version() {
      return version
    },
    /** Whether a check that was sent later than `since` has ended. */
    hasChecked: (since: number) => checkedAt > since,
    /**
     * Resolves after a check that was sent later than `since`. If several calls wait for it, it also
     * waits for the calls of the next turn of the event loop.
     */
    checkAfter(since: number): Promise<void> {
      if (running && running.at > since) return running.done
      waiting++
      next ??= new Promise((resolve, reject) => {
        const start = () => void send().then(resolve, reject)
        const soon = () => setImmediate(() => (waiting > 1 ? setImmediate(start) : start()))
        if (running) running.done.then(soon, soon)
        else soon()
      })
      return next
    },
    /** Drops the known state. A running check then tells nothing. */
    forget,
  }
}
