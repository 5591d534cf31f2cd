import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Limits } from './limits.ts'
import type { ServerContext } from './server-context.ts'

/** The open connections, each with the response to its latest request. */
export type Connections = ReadonlyMap<Socket, ServerResponse | undefined>

/**
 * Limits and counts the connections of a server, and tracks the latest response of each connection.
 * After the server has stopped listening, closes each connection after its next answer. If it
 * closed connections while the server still listens, clients would reconnect. The kernel would
 * reset the new connections when the server stops listening.
 */
export function watchConnections(
  server: Server,
  { connections, limits }: ServerContext,
): Connections {
  const latest = new Map<Socket, ServerResponse | undefined>()
  const track = ({ socket }: IncomingMessage, response: ServerResponse) => {
    if (!server.listening) {
      socket.setTimeout(0) // the connection is no longer idle
      // Of several pipelined answers, only the last may close the connection: the answers after a
      // close would be lost.
      const earlier = latest.get(socket)
      if (earlier) earlier.shouldKeepAlive = true
      response.shouldKeepAlive = false
    }
    latest.set(socket, response)
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
  for (const event of ['request', 'checkContinue', 'checkExpectation']) {
    server.prependListener(event, track)
  }
  return latest
}

/**
 * Closes the connections of a server that no longer listens: those in use after their answer, and
 * idle ones after `stopIdleTimeout`, because a request may be on its way.
 */
export function closeConnections(
  server: Server,
  connections: Connections,
  { stopIdleTimeout }: Limits,
): void {
  server.keepAliveTimeout = Math.max(1, stopIdleTimeout) // 0 would disable it
  for (const [socket, response] of connections) {
    const closeWhenIdle = () => socket.setTimeout(server.keepAliveTimeout)
    if (!response || isOver(response)) closeWhenIdle()
    else if (response.writableFinished) response.req.once('close', closeWhenIdle)
    else response.shouldKeepAlive = false
  }
}

/** Whether the request is fully received and its answer fully sent. */
export function isOver({ req, writableFinished }: ServerResponse): boolean {
  return req.complete && writableFinished
}

/** The requests that wait for `100 Continue`, and whether their connections may stay open. */
const deferred = new WeakMap<IncomingMessage, boolean>()

/**
 * Delays `100 Continue` (RFC 9110 section 10.1.1) until a handler reads the body. If the handler
 * answers without reading the body, the connection closes after the answer. Some clients, such as
 * Caddy, send the body anyway, and the server could take it for the next request.
 */
export function deferContinue(request: IncomingMessage, response: ServerResponse): void {
  deferred.set(request, response.shouldKeepAlive)
  response.shouldKeepAlive = false
}

/** Sends `100 Continue` when the client waits for it. */
export function sendContinue(request: IncomingMessage, response: ServerResponse): void {
  const shouldKeepAlive = deferred.get(request)
  if (shouldKeepAlive === undefined) return
  deferred.delete(request)
  response.shouldKeepAlive = shouldKeepAlive
  response.writeContinue()
}

/**
 * Whether an answer must not end before the request's body is read. Ending an answer that has
 * `Connection: close` closes the connection. If unread bytes are left, the kernel resets the
 * connection, and the client loses the answer.
 */
export function mustEndLater(request: IncomingMessage, response: ServerResponse): boolean {
  const { shouldKeepAlive } = response
  if (shouldKeepAlive !== false || request.method === 'HEAD') return false
  return !request.complete && !request.destroyed
}

/**
 * Reads and discards the rest of a request's body. The client can then read the answer and send its
 * next request. After reading `discardBytes`, ends the server's side of the connection. Disconnects
 * a client whose body is incomplete after `discardTimeout`. If the client waits for `100 Continue`,
 * ends the server's side at once. No answer is lost, because `pipelining.ts` has sent all earlier
 * ones.
 */
export function discardRest(
  request: IncomingMessage,
  response: ServerResponse,
  limits: Limits,
): void {
  if (request.destroyed || request.readableEnded) return
  if (request.complete) {
    if (request.isPaused()) request.resume() // what has arrived would stay in memory
    return
  }
  const { socket } = request
  let bytesLeft = limits.discardBytes
  const count = (chunk: Buffer) => {
    bytesLeft -= chunk.length
    if (bytesLeft >= 0) return
    request.off('data', count).pause()
    socket.end?.()
  }
  const giveUp = () => {
    if (!request.complete) socket.destroy?.()
  }
  const timer = setTimeout(giveUp, limits.discardTimeout).unref()
  request.on('data', count)
  request.once('end', () => {
    if (!response.writableEnded) response.end()
  })
  request.once('close', () => clearTimeout(timer))
  if (deferred.has(request)) socket.end?.()
  request.resume()
}
