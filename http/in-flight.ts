import type { Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { SharedLimit } from '../lib/shared-limit.ts'
import type { Limits } from './limits.ts'
import { overloaded, type TransportFault } from './problems.ts'

/** The kinds of requests that have a concurrency limit. */
export type RequestKind = 'reads' | 'writes' | 'uploads' | 'reports'

export type ConcurrencyLimits = { readonly [K in RequestKind | 'verifications']: RequestLimit }

/**
 * Limits what the requests in flight use together, and what each owner uses of it: requests or bytes
 * of memory. The owner of a request is its account or, until the account is known, its address.
 */
export class RequestLimit extends SharedLimit {
  /** The number of refused requests. */
  refused = 0
  readonly #full: TransportFault
  readonly #shareFull: TransportFault

  // Takes the 503 errors, created once: creating an error with its stack takes microseconds.
  constructor(size: number, share: number, full: TransportFault, shareFull: TransportFault) {
    super(size, share)
    this.#full = full
    this.#shareFull = shareFull
  }

  /** Throws 503 when the limit is reached. Does not count the request. */
  assertRoom(amount = 1): void {
    if (this.taken + amount > this.size) throw this.refuse(this.#full)
  }

  /** Counts a request until `release`. Throws 503 when the limit or the owner's share is used up. */
  acquire(owner: string, amount = 1): void {
    this.assertRoom(amount)
    if (!this.hasRoom(owner, amount)) throw this.refuse(this.#shareFull)
    this.add(owner, amount)
  }

  /** Stops counting a request. Pass the arguments of `acquire`. */
  release(owner: string, amount = 1): void {
    this.add(owner, -amount)
  }

  /** Counts a refused request, and returns its error. */
  refuse(fault: TransportFault): TransportFault {
    this.refused++
    return fault
  }
}

/** Creates the concurrency limits. Throws a TypeError when `accountShare` is not a percentage. */
export function createConcurrencyLimits(limits: Limits): ConcurrencyLimits {
  const { accountShare } = limits
  if (!Number.isInteger(accountShare) || accountShare < 1 || accountShare > 100) {
    throw new TypeError('accountShare must be a whole number of percent, 1 to 100')
  }
  const create = (size: number, requests: string, owner = 'account', retryAfter = '1') =>
    new RequestLimit(
      size,
      Math.max(1, Math.floor((size * accountShare) / 100)),
      overloaded(`Too many ${requests} are in flight; try again`, retryAfter),
      overloaded(`This ${owner} has its share of the ${requests} in flight`, retryAfter),
    )
  return {
    reads: create(limits.readsInFlight, 'reads'),
    writes: create(limits.writesInFlight, 'writes'),
    uploads: create(limits.uploadsInFlight, 'imports', 'account', '5'),
    reports: create(limits.reportsInFlight, 'reports'),
    verifications: create(limits.verificationsInFlight, 'credential checks', 'address'),
  }
}

/** The error for a project that has too many imports in flight. */
export const projectFull = overloaded('Too many imports of this project are in flight', '5')

const POLL_MS = 100

/**
 * Runs `work` for a request whose answer has begun. The status of the answer can no longer become
 * 503, so this function waits until the limit has room. Counts the request while `work` runs.
 * Throws if the limit has no room within `timeout` ms.
 */
export async function runWhenFree<T>(
  limit: RequestLimit,
  owner: string,
  timeout: number,
  work: () => Promise<T>,
): Promise<T> {
  for (let waited = 0; waited < timeout && !limit.hasRoom(owner); waited += POLL_MS) {
    await setTimeout(POLL_MS)
  }
  limit.acquire(owner)
  try {
    return await work()
  } finally {
    limit.release(owner)
  }
}

/** The memory that one request reserves for its body and then for the parsed values. */
export interface Reservation {
  readonly account: string
  /** Reserves more bytes. Throws 503 when the budget or the account's share of it is used up. */
  reserve(bytes: number): void
  /** Releases all reserved bytes. */
  release(): void
}

/**
 * The estimated overhead of an unsent answer in bytes: 5 KB for a minimal request, plus its
 * headers.
 */
const ANSWER_BYTES = 8 * 1024

/** An answer that a client has not read yet. Several answers may have the same body. */
interface Unsent {
  readonly body: { readonly bytes: number; readers: number }
}

export type MemoryBudget = ReturnType<typeof createMemoryBudget>

/**
 * Limits the memory of all requests and unsent answers of a process. Requests may reserve half of
 * the budget, those of one account `accountShare` percent of this half; further ones get 503. Unsent
 * answers may use the rest, called the send budget. When the send budget is used up, the clients with
 * the most unsent bytes are disconnected. Clients that read slowly therefore never block requests.
 * The budget disconnects no client while all unsent answers fit into half of it.
 */
export function createMemoryBudget({ memoryBytes, accountShare }: Limits) {
  const requests = new RequestLimit(
    memoryBytes / 2,
    ((memoryBytes / 2) * accountShare) / 100,
    overloaded('Requests take too much memory; try again'),
    overloaded('This account has its share of the memory for requests'),
  )
  const clients = new Map<Socket, Set<Unsent>>()
  const bodies = new WeakMap<object, Unsent['body']>()
  let unsentBytes = 0

  const remove = (client: Socket, answer: Unsent) => {
    const waiting = clients.get(client)
    if (!waiting?.delete(answer)) return
    if (waiting.size === 0) clients.delete(client)
    unsentBytes -= ANSWER_BYTES
    if (--answer.body.readers === 0) unsentBytes -= answer.body.bytes
  }
  const bytesOf = (waiting: Set<Unsent>) => {
    let sum = 0
    for (const { body } of waiting) sum += ANSWER_BYTES + body.bytes / body.readers
    return sum
  }
  /**
   * Disconnects the clients with the most unsent bytes first when the budget is used up. Of clients
   * with equally many bytes, disconnects first the one that has had any for longest. Disconnects
   * more clients than needed, until a sixteenth of the budget is free. Otherwise almost every
   * request would sort all clients.
   */
  const makeRoom = () => {
    if (requests.taken + unsentBytes <= memoryBytes) return
    const sizes = Array.from(clients, ([client, waiting]) => ({ client, size: bytesOf(waiting) }))
    sizes.sort((a, b) => b.size - a.size)
    for (const { client } of sizes) {
      if (requests.taken + unsentBytes <= (memoryBytes * 15) / 16) return
      client.destroy()
      for (const answer of clients.get(client) ?? []) remove(client, answer)
    }
  }

  return {
    requests,
    createReservation(account: string): Reservation {
      let reserved = 0
      return {
        account,
        reserve(bytes) {
          requests.acquire(account, bytes)
          reserved += bytes
          makeRoom()
        },
        release() {
          requests.release(account, reserved)
          reserved = 0
        },
      }
    },
    /**
     * Counts an unsent answer until the returned function is called. When several clients wait for
     * the same `content`, each is charged an equal part.
     */
    reserveAnswer(client: Socket, content: object, bytes: number): () => void {
      if (client.destroyed) return () => {}
      const body = bodies.get(content) ?? { bytes, readers: 0 }
      bodies.set(content, body)
      if (body.readers++ === 0) unsentBytes += body.bytes
      unsentBytes += ANSWER_BYTES
      const answer = { body }
      clients.set(client, (clients.get(client) ?? new Set()).add(answer))
      makeRoom()
      return () => remove(client, answer)
    },
  }
}
