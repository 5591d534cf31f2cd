import type { IncomingMessage, ServerResponse } from 'node:http'

interface Deferred {
  readonly response: ServerResponse
  readonly shouldKeepAlive: boolean
}

const deferred = new WeakMap<IncomingMessage, Deferred>()

/**
 * Delays `100 Continue` (RFC 9110 section 10.1.1) until a handler reads the body. If the handler
 * answers without reading the body, the connection closes after the answer. Some clients, such as
 * Caddy, send the body anyway, and the server could take it for the next request.
 */
export function deferContinue(request: IncomingMessage, response: ServerResponse): void {
  deferred.set(request, { response, shouldKeepAlive: response.shouldKeepAlive })
  response.shouldKeepAlive = false
}

/** Whether the client still waits for `100 Continue`. */
export function isWaitingToContinue(request: IncomingMessage): boolean {
  return deferred.has(request)
}

/** Sends `100 Continue` when the client waits for it. */
export function sendContinue(request: IncomingMessage): void {
  const waiting = deferred.get(request)
  if (!waiting) return
  deferred.delete(request)
  waiting.response.shouldKeepAlive = waiting.shouldKeepAlive
  waiting.response.writeContinue()
}
