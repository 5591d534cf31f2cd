import { BoundedMap } from '../../lib/bounded-map.ts'
import type { OutgoingMessage } from '../../lib/index.ts'

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

/** The sender claims no messages for an endpoint that has this many waiting messages. */
const ENOUGH = 100
/** The sender claims no more messages when all queues together have this many messages or bytes. */
const MAX_MESSAGES = 2_000
const MAX_BYTES = 16 * 1024 ** 2
/** The maximum number of endpoints whose rejections are remembered. */
const MAX_ENDPOINTS = 10_000

interface Queue {
  readonly endpoint_id: string
  readonly account_id: string
  waiting: QueuedMessage[]
  inFlight: number
}

/** The waiting messages and the requests in flight, of one account or of all accounts. */
interface Usage {
  messages: number
  bytes: number
  inFlight: number
  failing: number
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
export type TurnResult = 'delivered' | 'rejected' | 'slow'

export type Queues = ReturnType<typeof createQueues>

/** The claimed messages, in a queue for each endpoint. */
export function createQueues() {
  const queues = new Map<string, Queue>()
  /** The queues from which the next message may be sent, in round-robin order. */
  const ready = new Set<Queue>()
  /** By endpoint: the number of rejected messages since the last delivered one. */
  const rejections = new BoundedMap<number>(MAX_ENDPOINTS)
  /** By account and host: the number of requests in flight. */
  const hosts = new Map<string, number>()
  const all = noUsage()
  const accounts = new Map<string, Usage>()

  const usageOf = (account_id: string) => accounts.get(account_id) ?? noUsage()
  const use = (account_id: string, kind: keyof Usage, by: number) => {
    const usage = usageOf(account_id)
    usage[kind] += by
    all[kind] += by
    if (usage.messages + usage.bytes + usage.inFlight > 0) accounts.set(account_id, usage)
    else accounts.delete(account_id)
  }
  const isFailing = ({ endpoint_id }: Queue) => (rejections.get(endpoint_id) ?? 0) >= REJECTIONS
  const schedule = (queue: Queue) => {
    const most = isFailing(queue) ? 1 : ENDPOINT_IN_FLIGHT
    if (queue.waiting.length > 0 && queue.inFlight < most) ready.add(queue)
    else if (queue.waiting.length + queue.inFlight === 0) queues.delete(queue.endpoint_id)
  }
  const count = ({ account_id, body }: OutgoingMessage, sign: 1 | -1) => {
    use(account_id, 'bytes', sign * body.length)
    use(account_id, 'messages', sign)
  }
  const start = (queue: Queue, queued: QueuedMessage): Turn => {
    const wasFailing = isFailing(queue)
    const change = (sign: 1 | -1) => {
      queue.inFlight += sign
      if (wasFailing) use(queue.account_id, 'failing', sign)
      use(queue.account_id, 'inFlight', sign)
      const ofHost = (hosts.get(queued.host) ?? 0) + sign
      if (ofHost > 0) hosts.set(queued.host, ofHost)
      else hosts.delete(queued.host)
    }
    change(1)
    count(queued.message, -1)
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
  /**
   * Whether an account uses less of a limit than all accounts leave free. One account alone can use
   * half of the limit, and each of two a third. A part is always left for another account.
   */
  const isWithin = (usage: Usage, kind: keyof Usage, most: number) => usage[kind] < most - all[kind]
  const mayStart = (queue: Queue) => {
    const usage = usageOf(queue.account_id)
    const host = queue.waiting[0]?.host ?? ''
    return (
      (hosts.get(host) ?? 0) < HOST_IN_FLIGHT &&
      isWithin(usage, 'inFlight', IN_FLIGHT) &&
      !(isFailing(queue) && !isWithin(usage, 'failing', FAILING_IN_FLIGHT))
    )
  }
  const isFullAccount = (usage: Usage) =>
    !isWithin(usage, 'messages', MAX_MESSAGES) || !isWithin(usage, 'bytes', MAX_BYTES)
  const isFull = (queue: Queue | undefined) => queue !== undefined && queue.waiting.length >= ENOUGH
  /** Removes the waiting messages of an endpoint, and returns them. */
  const drop = (endpoint_id: string): OutgoingMessage[] => {
    const dropped = queues.get(endpoint_id)?.waiting.splice(0) ?? []
    for (const { message } of dropped) count(message, -1)
    return dropped.map(({ message }) => message)
  }

  return {
    /** Whether there is room for more messages. */
    hasRoom: () => all.messages < MAX_MESSAGES && all.bytes < MAX_BYTES,
    /** The endpoints whose queues are full. The next claim leaves them out. */
    full: () => [...queues.values()].filter(isFull).map(({ endpoint_id }) => endpoint_id),
    /** The accounts that have used up their share of the messages. The next claim leaves them out. */
    fullAccounts: () => [...accounts].flatMap(([id, usage]) => (isFullAccount(usage) ? id : [])),
    isFull: (endpoint_id: string) => isFull(queues.get(endpoint_id)),
    add(message: OutgoingMessage, deadline: number): void {
      const { account_id, endpoint_id, url } = message
      const host = `${account_id} ${URL.canParse(url) ? new URL(url).hostname : ''}`
      const queue = queues.get(endpoint_id) ?? {
        ...{ endpoint_id, account_id, waiting: [], inFlight: 0 },
      }
      queues.set(endpoint_id, queue)
      queue.waiting.push({ message, deadline, host })
      count(message, 1)
      schedule(queue)
    },
    /** The next message that may be sent, round-robin by endpoint. */
    next(): Turn | undefined {
      if (all.inFlight >= IN_FLIGHT) return undefined
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
    drop,
    clear: () => void [...queues.keys()].forEach(drop),
  }
}

function noUsage(): Usage {
  return { messages: 0, bytes: 0, inFlight: 0, failing: 0 }
}
