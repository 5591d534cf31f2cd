import { Buffer, isUtf8 } from 'node:buffer'

/** Error codes and messages. The messages are fixed texts that never quote the body. */
const problems = {
  truncated: 'The body ends before its closing delimiter',
  malformed_delimiter: 'A delimiter may be followed by spaces and tabs only, then by CRLF',
  bare_line_feed: 'A delimiter or header line ends with a bare LF; line ends must be CRLF',
  too_many_parts: 'The body has too many parts',
  header_too_large: 'The header of a part is too large',
  folded_header: 'A header line of a part starts with white space; headers may not be folded',
  malformed_header: 'A header line of a part is not "name: value" without control characters',
  duplicate_header: 'A part has the same header twice',
  invalid_utf8: 'A header of a part is not UTF-8',
  invalid_disposition: 'A part needs a well-formed Content-Disposition with the type form-data',
  missing_name: 'The Content-Disposition of a part has no name',
  unsupported_encoding: 'The Content-Transfer-Encoding of a part is not 7bit, 8bit or binary',
} as const

export type MultipartErrorCode = keyof typeof problems

/** The body is not well-formed multipart/form-data, or exceeds a limit. */
export class MultipartError extends Error {
  override readonly name = 'MultipartError'
  readonly code: MultipartErrorCode

  constructor(code: MultipartErrorCode) {
    super(problems[code])
    this.code = code
  }
}

/** The header of a part. */
interface PartHead {
  readonly name: string
  readonly filename?: string | undefined
}

/** The parser calls these in order for each part, `data` once per chunk. It stops if one throws. */
export interface MultipartHandlers {
  part(head: PartHead): void
  /** Gets the next bytes of the part, at least one. */
  data(chunk: Uint8Array): void
  partEnd(): void
}

export interface MultipartLimits {
  /** The maximum bytes of the header lines of a part; default 64 KiB. */
  readonly maxHeaderBytes?: number
  /** The maximum number of parts in a body; default 20. */
  readonly maxParts?: number
}

/** A push parser. After its first {@link MultipartError}, each call throws the same error again. */
interface MultipartParser {
  push(chunk: Uint8Array): void
  /** Ends the input. Throws if the closing delimiter is missing. Must be the last call. */
  end(): void
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const FIELD = new RegExp(`^(${TOKEN}):([\\t -~\\x80-\\xff]*)$`)
/** A parameter of a header value, with the semicolon before it (RFC 9110 section 5.6.6). */
const PARAMETER = new RegExp(
  `[ \\t]*;[ \\t]*(?:(${TOKEN})=(?:"((?:[^"\\\\]|\\\\.)*)"|(${TOKEN})))?`,
  'gsy',
)
/** A boundary has up to 70 characters, and does not end with a space (RFC 2046 section 5.1.1). */
const BOUNDARY = /^[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]$/
const OPENING = /^[ \t]*$/
const CLOSING = /^--[ \t]*$/
const CRLF = '\r\n'
const LF = 10

/** The boundary in a `multipart/form-data` Content-Type; undefined if it is missing or invalid. */
export function parseBoundary(contentType: string | undefined): string | undefined {
  const parameters = parseParameters(contentType ?? '', 'multipart/form-data')
  const boundary = parameters?.get('boundary')?.replace(/\\(.)/g, '$1')
  return boundary !== undefined && BOUNDARY.test(boundary) ? boundary : undefined
}

/**
 * Creates a push parser for multipart/form-data (RFC 7578). It takes chunks of any size, buffers
 * only the header of a part, and passes data to the handlers as it arrives.
 *
 * @example
 * const files: string[] = []
 * const parser = createMultipartParser('frontier', {
 *   part: ({ filename }) => files.push(filename ?? ''),
 *   data: () => {},
 *   partEnd: () => {},
 * })
 * for await (const chunk of request) parser.push(chunk)
 * parser.end()
 */
export function createMultipartParser(
  boundary: string,
  handlers: MultipartHandlers,
  { maxHeaderBytes = 64 * 1024, maxParts = 20 }: MultipartLimits = {},
): MultipartParser {
  if (!BOUNDARY.test(boundary)) throw new TypeError('expected a boundary from parseBoundary')
  const delimiter = Buffer.from(`${CRLF}--${boundary}`)
  let state: 'preamble' | 'delimiter' | 'header' | 'data' | 'epilogue' = 'preamble'
  // The bytes that are not parsed yet. The first delimiter needs no line end before it.
  let pending = Buffer.from(CRLF)
  // How many of these bytes are no data: the CRLF that ends a header may begin a delimiter.
  let consumed = CRLF.length
  let line = ''
  let header: string[] = []
  let headerBytes = 0
  let parts = 0
  let failure: unknown

  return {
    push(chunk) {
      attempt(() => {
        pending = Buffer.concat([pending, chunk])
        while (step());
      })
    },
    end() {
      attempt(() => {
        const closed = state === 'epilogue' || (state === 'delimiter' && CLOSING.test(line))
        if (!closed) throw new MultipartError('truncated')
      })
      failure = new TypeError('expected no call after end()')
    },
  }

  function attempt(work: () => void): void {
    if (failure) throw failure
    try {
      work()
    } catch (error) {
      failure = error
      throw error
    }
  }

  // Parses the next bytes. Returns false if it needs the next chunk.
  function step(): boolean {
    if (state === 'epilogue') pending = pending.subarray(pending.length)
    if (pending.length === 0) return false
    return state === 'delimiter' || state === 'header' ? readLine() : search()
  }

  // Passes the data before the next delimiter to the handlers. Without a delimiter, keeps the last
  // bytes, which may be the beginning of one.
  function search(): boolean {
    const found = pending.indexOf(delimiter)
    const end = found < 0 ? Math.max(0, pending.length - delimiter.length + 1) : found
    if (state === 'data' && end > consumed) handlers.data(pending.subarray(consumed, end))
    consumed = Math.max(0, consumed - end)
    pending = pending.subarray(found < 0 ? end : end + delimiter.length)
    if (found < 0) return false
    if (state === 'data') handlers.partEnd()
    state = 'delimiter'
    header = []
    headerBytes = 0
    return true
  }

  function readLine(): boolean {
    const feed = pending.indexOf(LF)
    const end = feed < 0 ? pending.length : feed + 1
    headerBytes += end
    if (headerBytes > maxHeaderBytes) throw new MultipartError('header_too_large')
    line += pending.toString('latin1', 0, end)
    pending = pending.subarray(end)
    if (feed >= 0) takeLine()
    return feed >= 0
  }

  function takeLine(): void {
    if (!line.endsWith(CRLF)) throw new MultipartError('bare_line_feed')
    const text = line.slice(0, -CRLF.length)
    line = ''
    if (state === 'delimiter') takeDelimiter(text)
    else if (text !== '') header.push(text)
    else startData()
  }

  // Every line that starts with the boundary is a delimiter (RFC 2046 section 5.1.1). Only
  // transport padding may follow; any other text is an error.
  function takeDelimiter(rest: string): void {
    const closing = CLOSING.test(rest)
    if (!closing && !OPENING.test(rest)) throw new MultipartError('malformed_delimiter')
    if (!closing && ++parts > maxParts) throw new MultipartError('too_many_parts')
    state = closing ? 'epilogue' : 'header'
  }

  function startData(): void {
    handlers.part(parseHead(header))
    state = 'data'
    pending = Buffer.concat([Buffer.from(CRLF), pending])
    consumed = CRLF.length
  }
}

function parseHead(lines: readonly string[]): PartHead {
  const fields = parseFields(lines)
  const encoding = fields.get('content-transfer-encoding') ?? 'binary'
  if (!/^(7bit|8bit|binary)$/i.test(encoding)) throw new MultipartError('unsupported_encoding')

  const disposition = parseParameters(fields.get('content-disposition') ?? '', 'form-data')
  if (!disposition) throw new MultipartError('invalid_disposition')
  const name = unescapeName(disposition.get('name'))
  if (name === undefined) throw new MultipartError('missing_name')
  const filename = unescapeName(disposition.get('filename'))
  return { name, filename }
}

const KNOWN = ['content-disposition', 'content-type', 'content-transfer-encoding']

/** Parses the known headers of a part. Others "MUST be ignored" (RFC 7578 section 4.8). */
function parseFields(lines: readonly string[]): Map<string, string> {
  const fields = new Map<string, string>()
  for (const line of lines) {
    if (/^[ \t]/.test(line)) throw new MultipartError('folded_header')
    const [, name = '', value = ''] = FIELD.exec(line) ?? []
    if (name === '') throw new MultipartError('malformed_header')
    const key = name.toLowerCase()
    if (!KNOWN.includes(key)) continue
    if (fields.has(key)) throw new MultipartError('duplicate_header')
    const bytes = Buffer.from(value, 'latin1')
    if (!isUtf8(bytes)) throw new MultipartError('invalid_utf8')
    fields.set(key, bytes.toString().trim())
  }
  return fields
}

/** The parameters of a header value; undefined if it is malformed or does not begin with `type`. */
function parseParameters(value: string, type: string): Map<string, string> | undefined {
  const text = value.trim()
  if (text.slice(0, type.length).toLowerCase() !== type) return undefined
  const rest = text.slice(type.length)
  const parameters = new Map<string, string>()
  let end = 0
  for (const [whole, name, quoted, token] of rest.matchAll(PARAMETER)) {
    end += whole.length
    if (name === undefined) continue
    if (parameters.has(name.toLowerCase())) return undefined
    parameters.set(name.toLowerCase(), quoted ?? token ?? '')
  }
  return end === rest.length ? parameters : undefined
}

/**
 * Undoes the escapes in a field name or file name. Browsers escape three characters with `%`
 * (WHATWG HTML, multipart/form-data encoding algorithm), curl two with a backslash. Any other `%`
 * or backslash stays.
 */
function unescapeName(raw: string | undefined): string | undefined {
  return raw?.replace(/%22|%0D|%0A|\\["\\]/g, (sent) => ESCAPES[sent] ?? sent)
}

const ESCAPES: Record<string, string> = {
  '%22': '"',
  '%0D': '\r',
  '%0A': '\n',
  '\\"': '"',
  '\\\\': '\\',
}
