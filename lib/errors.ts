/** The kinds of errors and their HTTP statuses. The CLI maps kinds to exit codes. */
const statuses = {
  invalid: 400,
  unauthenticated: 401,
  not_found: 404,
  conflict: 409,
  outdated: 412,
  unavailable: 503,
} as const

export type ErrorKind = keyof typeof statuses

/** Every error code of the library, with its kind and title (RFC 9457 section 3.1.3). */
const codes = {
  invalid_request: { kind: 'invalid', title: 'The request is invalid' },
  invalid_public_key: { kind: 'invalid', title: 'The public project key is missing or unknown' },
  project_inactive: { kind: 'invalid', title: 'The project opens no sessions' },
  quota_exceeded: { kind: 'invalid', title: 'The account has no room for more' },
  catalog_changed: { kind: 'invalid', title: 'The catalog changed since the plan was made' },
  store_inactive: { kind: 'invalid', title: 'The store takes no imports' },
  invalid_purchases: {
    kind: 'invalid',
    title: 'The purchase file has mistakes; nothing was imported',
  },
  undo_refused: { kind: 'invalid', title: 'The import cannot be undone' },
  account_key_required: { kind: 'unauthenticated', title: 'A valid account key is required' },
  token_required: { kind: 'unauthenticated', title: 'A valid bearer token is required' },
  insufficient_scope: {
    kind: 'unauthenticated',
    title: 'The credential does not allow this operation',
  },
  account_key_not_found: { kind: 'not_found', title: 'There is no such account key' },
  account_not_found: { kind: 'not_found', title: 'There is no such account' },
  project_not_found: { kind: 'not_found', title: 'There is no such project' },
  store_not_found: { kind: 'not_found', title: 'There is no such store' },
  import_not_found: { kind: 'not_found', title: 'There is no such import' },
  purchase_not_found: { kind: 'not_found', title: 'There is no such purchase' },
  item_not_found: { kind: 'not_found', title: 'There is no such item' },
  webhook_not_found: { kind: 'not_found', title: 'There is no such webhook endpoint' },
  version_conflict: { kind: 'conflict', title: 'The record has changed since it was read' },
  etag_mismatch: { kind: 'outdated', title: 'The record no longer has the ETag of If-Match' },
  master_key_mismatch: {
    kind: 'unavailable',
    title: 'The master key does not open the stored secrets',
  },
  storage_unavailable: { kind: 'unavailable', title: 'The storage cannot be used' },
} as const satisfies Record<string, { kind: ErrorKind; title: string }>

export type ErrorCode = keyof typeof codes

/** A mistake in a field of an input, or in a line of a file (the header is line 1). */
export interface ErrorDetail {
  readonly field?: string
  readonly line?: number
  readonly column?: string
  readonly code: string
  readonly message: string
  /** Of `unknown_sku` in the management API: the SKU of the file, and how many rows have it. */
  readonly sku?: string
  readonly rows?: number
  /** The name of the product in the file, and what its rows have sold in each currency. */
  readonly title?: string
  readonly sales?: readonly SkuSales[]
}

/** The purchased rows of an unknown SKU in one currency. Amounts are in minor units. */
export interface SkuSales {
  readonly currency: string
  readonly total: string
  /** The latest price of one unit that is not 0. */
  readonly price: string
}

/** The maximum number of details in an error, by default. */
export const MAX_DETAILS = 100

const MAX_ECHO = 64

/** Shortens a text that came from the caller. A shortened text ends with an ellipsis. */
export function excerpt(text: string, length = MAX_ECHO): string {
  if (text.length <= length) return text
  // Does not keep half of a surrogate pair.
  return `${text.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}

/** Cuts the names of the field and column, because the caller may have chosen them. */
function cutNames(detail: ErrorDetail): ErrorDetail {
  const { field, column } = detail
  return {
    ...detail,
    ...(field !== undefined && { field: excerpt(field) }),
    ...(column !== undefined && { column: excerpt(column) }),
  }
}

interface DetailCounts {
  /** The number of all mistakes; default the number of details. */
  readonly total?: number
  /** The maximum number of details to keep; default 100. */
  readonly most?: number
}

/**
 * The error for wrong input, a missing record or an unavailable storage. Its `message` is for the
 * caller, so it never quotes a secret, a token or a body.
 */
export class TillError extends Error {
  override readonly name = 'TillError'
  readonly code: ErrorCode
  readonly kind: ErrorKind
  /** The HTTP status of this kind of error. */
  readonly status: number
  readonly title: string
  /** The first mistakes, by default up to 100. */
  readonly details: readonly ErrorDetail[]
  /** The number of all mistakes. */
  readonly total: number

  constructor(
    code: ErrorCode,
    message: string,
    details: readonly ErrorDetail[] = [],
    { total = details.length, most = MAX_DETAILS }: DetailCounts = {},
  ) {
    super(message)
    this.code = code
    this.kind = codes[code].kind
    this.status = statuses[this.kind]
    this.title = codes[code].title
    this.details = details.slice(0, most).map(cutNames)
    this.total = total
  }
}
