import type { IncomingMessage, ServerResponse } from 'node:http'

interface Held {
  readonly response: ServerResponse
  readonly shouldKeepAlive: boolean
}

const held = new WeakMap<IncomingMessage, Held>()

/**
 * Remembers that a client waits for `100 Continue` before it sends its body (RFC 9110 section
 * 10.1.1). If it gets its answer instead, the connection ends: whether the body comes nevertheless,
 * and with it where the next request begins, only the client knows. Proxies do send it (Caddy).
 */
export function holdContinue(request: IncomingMessage, response: ServerResponse): void {
  held.set(request, { response, shouldKeepAlive: response.shouldKeepAlive })
  response.shouldKeepAlive = false
}

/** Whether its client has not been told to send the body. */
export function isWaitingToContinue(request: IncomingMessage): boolean {
  return held.has(request)
}

/** Asks for the body, when its client waits for that. */
export function sendContinue(request: IncomingMessage): void {
  const waiting = held.get(request)
  if (!waiting) return
  held.delete(request)
  waiting.response.shouldKeepAlive = waiting.shouldKeepAlive
  waiting.response.writeContinue()
}
