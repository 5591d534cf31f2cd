import type { Till } from '../lib/index.ts'
import { createCore } from './core.ts'
import { FetchExchange } from './fetch-exchange.ts'
import type { Limits } from './limits.ts'
import { hasCause } from './log.ts'
import type { HandlerOptions } from './options.ts'
import { problemReply, type Reply } from './reply.ts'
import { createServerContext } from './server-context.ts'

/** Facts about one request that a `Request` does not have. All are optional. */
export interface FetchInfo {
  /** The client's address, for the limits and the log. */
  readonly client?: string | undefined
  /** Answers the requests for paths that tillkit does not have. By default they get 404. */
  readonly next?: (() => Response | Promise<Response>) | undefined
}

/** A fetch handler, as Hono, Next.js, Bun and Deno use it. */
export interface FetchHandler {
  (request: Request, info?: FetchInfo): Promise<Response>
  /** Answers `/readyz` with 503 from now on: load balancers then send requests elsewhere. */
  drain(): void
}

/**
 * Creates a handler that turns a fetch `Request` into a `Response`, with the routes, limits and
 * answers of `createHandler`. The runtime must limit connections, header sizes and unsent answers.
 *
 * @example
 * const handler = createFetchHandler(till, { basePath: '/shop' })
 * app.all('/shop/*', (c) => handler(c.req.raw)) // Hono
 */
export function createFetchHandler(
  till: Till,
  options: HandlerOptions<Request> = {},
): FetchHandler {
  const context = createServerContext(till, options)
  const { limits, trustProxy, basePath, observe } = context
  const { has, respond } = createCore(till, context)

  const handler = async (request: Request, info: FetchInfo = {}): Promise<Response> => {
    if (typeof request?.headers?.get !== 'function') {
      throw new TypeError('createFetchHandler needs a Request: use createHandler for node:http')
    }
    const connection = typeof info.client === 'string' ? info.client : ''
    const exchange = new FetchExchange(request, till.together(), connection, basePath, trustProxy)
    if (info.next && !has(exchange.target.path)) return info.next()
    const started = performance.now()

    const finish = (status: number, failure?: unknown) => {
      // When a client disconnects, some runtimes end the request's body as if it were complete. The
      // error for the incomplete body is then logged as a disconnection (499).
      const isCut = request.signal.aborted && status < 500
      const isHangUp = failure !== undefined && (isCut || failure === exchange.hangUp)
      const isFault = failure !== undefined && !isHangUp && (status === 500 || hasCause(failure))
      const ms = performance.now() - started
      observe?.(exchange, { status: isHangUp ? 499 : status, ms, failure, isFault })
    }

    let reply: Reply
    let failure: unknown
    try {
      reply = await respond(exchange)
    } catch (error) {
      failure = error
      reply = problemReply(error, exchange.request_id)
    }
    exchange.discardRest(limits)
    const { status, content = null, stream } = reply
    const { headers } = exchange.answer
    for (let i = 0; i < reply.headers.length; i += 2) {
      headers.set(String(reply.headers[i]), String(reply.headers[i + 1]))
    }
    if (!stream) {
      finish(status, failure)
      const isEmpty = request.method === 'HEAD' || content === null
      return new Response(isEmpty ? null : content, { status, headers })
    }
    return new Response(createStream(stream, status, limits, finish), { status, headers })
  }

  const drain = () => {
    context.isStopping = true
  }
  return Object.assign(handler, { drain })
}

/**
 * Creates the body of a `Response`. Reads a chunk only when the runtime asks for it. Cuts off the
 * answer when the runtime asks for none for `answerTimeout`. Calls `finish` when the answer has
 * ended, with 499 if the runtime has not read it to its end.
 */
function createStream(
  chunks: AsyncGenerator<Buffer>,
  status: number,
  { answerTimeout }: Limits,
  finish: (status: number, failure?: unknown) => void,
): ReadableStream<Uint8Array> {
  let isOver = false
  let timer: NodeJS.Timeout | undefined
  const end = (status: number, failure?: unknown) => {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    chunks.return(undefined).catch(() => {})
    finish(status, failure)
  }
  const waitForReader = (controller: ReadableStreamDefaultController) => {
    const expire = () => {
      controller.error(new Error('the client reads too slowly'))
      end(499)
    }
    timer = setTimeout(expire, answerTimeout).unref()
  }
  return new ReadableStream<Uint8Array>(
    {
      start: waitForReader,
      async pull(controller) {
        clearTimeout(timer)
        try {
          const { done, value } = await chunks.next()
          if (isOver) return
          if (done) {
            controller.close()
            return end(status)
          }
          controller.enqueue(value)
          waitForReader(controller)
        } catch (error) {
          end(500, error)
          throw error
        }
      },
      cancel: () => end(499),
    },
    { highWaterMark: 0 },
  )
}
