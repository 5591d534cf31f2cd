import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { Till } from '../lib/index.ts'
import { type Connections, createReaper, watchConnections } from './connections.ts'
import { holdContinue } from './expectation.ts'
import { createHandler } from './handle.ts'
import { refuseMalformed } from './refusal.ts'
import { createService, type HandlerOptions, type Service } from './service.ts'
import { shareLimits } from './sharing.ts'

export interface ServeOptions extends HandlerOptions {
  /** 127.0.0.1 unless told. */
  readonly host?: string
  /** 3000 unless told; 0 takes any free port. */
  readonly port?: number
  /** Whether rate limits hold across all servers on the same storage that say so too. */
  readonly shareRateLimits?: boolean
}

export interface RunningServer extends AsyncDisposable {
  /** `http://host:port`, with the port that was taken. */
  readonly url: string
  /**
   * Lets `/readyz` say so, waits for the drain delay, takes no new connections, answers what comes
   * on those that are open with `Connection: close`, ends the idle ones, then resolves; within 10 s
   * and the delay at most.
   */
  stop(): Promise<void>
}

/** Serves a till over HTTP; resolves once it accepts. Rejects when the address can not be had. */
export async function serve(till: Till, options: ServeOptions = {}): Promise<RunningServer> {
  const { host = '127.0.0.1', port = 3000, shareRateLimits = false, ...handlerOptions } = options
  const service = createService(till, handlerOptions)
  const { limits } = service
  const handler = createHandler(till, handlerOptions, service)
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
  // Their bytes are bounded. Past a number of them Node would hide the rest from the handler, a
  // credential that is repeated there among them.
  server.maxHeadersCount = 0
  const connections = watchConnections(server, service)
  refuseMalformed(server, connections, service)
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    holdContinue(request, response)
    handler(request, response)
  })
  server.on('checkExpectation', handler) // Node's own 417 would have no problem document either
  // Node's own, which `close` calls, cuts off an answer that is written and not sent yet, and a
  // client whose next request is on its way.
  server.closeIdleConnections = () => {}
  await listen(server, port, host)
  const unshare = shareRateLimits ? shareLimits(service.rateLimits, till.operations) : () => {}
  let stopped: Promise<void> | undefined
  const stopOnce = () => {
    stopped ??= stop(server, connections, service).finally(unshare)
    return stopped
  }
  return { url: urlOf(server), stop: stopOnce, [Symbol.asyncDispose]: stopOnce }
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

async function stop(server: Server, connections: Connections, service: Service): Promise<void> {
  const { drainDelay, stopIdleTimeout, stopTimeout } = service.limits
  service.isStopping = true
  if (drainDelay > 0) await wait(drainDelay)
  const closed = new Promise((resolve) => server.close(resolve))
  for (const exchange of connections.values()) {
    if (exchange) exchange.response.shouldKeepAlive = false
  }
  const reap = createReaper(connections)
  reap()
  const idle = setInterval(reap, stopIdleTimeout)
  const late = setTimeout(() => server.closeAllConnections(), stopTimeout)
  await closed
  clearInterval(idle)
  clearTimeout(late)
}
