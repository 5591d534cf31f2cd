import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** A request that the receiver got. */
export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Receiver {
  readonly url: string
  readonly port: number
  /** The requests so far, in the order in which they ended. */
  readonly received: Received[]
  /** The open connections. */
  readonly sockets: ReadonlySet<Socket>
  /** The number of connections opened so far. */
  readonly connections: () => number
  /** Answers all later requests. */
  answer: (response: ServerResponse, received: Received, request: IncomingMessage) => unknown
  close(): Promise<void>
}

export interface ReceiverOptions {
  readonly port?: number
  readonly tls?: { readonly key: string; readonly cert: string }
}

/** A webhook receiver on loopback. It answers 204 by default. */
export async function startReceiver(
  t: Pick<TestContext, 'after'>,
  { port = 0, tls }: ReceiverOptions = {},
): Promise<Receiver> {
  const received: Received[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = '', url: path = '', headers } = request
    const got = { method, path, headers, body: Buffer.concat(chunks).toString() }
    received.push(got)
    receiver.answer(response, got, request)
  }
  const onRequest = (request: IncomingMessage, response: ServerResponse) =>
    void handle(request, response).catch(() => {}) // the sender closed the connection
  const server = tls ? createTlsServer(tls, onRequest) : createServer(onRequest)
  server.on('connection', (socket: Socket) => {
    connections++
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const { port: chosen } = server.address() as AddressInfo
  const receiver: Receiver = {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${chosen}`,
    port: chosen,
    received,
    sockets,
    connections: () => connections,
    answer: (response) => response.writeHead(204).end(),
    async close() {
      if (!server.listening) return
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
  }
  t.after(receiver.close)
  return receiver
}
