/** Callers that wait for a turn, by account. */
const queues = new Map<string, (() => void)[]>()
let isScheduled = false

/**
 * Resolves when the caller may do work that takes some milliseconds. Each turn of the event loop
 * has one such caller, round-robin by account. Otherwise a thousand callers in one turn would block
 * all other requests.
 */
export function waitForTurn(account: string): Promise<void> {
  return new Promise((resolve) => {
    const queue = queues.get(account)
    if (queue) queue.push(resolve)
    else queues.set(account, [resolve])
    schedule()
  })
}

/** Takes the current turn unless another caller has taken it or waits. Returns whether it did. */
export function tryTakeTurn(): boolean {
  if (isScheduled) return false
  schedule()
  return true
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
  if (queue.length > 0) queues.set(account, queue) // moves the account behind the others
  if (queues.size > 0) schedule()
}
