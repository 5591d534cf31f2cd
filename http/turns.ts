/** Those who wait for a turn, by account. */
const queues = new Map<string, (() => void)[]>()
let isScheduled = false

/**
 * Resolves for one caller in each turn of the event loop; accounts take turns. For work of some
 * milliseconds: were a thousand pieces of it done in one turn, nobody else would be answered
 * meanwhile.
 */
export function nextTurn(account: string): Promise<void> {
  return new Promise((resolve) => {
    const queue = queues.get(account)
    if (queue) queue.push(resolve)
    else queues.set(account, [resolve])
    schedule()
  })
}

/** Takes the current turn, if nobody has taken it or waits for one. */
export function takeTurn(): boolean {
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
  if (queue.length > 0) queues.set(account, queue) // behind the other accounts
  if (queues.size > 0) schedule()
}
