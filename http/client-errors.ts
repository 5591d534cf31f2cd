import { randomUUID } from 'node:crypto'
import { type Server, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type Connections, isOver } from './connections.ts'
import { connectionAddress } from './head.ts'
import { TransportFault } from './problems.ts'
import { problemReply, type Reply } from './reply.ts'
import type { ServerContext } from './server-context.ts'

const faults: { readonly [code: string]: TransportFault } = {
  HPE_HEADER_OVERFLOW: new TransportFault('headers_too_large', 'The headers are too large'),
  ERR_HTTP_REQUEST_TIMEOUT: new TransportFault('request_timeout', 'The request took too long'),
}
const malformed = new TransportFault('malformed_request', 'The request is not well-formed HTTP/1.1')

/**
 * Answers requests for which Node creates no response, then closes the connection: malformed
 * requests, and requests that arrive too slowly.
 */
export function handleClientErrors(
  server: Server,
  connections: Connections,
  context: ServerContext,
): void {
  const refused = new WeakSet<Socket>()

  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (refused.has(socket)) return // each further chunk causes the same error again
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    refused.add(socket)
    afterEarlierAnswers(connections, socket, () =>
      answer(faults[error.code ?? ''] ?? malformed, socket, context),
    )
  })
}

/** Calls `act` when all earlier pipelined requests on the connection are answered. */
function afterEarlierAnswers(connections: Connections, socket: Socket, act: () => void): void {
  const response = connections.get(socket)
  if (!response || isOver(response)) {
    act()
  } else if (response.req.complete) {
    response.once('finish', act)
  } else if (response.headersSent) {
    // The malformed bytes belong to a request whose answer has begun: no error answer can be sent.
    socket.destroySoon()
  } else if (response.socket) {
    act()
  } else {
    response.once('socket', act)
  }
}

function answer(fault: TransportFault, socket: Socket, { observe, limits }: ServerContext): void {
  if (!socket.writable) return
  const request_id = randomUUID()
  const reply = problemReply(fault, request_id)
  socket.end(format(reply))
  const client = connectionAddress(socket)
  observe?.({ method: '', route: undefined, request_id, client }, { status: reply.status, ms: 0 })
  // Closes the connection even if the client never closes its side.
  setTimeout(() => socket.destroy(), limits.discardTimeout).unref()
}

function format({ status, headers, content }: Reply): string {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`
  return `${head}connection: close\r\n\r\n${content}`
}
