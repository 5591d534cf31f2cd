import { messageKey } from '../../../lib/domain/message.ts'
import type { Outbox, OutgoingMessage, Till } from '../../../lib/index.ts'

const outboxes = new WeakMap<Till, Outbox>()

/** The outbox of a till, which holds what it has claimed until it is settled, as the sender does. */
export function outboxOf(till: Till): Outbox {
  const outbox = outboxes.get(till) ?? holding(till.outbox)
  outboxes.set(till, outbox)
  return outbox
}

function holding(outbox: Outbox): Outbox {
  const held = new Map<string, OutgoingMessage>()
  return {
    ...outbox,
    async claim(request) {
      const claim = await outbox.claim({ ...request, held: [...held.values()] })
      for (const message of claim.messages) held.set(messageKey(message), message)
      return claim
    },
    async settle(results) {
      await outbox.settle(results)
      for (const result of results) held.delete(messageKey(result))
    },
    async release() {
      await outbox.release()
      held.clear()
    },
  }
}
