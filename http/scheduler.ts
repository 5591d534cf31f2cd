/** Callers that wait for a turn, by account. */
const queues = new Map<string, (() => void)[]>()
let isScheduled = false

/**
 * Schedules work that takes some milliseconds: resolves for one caller in each turn of the event
 * loop, round-robin by account. Without it, a thousand such callers would block all other requests.
 */
export function waitForTurn(account: string): Promise<void> {
  return new Promise((resolve) => {
    const queue = queues.get(account)
    if (queue) queue.push(resolve)
    else queues.set(account, [resolve])
    schedule()
  })
}

/** Takes the current turn when no other caller has taken it or waits. */
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
  if (queue.length > 0) queues.set(account, queue) // after the other accounts
  if (queues.size > 0) schedule()
}
