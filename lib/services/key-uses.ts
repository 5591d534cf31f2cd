import { BoundedMap } from '../bounded-map.ts'
import { formatInstant } from '../domain/instant.ts'
import type { Storage } from '../storage/port.ts'

/** The answer to the request does not wait for the write. */
const DELAY_MS = 1_000
const DAY_MS = 86_400_000

/** Stores on which day each account key was used last. */
export function createKeyUses(storage: Pick<Storage, 'noteKeyUse'>, now: () => number) {
  /** The day of the last write, counted from 1970, by key. */
  const days = new BoundedMap<number>(100_000)
  /** The days that wait to be written, by key. */
  const waiting = new Map<string, string>()
  let timer: NodeJS.Timeout | undefined
  let written = Promise.resolve()

  const write = async () => {
    const uses = [...waiting]
    waiting.clear()
    try {
      for (const [key_id, last_used_on] of uses) await storage.noteKeyUse({ key_id, last_used_on })
    } catch {
      for (const [key_id] of uses) days.set(key_id, -1) // the next use of the key tries again
    }
  }

  /** Writes after the write that runs. */
  const writeNext = () => {
    timer = undefined
    written = written.then(write)
    return written
  }

  return {
    /** Stores the use of a key a second later, unless the key was used today already. */
    note(key_id: string): void {
      const today = Math.floor(now() / DAY_MS)
      if (days.get(key_id) === today) return
      days.set(key_id, today)
      waiting.set(key_id, formatInstant(now()).slice(0, 10))
      timer ??= setTimeout(writeNext, DELAY_MS).unref()
    },
    /** Writes what still waits. */
    close() {
      clearTimeout(timer)
      return writeNext()
    },
  }
}
