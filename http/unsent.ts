import type { Socket } from 'node:net'

/** The large bodies that clients have not taken yet. */
export interface Unsent {
  /** Counts a body until what this returns is called, or the client has gone. */
  hold(socket: Socket, body: Buffer): () => void
}

/** An answer, or a piece of one, that waits for its client; several may have one body. */
interface Waiting {
  readonly body: Buffer
}

/**
 * Bounds what these take together and refuses nobody: past so many `bytes` the client that has the
 * most of them is cut off, of equal ones the one that has kept some for longest. A body that
 * several wait for is there once, and is shared out among them: cutting off one of many would free
 * nothing, and two who ask for the same are not spared for it.
 */
export function createUnsent(bytes: number): Unsent {
  const clients = new Map<Socket, Set<Waiting>>()
  const watched = new WeakSet<Socket>()
  const waitingFor = new Map<Buffer, number>()
  let held = 0

  const add = (socket: Socket, waiting: Waiting) => {
    const all = clients.get(socket)
    if (all) all.add(waiting)
    else clients.set(socket, new Set([waiting]))
    const others = waitingFor.get(waiting.body) ?? 0
    waitingFor.set(waiting.body, others + 1)
    if (others === 0) held += waiting.body.length
  }
  const remove = (socket: Socket, waiting: Waiting) => {
    const all = clients.get(socket)
    if (!all?.delete(waiting)) return
    if (all.size === 0) clients.delete(socket)
    const others = (waitingFor.get(waiting.body) ?? 1) - 1
    if (others > 0) waitingFor.set(waiting.body, others)
    else if (waitingFor.delete(waiting.body)) held -= waiting.body.length
  }
  const forget = (socket: Socket) => {
    for (const waiting of clients.get(socket) ?? []) remove(socket, waiting)
  }
  const bytesOf = (all: Iterable<Waiting>) => {
    let sum = 0
    for (const { body } of all) sum += body.length / (waitingFor.get(body) ?? 1)
    return sum
  }
  const cutLargest = () => {
    let largest: Socket | undefined
    let most = 0
    for (const [socket, all] of clients) {
      const own = bytesOf(all)
      if (own > most) [largest, most] = [socket, own]
    }
    if (!largest) return
    largest.destroy()
    forget(largest)
  }

  return {
    hold(socket, body) {
      const waiting = { body }
      if (socket.destroyed) return () => {}
      if (!watched.has(socket)) {
        watched.add(socket)
        socket.once('close', () => forget(socket))
      }
      add(socket, waiting)
      while (held > bytes) cutLargest()
      return () => remove(socket, waiting)
    },
  }
}
