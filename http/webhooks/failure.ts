const KINDS = ['refused', 'dns', 'connection', 'tls', 'timeout', 'protocol', 'stopped'] as const

/** Why a webhook request got no answer. */
type FailureKind = (typeof KINDS)[number]

/** The results of a webhook request: the class of the answer's status, or why there was none. */
export const RESULTS = ['2xx', '3xx', '4xx', '5xx', 'other', ...KINDS] as const

/** The error of a request that got no answer. The owner of the webhook can read the message. */
export class RequestFailure extends Error {
  override readonly name = 'RequestFailure'
  readonly kind: FailureKind

  constructor(kind: FailureKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.kind = kind
  }
}

const MESSAGES: { readonly [code: string]: readonly [FailureKind, string] } = {
  ECONNREFUSED: ['connection', 'The connection was refused'],
  ECONNRESET: ['connection', 'The connection was closed before the answer'],
  EPIPE: ['connection', 'The connection was closed before the answer'],
  ETIMEDOUT: ['connection', 'The host does not answer'],
  EHOSTUNREACH: ['connection', 'The host is unreachable'],
  ENETUNREACH: ['connection', 'The network is unreachable'],
}

const MAX_LENGTH = 200

/**
 * Converts an error of a socket, of TLS or of the HTTP parser to a `RequestFailure`. Its message
 * never quotes bytes that the receiver sent.
 */
export function toFailure(error: unknown): RequestFailure {
  if (error instanceof RequestFailure) return error
  const code = codeOf(error)
  const known = MESSAGES[code]
  if (known) return new RequestFailure(...known, { cause: error })
  if (code.startsWith('HPE_')) {
    return new RequestFailure('protocol', `The answer is not valid HTTP (${code})`, {
      cause: error,
    })
  }
  const isTls = /CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO/.test(code)
  const kind = isTls ? 'tls' : 'connection'
  const message = `The ${isTls ? 'TLS connection' : 'connection'} failed (${code})`
  return new RequestFailure(kind, message.slice(0, MAX_LENGTH), { cause: error })
}

function codeOf(error: unknown): string {
  // An `AggregateError` has one error for each address.
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  return String((error as { code?: unknown } | null)?.code ?? 'unknown')
}
