/** Callers that wait for a turn, by account. */
const queues = new Map<string, (() => void)[]>()
let isScheduled = false

/**
 * Resolves when the caller may do work that takes some milliseconds. In each turn of the event
 * loop, one caller works, round-robin by account. If a thousand callers worked in one turn, they
 * would block all other requests.
 */
export function waitForTurn(account: string): Promise<void> {
  return new Promise((resolve) => {
    const queue = queues.get(account)
    if (queue) queue.push(resolve)
    else queues.set(account, [resolve])
    schedule()
  })
}

function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  setImmediate(serveNext)
}

function serveNext(): void {
  isScheduled = false
  const [next] = queues
  if (!next) return
  const [account, queue] = next
  queue.shift()?.()
  queues.delete(account)
  if (queue.length > 0) queues.set(account, queue) // moves the account to the end
  if (queues.size > 0) schedule()
}
