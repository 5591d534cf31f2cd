import { once } from 'node:events'
import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Limits } from './limits.ts'
import type { MemoryBudget } from './memory-budget.ts'
import { mustEndLater } from './node-body.ts'
import type { Reply, ReplyStream } from './reply.ts'

interface SendOptions {
  readonly limits: Limits
  readonly memory: MemoryBudget
}

/** Sends a reply. For a stream, resolves when all of it is sent. */
export function sendReply(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, content, stream }: Reply,
  options: SendOptions,
): Promise<void> | undefined {
  writeHead(response, status, headers)
  if (stream) return sendStream(request, response, stream, options)
  end(request, response, content)
  return undefined
}

// A list of headers is faster than an object. Middleware that replaces `writeHead` may know only
// objects (on-headers before 1.1.0).
function writeHead(
  response: ServerResponse,
  status: number,
  headers: readonly (string | number)[],
): void {
  if (response.writeHead === ServerResponse.prototype.writeHead) {
    response.writeHead(status, headers as string[])
    return
  }
  const record: { [name: string]: string | number } = {}
  for (let i = 0; i < headers.length; i += 2)
    record[headers[i] as string] = headers[i + 1] as string
  response.writeHead(status, record)
}

/** Ends an answer. If the request's body is still arriving, `discardRest` ends the answer later. */
function end(request: IncomingMessage, response: ServerResponse, content?: Buffer | string): void {
  if (!mustEndLater(request, response)) response.end(content)
  else if (content !== undefined) response.write(content)
}

async function sendStream(
  request: IncomingMessage,
  response: ServerResponse,
  { first, rest }: ReplyStream,
  { limits, memory }: SendOptions,
): Promise<void> {
  const { socket } = request
  setAnswerTimeout(request, response, limits)
  for (let chunk = first; !chunk.done && !socket.destroyed; chunk = await rest.next()) {
    if (response.write(chunk.value)) continue
    const release = memory.reserveAnswer(socket, chunk.value, chunk.value.length)
    await drainOrClose(request, response)
    release()
  }
  end(request, response)
}

/**
 * Resolves when the client has read all written bytes, or has disconnected. Also listens on the
 * socket: a pipelined response gets no `close` event while it waits for earlier ones.
 */
async function drainOrClose({ socket }: IncomingMessage, response: ServerResponse): Promise<void> {
  if (socket.destroyed) return
  socket.setMaxListeners(0) // no warning: each pipelined response may add a listener
  const controller = new AbortController()
  const { signal } = controller
  try {
    await Promise.race([once(response, 'drain', { signal }), once(socket, 'close', { signal })])
  } finally {
    controller.abort()
  }
}

/**
 * Counts an answer in the memory budget until it is fully sent. Closes the connection when the
 * client reads nothing for `answerTimeout`. `shared` is a buffer that other responses may be
 * sending too.
 */
export function watchSlowReader(
  request: IncomingMessage,
  response: ServerResponse,
  shared: Buffer | undefined,
  { limits, memory }: SendOptions,
): void {
  const { writableLength } = response
  if (writableLength === 0) return // the kernel has taken all bytes
  setAnswerTimeout(request, response, limits)
  const { socket } = request
  const release = shared
    ? memory.reserveAnswer(socket, shared, shared.length)
    : memory.reserveAnswer(socket, response, writableLength)
  response.once('finish', release)
}

function setAnswerTimeout(
  { socket }: IncomingMessage,
  response: ServerResponse,
  limits: Limits,
): void {
  if (!socket.setTimeout) return // not a real socket, as in Fastify's `inject`
  response.setTimeout(limits.answerTimeout, () => {
    // With nothing to read, the client waits for us.
    if (response.writableLength > 0) socket.destroy()
  })
  // Removes the timeout: the next request on this connection may take longer.
  response.prependOnceListener('finish', () => socket.setTimeout(0))
}
