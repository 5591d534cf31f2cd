import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Returns a function for requests that arrive before the previous one on their connection is
 * answered. It starts each in its own turn of the event loop, after the previous answer is sent.
 * Closes a connection on which more than `limit` requests wait.
 *
 * Node parses 64 KiB of a connection at a time, which is up to 2,400 small requests. Without
 * separate turns, 50 such connections would block all others for 12 s.
 */
export function createPipelining(limit: number) {
  const waiting = new WeakMap<Socket, number>()
  return (socket: Socket, response: ServerResponse, start: () => void): void => {
    if (socket.destroyed) return
    const count = waiting.get(socket) ?? 0
    if (count >= limit) {
      stopParsing(socket)
      socket.destroy()
      return
    }
    waiting.set(socket, count + 1)
    response.once('socket', () => {
      setImmediate(() => {
        waiting.set(socket, (waiting.get(socket) ?? 1) - 1)
        start()
      })
    })
  }
}

/**
 * Stops the parser of a connection before the next request of the bytes that it has read. Otherwise
 * Node makes a request and a response from each of them, although the socket is destroyed: 10 MB on
 * 160 connections took more than 512 MB. Node does not document `parser`: where it is missing, only
 * the socket is destroyed.
 */
function stopParsing(socket: Socket): void {
  const { parser } = socket as { parser?: { onIncoming?: () => number } | null }
  if (parser) parser.onIncoming = () => SKIP_THE_REST
}

/** The result of `onIncoming` after which the parser reads no more. */
const SKIP_THE_REST = 2
