import { type MessageKey, messageKey } from '../../domain/message.ts'
import { SharedLimit } from '../../shared-limit.ts'

/** The most bytes of claimed messages. Of each account, a part: see `SharedLimit`. */
const MAX_BYTES = 16 * 1024 ** 2
/** A message counts as at least this many bytes. There are therefore at most 2,048. */
const MIN_BYTES = 8 * 1024

interface Claimed {
  readonly account_id: string
  readonly endpoint_id: string
  readonly bytes: number
  /** The end of the claim; Unix milliseconds. */
  readonly until: number
}

/** The messages that this process has claimed and not settled. */
export function createClaimed() {
  /** The oldest claims come first. */
  const messages = new Map<string, Claimed>()
  const bytes = new SharedLimit(MAX_BYTES)

  const remove = (key: string) => {
    const message = messages.get(key)
    if (!message) return
    messages.delete(key)
    bytes.add(message.account_id, -message.bytes)
  }

  return {
    has: (key: MessageKey) => messages.has(messageKey(key)),
    add(message: MessageKey & { readonly account_id: string }, size: number, until: number): void {
      const { account_id, endpoint_id } = message
      const claimed = { account_id, endpoint_id, bytes: Math.max(size, MIN_BYTES), until }
      messages.set(messageKey(message), claimed)
      bytes.add(account_id, claimed.bytes)
    },
    delete: (key: MessageKey) => remove(messageKey(key)),
    /** Ends the claims whose time is over. */
    expire(now: number): void {
      for (const [key, { until }] of messages) {
        if (until > now) return
        remove(key)
      }
    },
    clear: () => void [...messages.keys()].forEach(remove),
    /** The number of claimed messages by endpoint. */
    count(): Map<string, number> {
      const counts = new Map<string, number>()
      for (const { endpoint_id } of messages.values()) {
        counts.set(endpoint_id, (counts.get(endpoint_id) ?? 0) + 1)
      }
      return counts
    },
    /** Whether an account may have more messages. */
    hasRoom: (account_id: string) => bytes.left(account_id) > 0,
    /** The accounts that get no more messages for now: see `SharedLimit`. */
    full: () => bytes.full(),
  }
}
