import { type MessageKey, messageKey } from '../../domain/message.ts'
import { SharedLimit } from '../../shared-limit.ts'

/** A signed message. Send it as a POST request with exactly these headers. */
export interface OutgoingMessage {
  readonly account_id: string
  readonly endpoint_id: string
  readonly sequence: number
  /** 0, or the number of the part. `endpoint_id`, `sequence` and `part` identify the message. */
  readonly part: number
  /** The number of this attempt, from 1. */
  readonly attempt: number
  readonly url: string
  /** The headers `content-type`, `webhook-id`, `webhook-timestamp` and `webhook-signature`. */
  readonly headers: { readonly [name: string]: string }
  /** The body: JSON, at most 64 KiB. */
  readonly body: string
}

/** The most characters of messages that a sender holds. Of each account, a part: see `SharedLimit`. */
const MAX_TEXT = 16 * 1024 ** 2
/** A message counts as at least this many characters. There are therefore at most 2,048. */
const MIN_TEXT = 8 * 1024

/** The messages that a sender holds, and those that a claim adds. */
export function createHeld(messages: readonly OutgoingMessage[]) {
  const keys = new Set<string>()
  const counts = new Map<string, number>()
  const text = new SharedLimit(MAX_TEXT)

  const add = (message: OutgoingMessage): void => {
    const { account_id, endpoint_id, body } = message
    keys.add(messageKey(message))
    counts.set(endpoint_id, (counts.get(endpoint_id) ?? 0) + 1)
    text.add(account_id, Math.max(body.length, MIN_TEXT))
  }
  messages.forEach(add)
  return {
    add,
    has: (key: MessageKey) => keys.has(messageKey(key)),
    /** The number of messages by endpoint. */
    counts: counts as ReadonlyMap<string, number>,
    /** Whether an account may have more messages. */
    hasRoom: (account_id: string) => text.left(account_id) > 0,
    /** The accounts that get no more messages for now: see `SharedLimit`. */
    full: () => text.full(),
  }
}
