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

/** Bounds the connections of a server, counts them, and follows what goes on in each. */
export function watchConnections(server: Server, { connections, limits }: Service): Connections {
  const latest = new Map<Socket, Exchange | undefined>()
  const remember = (request: IncomingMessage, response: ServerResponse) =>
    latest.set(request.socket, { request, response })
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
 * Makes `closeIdleConnections`, which `close` calls too, end every connection with nothing in
 * flight. Node's own takes an answer for done that is written and not sent yet, and cuts it off; a
 * connection that has brought no request it takes for busy.
 */
export function closeOnlyIdle(server: Server, connections: Connections): void {
  server.closeIdleConnections = () => {
    for (const [socket, exchange] of connections) {
      if (!exchange || isOver(exchange)) socket.destroy()
    }
  }
}

/** Whether the request has come in full and its answer has gone in full. */
export function isOver({ request, response }: Exchange): boolean {
  return request.complete && response.writableFinished
}
