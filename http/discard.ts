import type { IncomingMessage, ServerResponse } from 'node:http'
import { isWaitingToContinue } from './expect-continue.ts'
import type { Limits } from './limits.ts'

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
  if (request.complete || request.destroyed || request.readableEnded) return
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
  if (isWaitingToContinue(request)) socket.end?.()
  request.resume()
}
