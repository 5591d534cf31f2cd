import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ServerContext } from './server-context.ts'

/** A request and its response. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** The open connections, each with its latest exchange. A connection without a request has none. */
export type Connections = ReadonlyMap<Socket, Exchange | undefined>

/**
 * Limits and counts the connections of a server, and tracks the latest exchange of each connection.
 * After the server has stopped listening, closes each connection after its next answer. If it
 * closed connections while the server still listens, clients would reconnect. The kernel would
 * reset the new connections when the server stops listening.
 */
export function watchConnections(
  server: Server,
  { connections, limits }: ServerContext,
): Connections {
  const latest = new Map<Socket, Exchange | undefined>()
  const track = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    if (!server.listening) {
      // Of several pipelined answers, only the last may close the connection: the answers after a
      // close would be lost.
      const earlier = latest.get(socket)
      if (earlier) earlier.response.shouldKeepAlive = true
      response.shouldKeepAlive = false
    }
    latest.set(socket, { request, response })
  }
  const untrack = function (this: Socket) {
    latest.delete(this)
    connections.open--
  }
  server.maxConnections = limits.connections
  server.on('drop', () => connections.dropped++)
  server.on('connection', (socket) => {
    latest.set(socket, undefined)
    connections.open++
    socket.once('close', untrack)
  })
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, track)
  return latest
}

/**
 * Returns a function to call periodically. Each call ends the connections that were idle since the
 * previous call, and destroys those that the previous call ended. The delay between end and
 * destruction avoids resetting a request that is on its way.
 */
export function createIdleCloser(connections: Connections): () => void {
  let idle = new Map<Socket, number>()
  return () => {
    const before = idle
    idle = new Map()
    for (const [socket, exchange] of connections) {
      if (exchange && !isOver(exchange)) continue
      idle.set(socket, socket.bytesRead)
      if (before.get(socket) !== socket.bytesRead) continue
      if (socket.writableEnded) socket.destroy()
      else endIgnoringRequests(socket)
    }
  }
}

/** Ends a connection, and ignores later requests: their answers could no longer be sent. */
function endIgnoringRequests(socket: Socket): void {
  socket.removeAllListeners('data').on('data', () => {})
  socket.end()
}

/** Whether the request is fully received and its answer fully sent. */
export function isOver({ request, response }: Exchange): boolean {
  return request.complete && response.writableFinished
}
