import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Requests that came before the answer to the one ahead of them on their connection. */
export interface Pipelines {
  /**
   * Starts a request in a turn of the event loop of its own, once the answer ahead of it is sent.
   * Closes a connection on which too many wait.
   *
   * Node parses 64 KiB of a connection at a time, which hold 2,400 small requests. Were they all
   * answered in the same turn, 50 connections would keep everybody else waiting for 12 s.
   */
  add(socket: Socket, response: ServerResponse, start: () => void): void
}

export function createPipelines(limit: number): Pipelines {
  const waiting = new WeakMap<Socket, number>()
  return {
    add(socket, response, start) {
      if (socket.destroyed) return
      const count = waiting.get(socket) ?? 0
      if (count >= limit) {
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
    },
  }
}
