import { BoundedMap } from '../bounded-map.ts'
import { formatInstant } from '../domain/instant.ts'
import type { AuditedStorage } from '../storage/port.ts'

/** Stores on which day each account key was used last. */
export interface KeyUses {
  /** Stores the use of a key a second later, unless the key was used today already. */
  note(key_id: string): void
  /** Writes what still waits. */
  close(): Promise<void>
}

/** The answer to the request does not wait for the write. */
const DELAY_MS = 1_000
const DAY_MS = 86_400_000

export function createKeyUses(
  storage: Pick<AuditedStorage, 'noteKeyUse'>,
  now: () => number,
): KeyUses {
  /** The day of the last write, counted from 1970, by key. */
  const days = new BoundedMap<number>(100_000)
  const waiting = new Set<string>()
  let timer: NodeJS.Timeout | undefined

  const write = async () => {
    timer = undefined
    const last_used_on = formatInstant(now()).slice(0, 10)
    const key_ids = [...waiting]
    waiting.clear()
    for (const key_id of key_ids) {
      // After a failure, the next use of the key tries again.
      await storage.noteKeyUse({ key_id, last_used_on }).catch(() => days.set(key_id, -1))
    }
  }

  return {
    note(key_id) {
      const today = Math.floor(now() / DAY_MS)
      if (days.get(key_id) === today) return
      days.set(key_id, today)
      waiting.add(key_id)
      timer ??= setTimeout(write, DELAY_MS).unref()
    },
    async close() {
      clearTimeout(timer)
      await write()
    },
  }
}
