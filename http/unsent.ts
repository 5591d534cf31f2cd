import type { ServerResponse } from 'node:http'

/** The large bodies that clients have not taken yet. */
export interface Unsent {
  /** Keeps account of a body until its client has taken it, or has gone. */
  hold(response: ServerResponse, body: Buffer): void
}

/**
 * Bounds what these take together: past so many `bytes` whoever takes longest is cut off, so that
 * slow readers keep no one else from anything. One body that many take is there once.
 */
export function createUnsent(bytes: number): Unsent {
  const answers = new Map<ServerResponse, Buffer>()
  const takers = new Map<Buffer, number>()
  let held = 0

  const release = (response: ServerResponse) => {
    const body = answers.get(response)
    if (!body) return
    answers.delete(response)
    const left = (takers.get(body) ?? 1) - 1
    if (left > 0) takers.set(body, left)
    else if (takers.delete(body)) held -= body.length
  }

  return {
    hold(response, body) {
      const { socket } = response.req
      if (socket.destroyed) return
      answers.set(response, body)
      const others = takers.get(body) ?? 0
      takers.set(body, others + 1)
      if (others === 0) held += body.length
      // Of an answer that waits for those before it only the socket says so.
      socket.setMaxListeners(0)
      const done = () => {
        socket.off('close', done)
        release(response)
      }
      socket.once('close', done)
      response.once('finish', done)
      for (const slowest of answers.keys()) {
        if (held <= bytes) return
        slowest.req.socket.destroy()
        release(slowest)
      }
    },
  }
}
