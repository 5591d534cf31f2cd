/** The errors of the HTTP transport, with their statuses. */
export const faults = {
  route_not_found: { status: 404, title: 'There is nothing here' },
  method_not_allowed: { status: 405, title: 'The method is not allowed here' },
  malformed_request: { status: 400, title: 'The request is malformed' },
  request_timeout: { status: 408, title: 'The request took too long to arrive' },
  body_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'The media type is not supported' },
  rate_limited: { status: 429, title: 'Too many requests' },
  headers_too_large: { status: 431, title: 'The request headers are too large' },
  body_already_read: { status: 500, title: 'A middleware has read the body' },
  overloaded: { status: 503, title: 'There is too much to do right now' },
  stopping: { status: 503, title: 'The server is stopping' },
} as const

export type FaultCode = keyof typeof faults

/** The error codes that HTTP adds to those of the library. */
export type HttpErrorCode = FaultCode | 'internal_error'
