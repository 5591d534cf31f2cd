import type { Clock } from './version-checks.ts'

interface Pending {
  /** The time at which the read was sent; infinite until then. */
  at: number
  result: Promise<unknown> | undefined
}

/**
 * Shares reads between equal calls. A read is sent in the next turn of the event loop, so the calls of
 * one turn share it. A call also shares an earlier read that was sent later than its `since`.
 */
export function createSharedReads(clock: Clock) {
  const pending = new Map<string, Pending>()
  return (
    key: string,
    since: number,
    read: () => Promise<unknown>,
  ): Promise<unknown> | undefined => {
    const known = pending.get(key)
    if (known && known.at > since) return known.result
    const own: Pending = { at: Number.POSITIVE_INFINITY, result: undefined }
    pending.set(key, own)
    own.result = new Promise((resolve, reject) => {
      setImmediate(() => {
        own.at = clock.tick()
        read()
          .finally(() => {
            if (pending.get(key) === own) pending.delete(key)
          })
          .then(resolve, reject)
      })
    })
    return own.result
  }
}
