import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { connectionAddress } from './address.ts'
import { type Connections, isOver } from './connections.ts'
import { readHeaders, requestIdOf } from './headers.ts'
import { createProblem, type Problem, TransportFault } from './problems.ts'
import type { Service } from './service.ts'

const faults: { readonly [code: string]: TransportFault } = {
  HPE_HEADER_OVERFLOW: new TransportFault('headers_too_large', 'The headers are too large'),
  ERR_HTTP_REQUEST_TIMEOUT: new TransportFault('request_timeout', 'The request took too long'),
}
const malformed = new TransportFault('malformed_request', 'This is not well-formed HTTP/1.1')
const tunnel = new TransportFault('method_not_allowed', 'This is no proxy', { allow: '' })

/** Answers what Node gives no request and response for, and ends the connection. */
export function refuseMalformed(server: Server, connections: Connections, service: Service): void {
  const refused = new WeakSet<Socket>()

  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (refused.has(socket)) return // the parser says so again of all that comes now
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    refused.add(socket)
    inTurn(connections, socket, () =>
      answer(faults[error.code ?? ''] ?? malformed, socket, service, randomUUID()),
    )
  })
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    socket.on('error', () => {})
    const request_id = requestIdOf(readHeaders(request))
    inTurn(connections, socket, () => answer(tunnel, socket, service, request_id))
  })
}

/** Acts once all requests before this one are answered: pipelined answers have no other order. */
function inTurn(connections: Connections, socket: Socket, act: () => void): void {
  const exchange = connections.get(socket)
  const { request, response } = exchange ?? {}
  if (!request || !response || isOver({ request, response })) {
    act()
  } else if (request.complete) {
    response.once('finish', act)
  } else if (response.headersSent) {
    socket.destroySoon() // in the rest of a body whose request has its answer
  } else if (response.socket) {
    act()
  } else {
    response.once('socket', act)
  }
}

function answer(
  fault: TransportFault,
  socket: Socket,
  { record, limits }: Service,
  request_id: string,
): void {
  if (!socket.writable) return
  const client = connectionAddress(socket)
  const problem = createProblem(fault, request_id, limits.problemBytes)
  socket.end(formatProblem(problem))
  record?.({ method: '', route: null, status: problem.status, ms: 0, request_id, client })
  // A client that takes the answer and does not hang up would keep the connection for ever.
  setTimeout(() => socket.destroy(), limits.discardTimeout).unref()
}

function formatProblem({ status, headers, body }: Problem): string {
  const bytes = JSON.stringify(body)
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    'cache-control: no-store',
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(bytes)}`,
    'x-content-type-options: nosniff',
    `x-request-id: ${body.request_id}`,
    'connection: close',
    '',
    bytes,
  ].join('\r\n')
}
