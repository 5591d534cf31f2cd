import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Till } from '../lib/index.ts'
import { createHandler, type HandlerOptions } from './handle.ts'
import { limits as defaultLimits, type Limits } from './limits.ts'
import { createProblem, TransportFault } from './problems.ts'

export interface ServeOptions extends HandlerOptions {
  /** 127.0.0.1 unless told. */
  readonly host?: string
  /** 3000 unless told; 0 takes any free port. */
  readonly port?: number
}

export interface RunningServer {
  /** `http://host:port`, with the port that was taken. */
  readonly url: string
  /** Takes no new connections, lets requests in flight finish, then resolves; within 10 s at most. */
  stop(): Promise<void>
}

/** Serves a till over HTTP; resolves once it accepts. Rejects when the address can not be had. */
export async function serve(till: Till, options: ServeOptions = {}): Promise<RunningServer> {
  const limits = { ...defaultLimits, ...options.limits }
  const handler = createHandler(till, options)
  const server = createServer(
    {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersTimeout,
      requestTimeout: limits.requestTimeout,
      keepAliveTimeout: limits.keepAliveTimeout,
      connectionsCheckingInterval: 1_000,
      requireHostHeader: false, // the handler's to judge, who answers with a problem document
    },
    handler,
  )
  server.on('checkExpectation', handler) // Node's own 417 would have no problem document either
  server.on('clientError', (error, socket) => answerClientError(error, socket, limits))
  closeOnlyIdle(server)
  await listen(server, options.port ?? 3000, options.host ?? '127.0.0.1')
  return { url: urlOf(server), stop: () => stop(server, limits) }
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

/**
 * Makes `closeIdleConnections`, which `close` calls too, end every connection with nothing in flight.
 * Node's own takes an answer for done that is written and not sent yet, and cuts it off; a connection
 * that has brought no request it takes for busy.
 */
function closeOnlyIdle(server: Server): void {
  type Exchange = readonly [request: IncomingMessage, response: ServerResponse]
  const latest = new Map<Socket, Exchange | undefined>()
  const remember = (...exchange: Exchange) => latest.set(exchange[0].socket, exchange)
  server.on('connection', (socket) => {
    latest.set(socket, undefined)
    socket.once('close', () => latest.delete(socket))
  })
  server.on('request', remember)
  server.on('checkExpectation', remember)
  server.closeIdleConnections = () => {
    for (const [socket, exchange] of latest) {
      const isIdle = !exchange || (exchange[0].complete && exchange[1].writableFinished)
      if (isIdle) socket.destroy()
    }
  }
}

async function stop(server: Server, limits: Limits): Promise<void> {
  // Who asks once more on a connection that is open is told to take another one.
  server.prependListener('request', (_request, response) => {
    response.shouldKeepAlive = false
  })
  const closed = new Promise((resolve) => server.close(resolve))
  // A connection that goes idle after `close` would be kept open for the keep-alive time.
  const idle = setInterval(() => server.closeIdleConnections(), 50)
  const late = setTimeout(() => server.closeAllConnections(), limits.stopTimeout)
  await closed
  clearInterval(idle)
  clearTimeout(late)
}

const clientFaults: { readonly [code: string]: TransportFault } = {
  HPE_HEADER_OVERFLOW: new TransportFault('headers_too_large', 'The headers are too large'),
  ERR_HTTP_REQUEST_TIMEOUT: new TransportFault('request_timeout', 'The request took too long'),
}
const malformed = new TransportFault('malformed_request', 'This is not well-formed HTTP/1.1')

/** Answers what Node's parser refuses, before there is a request to answer. */
function answerClientError(error: NodeJS.ErrnoException, socket: Duplex, limits: Limits): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const request_id = randomUUID()
  const { status, body } = createProblem(clientFaults[error.code ?? ''] ?? malformed, request_id)
  const bytes = JSON.stringify(body)
  socket.end(
    [
      `HTTP/1.1 ${status} ${body.title}`,
      'content-type: application/problem+json',
      `content-length: ${Buffer.byteLength(bytes)}`,
      `x-request-id: ${request_id}`,
      'connection: close',
      '',
      bytes,
    ].join('\r\n'),
  )
  // A client that takes the answer and does not hang up would keep the connection for ever.
  setTimeout(() => socket.destroy(), limits.discardTimeout).unref()
}
