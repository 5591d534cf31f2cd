/**
 * What sort of failure a code is. An adapter maps kinds, not codes: HTTP to a status, the CLI to an
 * exit code.
 */
export type ErrorKind = 'invalid' | 'unauthenticated' | 'not_found' | 'unavailable'

/** Every code the library raises: its kind and its title (RFC 9457 section 3.1.3). */
const codes = {
  invalid_request: { kind: 'invalid', title: 'The request is invalid' },
  invalid_public_key: { kind: 'invalid', title: 'The public project key is missing or unknown' },
  project_inactive: { kind: 'invalid', title: 'The project opens no sessions' },
  quota_exceeded: { kind: 'invalid', title: 'The account has no room for more' },
  store_inactive: { kind: 'invalid', title: 'The store takes no imports' },
  invalid_purchases: {
    kind: 'invalid',
    title: 'The purchase file has mistakes; nothing was imported',
  },
  account_key_required: { kind: 'unauthenticated', title: 'A valid account key is required' },
  token_required: { kind: 'unauthenticated', title: 'A valid bearer token is required' },
  insufficient_scope: { kind: 'unauthenticated', title: 'The token does not allow this operation' },
  account_key_not_found: { kind: 'not_found', title: 'There is no such account key' },
  account_not_found: { kind: 'not_found', title: 'There is no such account' },
  project_not_found: { kind: 'not_found', title: 'There is no such project' },
  store_not_found: { kind: 'not_found', title: 'There is no such store' },
  item_not_found: { kind: 'not_found', title: 'There is no such item' },
  master_key_mismatch: {
    kind: 'unavailable',
    title: 'The master key does not open the stored secrets',
  },
  storage_unavailable: { kind: 'unavailable', title: 'The storage can not be used' },
} as const satisfies Record<string, { kind: ErrorKind; title: string }>

export type ErrorCode = keyof typeof codes

/**
 * One thing that is wrong: in a field of a request, or in a line (physical, header = 1) of a file.
 */
export interface ErrorDetail {
  readonly field?: string
  readonly line?: number
  readonly column?: string
  readonly code: string
  readonly message: string
}

/** How many details an error carries; `total` says how many there were. */
export const MAX_DETAILS = 100

const MAX_ECHO = 64

/**
 * The beginning of what the caller sent, for messages that repeat it. A text that is longer than
 * `length` characters is cut, and ends in an ellipsis.
 */
export function excerpt(text: string, length = MAX_ECHO): string {
  if (text.length <= length) return text
  // Not half of a character that takes two code units.
  return `${text.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}

/** A detail whose field and column, which the caller may have named, are cut. */
function cutNames(detail: ErrorDetail): ErrorDetail {
  const { field, column } = detail
  return {
    ...detail,
    ...(field !== undefined && { field: excerpt(field) }),
    ...(column !== undefined && { column: excerpt(column) }),
  }
}

/**
 * The one error for what comes from outside. `message` is fit for the caller who sent the input:
 * it never quotes a secret, a token or a body.
 */
export class TillError extends Error {
  override readonly name = 'TillError'
  readonly code: ErrorCode
  readonly kind: ErrorKind
  readonly title: string
  readonly details: readonly ErrorDetail[]
  /** How many details there were before the list was cut. */
  readonly total: number

  constructor(
    code: ErrorCode,
    message: string,
    details: readonly ErrorDetail[] = [],
    total = details.length,
  ) {
    super(message)
    this.code = code
    this.kind = codes[code].kind
    this.title = codes[code].title
    this.details = details.slice(0, MAX_DETAILS).map(cutNames)
    this.total = total
  }
}
