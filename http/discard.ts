import type { IncomingMessage, ServerResponse } from 'node:http'
import { isWaitingToContinue } from './expectation.ts'
import type { Limits } from './limits.ts'

/**
 * Whether the end of an answer waits for the rest of its request's body. An answer that says
 * `Connection: close` closes the connection where it ends, and closing one with bytes unread makes
 * the kernel reset it: the client would lose the answer.
 */
export function mustEndLater(response: ServerResponse): boolean {
  const { req: request, shouldKeepAlive } = response
  if (shouldKeepAlive || request.method === 'HEAD') return false
  return !request.complete && !request.destroyed
}

/**
 * Reads and discards the rest of a body whose request has its answer, so that its sender sees the
 * answer and can go on with the next request. Past `discardBytes` it reads no more and ends its
 * side of the connection: the client then has until `discardTimeout` to read the answer. A client
 * that waits for `100 Continue` may send nothing more: its side ends at once, and what comes
 * nevertheless is read.
 */
export function discardRest(
  request: IncomingMessage,
  response: ServerResponse,
  limits: Limits,
): void {
  if (request.complete || request.destroyed) return
  const { socket } = request
  let left = limits.discardBytes
  const count = (chunk: Buffer) => {
    left -= chunk.length
    if (left >= 0) return
    request.off('data', count).pause()
    endSide()
  }
  const endSide = () => {
    if (hasTurn(response)) socket.end()
    else response.once('socket', () => process.nextTick(() => socket.end()))
  }
  const giveUp = () => {
    if (!hasTurn(response)) timer.refresh()
    else if (!request.complete) socket.destroy()
  }
  const timer = setTimeout(giveUp, limits.discardTimeout).unref()
  request.on('data', count)
  request.once('end', () => {
    if (!response.writableEnded) response.end()
  })
  request.once('close', () => clearTimeout(timer))
  if (isWaitingToContinue(request)) endSide()
  request.resume()
}

/** Whether the answers to earlier requests of the connection have gone. */
function hasTurn({ socket, writableFinished }: ServerResponse): boolean {
  return socket !== null || writableFinished
}
