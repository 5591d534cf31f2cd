import type { Socket } from 'node:net'
import { overloaded } from './problems.ts'

/** What one request takes of the budget: its body as it comes in, then its parsed values. */
export interface Reservation {
  /** The account that it counts for. */
  readonly account: string
  /** Adds bytes; throws 503 when the budget, or the account's share, has no room for them. */
  reserve(bytes: number): void
  /** Gives all of it back. */
  release(): void
}

/**
 * The bytes that all requests and answers of a process may hold together. Requests get at most half
 * and are 503 past it. Answers that clients have not taken get the rest: past it the clients with
 * the most are cut off. Slow readers therefore keep nobody from writing. Slow writers cut off nobody
 * while the unsent answers fit into half of the budget.
 */
export interface MemoryBudget {
  /** How many requests were refused for want of room. */
  readonly refused: number
  createReservation(account: string): Reservation
  /**
   * Reserves for an answer until what this returns is called, or the client has gone. A `body` that
   * several clients wait for is there once, and is charged to them in equal parts.
   */
  reserveAnswer(socket: Socket, body: object, bytes: number): () => void
}

/** What an unsent answer takes besides its body: 5 KB with the shortest request, and its headers. */
const ANSWER_BYTES = 8 * 1024

/** One account holds at most `accountShare` percent of what requests may hold. */
export function createMemoryBudget(bytes: number, accountShare: number): MemoryBudget {
  const forRequests = bytes / 2
  const share = (forRequests * accountShare) / 100
  const byAccount = new Map<string, number>()
  let reserved = 0
  let refused = 0
  const answers = createUnsentAnswers()

  // Cutting off many at once keeps the cost down: each time all clients are sorted.
  const makeRoom = () => {
    if (reserved + answers.bytes > bytes) answers.cutTo((bytes * 15) / 16 - reserved)
  }

  return {
    get refused() {
      return refused
    },
    createReservation(account) {
      let own = 0
      const add = (more: number) => {
        const held = (byAccount.get(account) ?? 0) + more
        if (held > 0) byAccount.set(account, held)
        else byAccount.delete(account)
        own += more
        reserved += more
      }
      return {
        account,
        reserve(more) {
          const isFull = reserved + more > forRequests
          if (isFull || (byAccount.get(account) ?? 0) + more > share) {
            refused++
            throw isFull ? full : shareFull
          }
          add(more)
          makeRoom()
        },
        release: () => add(-own),
      }
    },
    reserveAnswer(socket, body, length) {
      if (socket.destroyed) return () => {}
      const release = answers.add(socket, body, length)
      makeRoom()
      return release
    },
  }
}

// Created once: under load even the stack of an error costs.
const full = overloaded('Requests take too much memory; try again')
const shareFull = overloaded('This account has its share of the memory for requests')

/** The unsent answers, or chunks of them, of one client. */
type Waiting = Set<{ readonly body: object }>

/** The answers that clients have not taken, by client and by body. */
function createUnsentAnswers() {
  const clients = new Map<Socket, Waiting>()
  const watched = new WeakSet<Socket>()
  const bodies = new Map<object, { readonly bytes: number; readers: number }>()
  let held = 0

  const add = (socket: Socket, body: object, bytes: number) => {
    if (!watched.has(socket)) {
      watched.add(socket)
      socket.once('close', () => forget(socket))
    }
    const answer = { body }
    const waiting = clients.get(socket)
    if (waiting) waiting.add(answer)
    else clients.set(socket, new Set([answer]))
    const shared = bodies.get(body)
    if (shared) shared.readers++
    else bodies.set(body, { bytes, readers: 1 })
    held += ANSWER_BYTES + (shared ? 0 : bytes)
    return () => remove(socket, answer)
  }
  const remove = (socket: Socket, answer: { readonly body: object }) => {
    const waiting = clients.get(socket)
    if (!waiting?.delete(answer)) return
    if (waiting.size === 0) clients.delete(socket)
    held -= ANSWER_BYTES
    const shared = bodies.get(answer.body)
    if (!shared || --shared.readers > 0) return
    bodies.delete(answer.body)
    held -= shared.bytes
  }
  const forget = (socket: Socket) => {
    for (const answer of clients.get(socket) ?? []) remove(socket, answer)
  }
  const bytesOf = (waiting: Waiting) => {
    let sum = 0
    for (const { body } of waiting) {
      const { bytes = 0, readers = 1 } = bodies.get(body) ?? {}
      sum += ANSWER_BYTES + bytes / readers
    }
    return sum
  }

  return {
    get bytes() {
      return held
    },
    add,
    /** Cuts off the clients with the most; of equal ones those that have waited for longest. */
    cutTo(bytes: number) {
      const sizes = Array.from(clients, ([socket, waiting]) => ({ socket, size: bytesOf(waiting) }))
      sizes.sort((a, b) => b.size - a.size)
      for (const { socket } of sizes) {
        if (held <= bytes) return
        socket.destroy()
        forget(socket)
      }
    },
  }
}
