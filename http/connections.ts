import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Service } from './service.ts'

/** The latest request of a connection and its answer. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** The open connections; undefined for one that has brought no request yet. */
export type Connections = ReadonlyMap<Socket, Exchange | undefined>

/**
 * Bounds the connections of a server, counts them, and follows what goes on in each. Once it
 * listens no more, the next answer of each ends it: not before, or clients would come back at once,
 * and those that wait to be accepted when it stops to listen are reset.
 */
export function watchConnections(server: Server, { connections, limits }: Service): Connections {
  const latest = new Map<Socket, Exchange | undefined>()
  const remember = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    if (!server.listening) {
      // Of pipelined requests the first answer to say so would take the others with it.
      const earlier = latest.get(socket)
      if (earlier) earlier.response.shouldKeepAlive = true
      response.shouldKeepAlive = false
    }
    latest.set(socket, { request, response })
  }
  const forget = function (this: Socket) {
    latest.delete(this)
    connections.open--
  }
  server.maxConnections = limits.connections
  server.on('drop', () => connections.dropped++)
  server.on('connection', (socket) => {
    latest.set(socket, undefined)
    connections.open++
    socket.once('close', forget)
  })
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, remember)
  return latest
}

/**
 * Ends connections that bring nothing more, look by look: one that has been idle since the last
 * look is told so, and closed at the next. Closed at once, it would be reset if a request is on its
 * way.
 */
export function createReaper(connections: Connections): () => void {
  let idle = new Map<Socket, number>()
  return () => {
    const before = idle
    idle = new Map()
    for (const [socket, exchange] of connections) {
      if (exchange && !isOver(exchange)) continue
      idle.set(socket, socket.bytesRead)
      if (before.get(socket) !== socket.bytesRead) continue
      if (socket.writableEnded) socket.destroy()
      else endUnanswered(socket)
    }
  }
}

/** What comes yet is no longer read as a request: it would be done, and nobody told so. */
function endUnanswered(socket: Socket): void {
  socket.removeAllListeners('data').on('data', () => {})
  socket.end()
}

/** Whether the request has come in full and its answer has gone in full. */
export function isOver({ request, response }: Exchange): boolean {
  return request.complete && response.writableFinished
}
