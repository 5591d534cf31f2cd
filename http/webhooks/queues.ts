import { BoundedMap } from '../../lib/bounded-map.ts'
import type { OutgoingMessage } from '../../lib/index.ts'
import { SharedLimit } from '../../lib/shared-limit.ts'

/**
 * The maximum numbers of requests in flight: to one endpoint, from one account to one host, and to
 * all.
 */
const ENDPOINT_IN_FLIGHT = 10
const HOST_IN_FLIGHT = 10
const IN_FLIGHT = 500
/** An endpoint is failing after this many rejected messages in a row, or after one timeout. */
const REJECTIONS = 10
/**
 * The maximum number of requests in flight to failing endpoints. Each failing endpoint gets one
 * request at a time, which may take the whole timeout. Without this limit, such requests would delay
 * the messages to other endpoints.
 */
const FAILING_IN_FLIGHT = IN_FLIGHT / 2

/** The maximum number of endpoints whose rejections are remembered. */
const MAX_ENDPOINTS = 10_000

interface Queue {
  readonly endpoint_id: string
  readonly account_id: string
  waiting: QueuedMessage[]
  inFlight: number
}

interface QueuedMessage {
  readonly message: OutgoingMessage
  /** The time by which the request for the message must start, as `performance.now()`. */
  readonly deadline: number
  /** The account and the host name of the message's URL. */
  readonly host: string
}

/** A message that may be sent now. The caller must call `finish` once. */
export interface Turn extends QueuedMessage {
  /** Reports that the request has ended. `result` is undefined if no request was sent. */
  finish(result?: TurnResult): void
}

/** `rejected`: the status was not 2xx. `slow`: the answer did not come in time. */
type TurnResult = 'delivered' | 'rejected' | 'slow'

export type Queues = ReturnType<typeof createQueues>

/** The claimed messages, in a queue for each endpoint. */
export function createQueues() {
  const queues = new Map<string, Queue>()
  /** The queues from which the next message may be sent, in round-robin order. */
  const ready = new Set<Queue>()
  /** By endpoint: the number of rejected messages since the last delivered one. */
  const rejections = new BoundedMap<number>(MAX_ENDPOINTS)
  /** By account and host: the number of requests in flight. */
  const hosts = new SharedLimit(IN_FLIGHT, HOST_IN_FLIGHT)
  /** By account: the number of requests in flight, and of those to failing endpoints. */
  const inFlight = new SharedLimit(IN_FLIGHT)
  const failing = new SharedLimit(FAILING_IN_FLIGHT)

  const isFailing = ({ endpoint_id }: Queue) => (rejections.get(endpoint_id) ?? 0) >= REJECTIONS
  const schedule = (queue: Queue) => {
    const most = isFailing(queue) ? 1 : ENDPOINT_IN_FLIGHT
    if (queue.waiting.length > 0 && queue.inFlight < most) ready.add(queue)
    else if (queue.waiting.length + queue.inFlight === 0) queues.delete(queue.endpoint_id)
  }
  const start = (queue: Queue, queued: QueuedMessage): Turn => {
    const wasFailing = isFailing(queue)
    const change = (sign: 1 | -1) => {
      queue.inFlight += sign
      if (wasFailing) failing.add(queue.account_id, sign)
      inFlight.add(queue.account_id, sign)
      hosts.add(queued.host, sign)
    }
    change(1)
    return {
      ...queued,
      finish(result) {
        change(-1)
        const rejected = (rejections.get(queue.endpoint_id) ?? 0) + 1
        const counts = { delivered: 0, rejected, slow: REJECTIONS }
        if (result) rejections.set(queue.endpoint_id, counts[result])
        schedule(queue)
      },
    }
  }
  const mayStart = (queue: Queue) => {
    const { account_id } = queue
    return (
      hosts.hasRoom(queue.waiting[0]?.host ?? '') &&
      inFlight.left(account_id) > 0 &&
      !(isFailing(queue) && failing.left(account_id) <= 0)
    )
  }

  return {
    add(message: OutgoingMessage, deadline: number): void {
      const { account_id, endpoint_id, url } = message
      const host = `${account_id} ${URL.canParse(url) ? new URL(url).hostname : ''}`
      const queue = queues.get(endpoint_id) ?? {
        endpoint_id,
        account_id,
        waiting: [],
        inFlight: 0,
      }
      queues.set(endpoint_id, queue)
      queue.waiting.push({ message, deadline, host })
      schedule(queue)
    },
    /** The next message that may be sent, round-robin by endpoint. */
    next(): Turn | undefined {
      for (const queue of ready) {
        if (!mayStart(queue)) continue
        ready.delete(queue)
        const queued = queue.waiting.shift()
        if (!queued) continue
        const turn = start(queue, queued)
        schedule(queue)
        return turn
      }
      return undefined
    },
    /** Removes the waiting messages of an endpoint, and returns them. */
    drop: (endpoint_id: string) =>
      (queues.get(endpoint_id)?.waiting.splice(0) ?? []).map(({ message }) => message),
  }
}
