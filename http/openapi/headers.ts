const text = { type: 'string' }
const count = { type: 'string', pattern: '^[0-9]+$' }

/** The API's response headers. An answer documented with a `required` header always has it. */
export const responseHeaders = {
  'X-Request-Id': {
    required: true,
    description: 'The request id, which is also in the log of the server.',
    schema: { type: 'string', pattern: '^[\\w-]{1,64}$' },
  },
  ETag: {
    required: true,
    description: 'Identifies the content of an answer, for `If-None-Match` or `If-Match`.',
    schema: { type: 'string', pattern: '^"[\\w-]+"$' },
  },
  Link: {
    description: 'The URL of the next page (RFC 8288). Missing on the last page.',
    schema: { type: 'string', pattern: '^<.+>; rel="next"$' },
  },
  Allow: { required: true, description: 'The methods that the path has.', schema: text },
  'WWW-Authenticate': {
    required: true,
    description: 'The credential that the request needs (RFC 9110 section 11.6.1).',
    schema: text,
  },
  'Retry-After': {
    required: true,
    description: 'The seconds to wait before the next attempt.',
    schema: count,
  },
  RateLimit: {
    description: 'How many requests are left. Present if the operator has set rate limits.',
    schema: text,
  },
  'RateLimit-Policy': {
    description: 'The rate limits. Present if the operator has set rate limits.',
    schema: text,
  },
  'Content-Disposition': { required: true, description: 'The name of the file.', schema: text },
  'X-Public-Project-Key': {
    required: true,
    description: 'The public key of the new project.',
    schema: text,
  },
  'Webhook-Status': {
    description: '`unconfirmed` while the `webhook_url` waits for a confirmation of the account.',
    schema: { const: 'unconfirmed' },
  },
  'Import-Id': {
    description: 'The id of the import. Missing after a dry run, and for a file without rows.',
    schema: text,
  },
  'Import-Rows': {
    required: true,
    description: 'The number of new, skipped and updated rows together.',
    schema: count,
  },
  'Import-Skipped': {
    required: true,
    description: 'The number of rows that were already stored.',
    schema: count,
  },
  'Import-Updated': {
    required: true,
    description:
      'The number of rows that changed the status of a stored purchase, or filled what it lacked.',
    schema: count,
  },
  'Import-Repeated': {
    required: true,
    description: 'The number of rows that equal an earlier row of the file.',
    schema: count,
  },
  'Import-Passed-Over': {
    required: true,
    description: 'The number of rows that were not imported, such as rows of other apps.',
    schema: count,
  },
} as const

export type HeaderName = keyof typeof responseHeaders
