import { errorOf, TillError } from './errors.ts'
import type { Answer, Message, Transport } from './message.ts'
import type { CallOptions, Transmission } from './options.ts'
import { sendByFetch, sendInTime, untilAborted } from './transport.ts'

export interface Request extends Message {
  /** The path and query below the base path. */
  readonly path: string
  /**
   * When another attempt is safe: `always`, also if an answer was lost; `refused`, only if the
   * server refused the request; `never`, because the body can be read only once.
   */
  readonly repeat: 'always' | 'refused' | 'never'
  /** How to send the request; by default with `fetch`. */
  readonly transport?: Transport
}

export type Send = (request: Request, options: CallOptions) => Promise<Answer>

/** Milliseconds. It doubles with each attempt. */
const BACKOFF = 200

/** Seconds. A longer `Retry-After` is an error at once. */
const MAX_RETRY_AFTER = 60

/** Milliseconds: the longest time that the server takes for an import. */
export const LONG_TIMEOUT = 3_600_000

const REFUSED = [429, 503]
/** The server may have carried out the request. 0: no answer. 502 and 504: from a proxy. */
const LOST = [0, 502, 504]

/**
 * Creates a function that sends requests below a base path, and repeats those for which that is
 * safe.
 */
export function createSender(
  { url, timeout, attempts, onWait }: Transmission,
  base = '/api/v1',
): Send {
  const sendOnce = async (request: Request, options: CallOptions): Promise<Answer> => {
    const { path, repeat: _, transport = sendByFetch, ...message } = request
    const ms = options.timeout ?? timeout
    const address = `${url}${base}${path}`
    const answer = await sendInTime(transport, address, message, ms, options.signal)
    if (answer.status === 200 || (answer.status === 304 && 'if-none-match' in message.headers)) {
      return answer
    }
    throw errorOf(answer)
  }

  return async (request, options) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await sendOnce(request, options)
      } catch (error) {
        if (attempt === attempts || !mayRepeat(request, error)) throw error
        const delay = delayOf(attempt, error.retryAfter)
        onWait?.(delay, error)
        await wait(delay, options.signal)
      }
    }
  }
}

function mayRepeat({ repeat }: Request, error: unknown): error is TillError {
  if (!(error instanceof TillError) || repeat === 'never') return false
  if (error.retryAfter !== undefined && error.retryAfter > MAX_RETRY_AFTER) return false
  const { status } = error
  return REFUSED.includes(status) || (repeat === 'always' && LOST.includes(status))
}

/** Milliseconds. The jitter spreads the requests of clients that failed at the same time. */
function delayOf(attempt: number, retryAfter = 0): number {
  const jitter = BACKOFF * 2 ** (attempt - 1) + retryAfter * 250
  return retryAfter * 1000 + Math.random() * jitter
}

async function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const passed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await untilAborted(passed, signal).finally(() => clearTimeout(timer))
}
