import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Answer } from './call.ts'
import { mustEndLater } from './discard.ts'
import type { HeaderValue } from './headers.ts'
import type { Limits } from './limits.ts'
import type { MemoryBudget } from './memory-budget.ts'
import { createProblem, type ResponseHeaders } from './problems.ts'
import { isFresh, Representation, StreamedBody } from './representation.ts'

export interface SendOptions {
  readonly request_id: string
  readonly ifNoneMatch: HeaderValue
  readonly limits: Limits
  readonly memory: MemoryBudget
}

/**
 * Sends the answer of a handler, or 304 when the client has it already. Returns the sent buffer if
 * other responses may send the same one. For a streamed body, resolves when all of it is sent.
 */
export function sendAnswer(
  response: ServerResponse,
  { body, headers }: Answer,
  options: SendOptions,
): Promise<undefined> | Buffer | undefined {
  const { request_id, ifNoneMatch } = options
  if (!(body instanceof Representation || body instanceof StreamedBody)) {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    sendText(response, 200, text, headers ?? {}, request_id)
    return undefined
  }
  const { etag } = body
  if (isFresh(ifNoneMatch, etag)) {
    const revalidated = { etag, 'cache-control': REVALIDATE, ...headers }
    response.writeHead(304, headerList(request_id, revalidated))
    end(response)
  } else if (body instanceof StreamedBody) {
    return sendStream(response, body, options)
  } else {
    sendRepresentation(response, body, headers, request_id)
    return typeof body.content === 'string' ? undefined : body.content
  }
  return undefined
}

/** Sends the problem document for an error. If the answer has begun, closes the connection. */
export function sendProblem(
  response: ServerResponse,
  error: unknown,
  request_id: string,
  { problemBytes }: Limits,
): void {
  if (response.headersSent) {
    response.destroy() // the client notices that the answer is incomplete
    return
  }
  const { status, headers, body } = createProblem(error, request_id, problemBytes)
  const type = { 'content-type': 'application/problem+json' }
  sendText(response, status, JSON.stringify(body), { ...type, ...headers }, request_id)
}

function sendRepresentation(
  response: ServerResponse,
  { content, length, etag }: Representation,
  headers: ResponseHeaders | undefined,
  request_id: string,
): void {
  if (headers) {
    const revalidated = { etag, 'cache-control': REVALIDATE, ...headers }
    sendContent(response, 200, content, length, revalidated, request_id)
    return
  }
  // The most frequent answer. Without an object of headers, it takes 0.6 µs less (bench/read).
  response.writeHead(200, [
    'content-type',
    'application/json',
    'content-length',
    length as never,
    'etag',
    etag,
    'cache-control',
    REVALIDATE,
    'x-content-type-options',
    'nosniff',
    'x-request-id',
    request_id,
  ])
  end(response, content)
}

/** Only the client may cache the answer, and it must revalidate before each use. */
const REVALIDATE = 'private, no-cache'
const NO_STORE = { 'cache-control': 'no-store' }

function sendText(
  response: ServerResponse,
  status: number,
  text: string,
  headers: ResponseHeaders,
  request_id: string,
): void {
  const length = Buffer.byteLength(text)
  sendContent(response, status, text, length, { ...NO_STORE, ...headers }, request_id)
}

function sendContent(
  response: ServerResponse,
  status: number,
  content: Buffer | string,
  length: number,
  headers: ResponseHeaders,
  request_id: string,
): void {
  const withLength = { 'content-length': String(length), ...headers }
  response.writeHead(status, headerList(request_id, withLength))
  end(response, content)
}

/** Ends an answer. If the request's body is still arriving, `discardRest` ends the answer later. */
function end(response: ServerResponse, content?: Buffer | string): void {
  if (!mustEndLater(response)) response.end(content)
  else if (content !== undefined) response.write(content)
}

function headerList(request_id: string, headers: ResponseHeaders): string[] {
  const type = 'content-type' in headers ? [] : ['content-type', 'application/json']
  const security = ['x-content-type-options', 'nosniff', 'x-request-id', request_id]
  return [...type, ...Object.entries(headers).flat(), ...security]
}

async function sendStream(
  response: ServerResponse,
  body: StreamedBody,
  { request_id, limits, memory }: SendOptions,
): Promise<undefined> {
  const { etag } = body
  const chunks = body.chunks[Symbol.asyncIterator]()
  // Reads before the headers are sent: if this fails, the client still gets a problem document.
  const first = response.req.method === 'HEAD' ? undefined : await chunks.next()
  response.writeHead(200, headerList(request_id, { etag, 'cache-control': REVALIDATE }))
  if (first) {
    setAnswerTimeout(response, limits)
    await sendChunks(response, first, chunks, memory)
  }
  end(response)
  return undefined
}

async function sendChunks(
  response: ServerResponse,
  first: IteratorResult<Buffer>,
  chunks: AsyncIterator<Buffer>,
  memory: MemoryBudget,
): Promise<void> {
  const { socket } = response.req
  for (let chunk = first; !chunk.done && !socket.destroyed; chunk = await chunks.next()) {
    if (response.write(chunk.value)) continue
    const release = memory.reserveAnswer(socket, chunk.value, chunk.value.length)
    await drainOrClose(response)
    release()
  }
}

/**
 * Resolves when the client has read all written bytes, or has disconnected. Also listens on the
 * socket: a pipelined response gets no `close` event while it waits for earlier ones.
 */
async function drainOrClose(response: ServerResponse): Promise<void> {
  const { socket } = response.req
  if (socket.destroyed) return
  socket.setMaxListeners(0) // each pipelined response may add a listener
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
  response: ServerResponse,
  shared: Buffer | undefined,
  { limits, memory }: { readonly limits: Limits; readonly memory: MemoryBudget },
): void {
  const { writableLength } = response
  if (writableLength === 0) return // the kernel has taken all bytes
  setAnswerTimeout(response, limits)
  const { socket } = response.req
  const release = shared
    ? memory.reserveAnswer(socket, shared, shared.length)
    : memory.reserveAnswer(socket, response, writableLength)
  response.once('finish', release)
}

function setAnswerTimeout(response: ServerResponse, limits: Limits): void {
  const { socket } = response.req
  response.setTimeout(limits.answerTimeout, () => socket.destroy())
  // Removes the timeout: the next request on this connection may take longer.
  response.prependOnceListener('finish', () => socket.setTimeout(0))
}
