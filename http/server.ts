import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { Till } from '../lib/index.ts'
import { handleClientErrors } from './client-errors.ts'
import {
  type Connections,
  closeConnections,
  deferContinue,
  watchConnections,
} from './connections.ts'
import { createListener } from './handle.ts'
import { readHeaders } from './head.ts'
import type { HandlerOptions } from './options.ts'
import { createServerContext, type ServerContext } from './server-context.ts'

export interface ServeOptions extends HandlerOptions {
  /** The address to listen on; 127.0.0.1 by default. */
  readonly host?: string | undefined
  /** The port to listen on; 3000 by default. 0 chooses a free port. */
  readonly port?: number | undefined
}

export interface RunningServer extends AsyncDisposable {
  /** `http://host:port`, with the port that the server listens on. */
  readonly url: string
  /**
   * Stops gracefully. `/readyz` answers 503. After `drainDelay` the server accepts no new
   * connections, answers requests on open ones with `Connection: close`, and closes idle ones.
   * Resolves at most 10 s after the delay.
   */
  stop(): Promise<void>
}

/** Serves a till over HTTP. Resolves when it listens; rejects when the address is not available. */
export async function serve(till: Till, options: ServeOptions = {}): Promise<RunningServer> {
  const { host = '127.0.0.1', port = 3000, ...handlerOptions } = options
  const context = createServerContext(till, handlerOptions)
  // Rejects a string: Node would take it as the path of a local socket.
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new TypeError('the option port must be a whole number from 0 to 65535')
  }
  const { limits } = context
  // Reads the raw headers, because no middleware can have changed them.
  const { start: handler } = createListener(till, context, readHeaders)
  const server = createServer(
    {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersTimeout,
      requestTimeout: limits.requestTimeout,
      keepAliveTimeout: limits.keepAliveTimeout,
      connectionsCheckingInterval: 1_000,
      requireHostHeader: false, // the handler checks the header, and sends a problem document
    },
    handler,
  )
  // 0 disables Node's limit on the number of headers. Node would hide the headers beyond a limit,
  // such as a repeated credential. The limit on header bytes still applies.
  server.maxHeadersCount = 0
  const connections = watchConnections(server, context)
  handleClientErrors(server, connections, context)
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    deferContinue(request, response)
    handler(request, response)
  })
  server.on('checkExpectation', handler) // Node would answer 417 without a problem document
  // `server.close` calls `closeIdleConnections`, which would cut off unfinished answers and
  // requests that are on their way. `stop` closes idle connections instead.
  server.closeIdleConnections = () => {}
  server.listen(port, host)
  await once(server, 'listening')
  let stopped: Promise<void> | undefined
  const stopOnce = () => {
    stopped ??= stop(server, connections, context)
    return stopped
  }
  return { url: urlOf(server), stop: stopOnce, [Symbol.asyncDispose]: stopOnce }
}

function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

async function stop(
  server: Server,
  connections: Connections,
  context: ServerContext,
): Promise<void> {
  const { limits } = context
  context.isStopping = true
  if (limits.drainDelay > 0) await wait(limits.drainDelay)
  const closed = new Promise((resolve) => server.close(resolve))
  closeConnections(server, connections, limits)
  const stopTimer = setTimeout(() => server.closeAllConnections(), limits.stopTimeout)
  await closed
  clearTimeout(stopTimer)
}
