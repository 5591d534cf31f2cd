import { overloaded } from './problems.ts'

/** The connection or stream of a client that reads an answer. */
export interface Reader {
  readonly destroyed: boolean
  once(event: 'close', listener: () => void): unknown
  destroy(): unknown
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

export type MemoryBudget = ReturnType<typeof createMemoryBudget>

/**
 * Limits the memory of all requests and unsent answers of a process. Requests may reserve half of
 * the budget, those of one account `accountShare` percent of this half; further ones get 503. Unsent
 * answers may use the rest, called the send budget. When the send budget is used up, the clients with
 * the most unsent bytes are disconnected. Clients that read slowly therefore never block requests.
 * The budget disconnects no client while all unsent answers fit into half of it.
 */
export function createMemoryBudget(bytes: number, accountShare: number) {
  const forRequests = bytes / 2
  const share = (forRequests * accountShare) / 100
  const byAccount = new Map<string, number>()
  let reserved = 0
  let refused = 0
  const answers = createUnsentAnswers()

  // Disconnects more clients than needed, until a sixteenth of the budget is free. Otherwise almost
  // every request would sort all clients.
  const makeRoom = () => {
    if (reserved + answers.bytes > bytes) answers.disconnectUntil((bytes * 15) / 16 - reserved)
  }

  return {
    /** The number of requests refused for lack of memory. */
    get refused() {
      return refused
    },
    createReservation(account: string): Reservation {
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
    /**
     * Counts an unsent answer until the returned function is called or the client disconnects. When
     * several clients wait for the same `body`, each is charged an equal part.
     */
    reserveAnswer(reader: Reader, body: object, length: number): () => void {
      if (reader.destroyed) return () => {}
      const release = answers.add(reader, body, length)
      makeRoom()
      return release
    },
  }
}

// Creates the 503 errors only once: creating an error with its stack takes microseconds.
const full = overloaded('Requests take too much memory; try again')
const shareFull = overloaded('This account has its share of the memory for requests')

/** The unsent answers or chunks of one client. */
type Waiting = Set<{ readonly body: object }>

/** Tracks the unsent answers by client and by body. */
function createUnsentAnswers() {
  const clients = new Map<Reader, Waiting>()
  const watched = new WeakSet<Reader>()
  const bodies = new Map<object, { readonly bytes: number; readers: number }>()
  let held = 0

  const add = (reader: Reader, body: object, bytes: number) => {
    if (!watched.has(reader)) {
      watched.add(reader)
      reader.once('close', () => forget(reader))
    }
    const answer = { body }
    const waiting = clients.get(reader)
    if (waiting) waiting.add(answer)
    else clients.set(reader, new Set([answer]))
    const shared = bodies.get(body)
    if (shared) shared.readers++
    else bodies.set(body, { bytes, readers: 1 })
    held += ANSWER_BYTES + (shared ? 0 : bytes)
    return () => remove(reader, answer)
  }
  const remove = (reader: Reader, answer: { readonly body: object }) => {
    const waiting = clients.get(reader)
    if (!waiting?.delete(answer)) return
    if (waiting.size === 0) clients.delete(reader)
    held -= ANSWER_BYTES
    const shared = bodies.get(answer.body)
    if (!shared || --shared.readers > 0) return
    bodies.delete(answer.body)
    held -= shared.bytes
  }
  const forget = (reader: Reader) => {
    for (const answer of clients.get(reader) ?? []) remove(reader, answer)
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
    /**
     * Disconnects the clients with the most unsent bytes first, until at most `bytes` are unsent.
     * Of clients with equally many bytes, disconnects first the one that has had any for longest.
     */
    disconnectUntil(bytes: number) {
      const sizes = Array.from(clients, ([reader, waiting]) => ({ reader, size: bytesOf(waiting) }))
      sizes.sort((a, b) => b.size - a.size)
      for (const { reader } of sizes) {
        if (held <= bytes) return
        reader.destroy()
        forget(reader)
      }
    },
  }
}
