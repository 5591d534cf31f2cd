/** What can be wrong with a file; `messages` below says each in a sentence. */
export type CsvErrorCode = keyof typeof messages

/** One bad record. `line` is physical (header = 1); `message` never quotes a cell. */
export interface CsvError {
  line: number
  code: CsvErrorCode
  message: string
}

/**
 * What the parser tells, in the order of the file; `line` is the physical line on which a record
 * starts. A bad record is one `error`, never a `row`, and parsing goes on with the next. Only a bad
 * header ends the parse, as nothing after it can be judged: so every file leads to one `header`, or
 * to one `error` in its place (`no_header` when there is nothing at all).
 */
export interface CsvHandlers {
  header(cells: string[], line: number): void
  /** `cells` is as wide as the header. */
  row(cells: string[], line: number): void
  error(error: CsvError): void
}

export interface CsvOptions {
  /** The longest record in UTF-16 code units, its line end not counted; 1 MiB unless told. */
  maxRowLength?: number
}

/** Takes a file in chunks, cut at any byte. What a handler throws passes through: push no more. */
export interface CsvParser {
  push(chunk: Uint8Array): void
  end(): void
}

/**
 * A push parser for RFC 4180, strict: what is malformed is an error with its line, never repaired.
 * UTF-8, or UTF-16 with its mark; `,` `;` or tab, whichever the header has most of; LF or CRLF;
 * empty lines are skipped. Memory is bounded by `maxRowLength`, whatever comes.
 *
 * V8 copies short cells, but one of 13 characters or more is a view that keeps the text around it
 * (some 64 KiB) alive. That is harmless unless few cells of a large file are kept for long.
 *
 * @example
 * const rows: string[][] = []
 * const row = (cells: string[]) => rows.push(cells)
 * const parser = createCsvParser({ header: console.log, row, error: console.error })
 * for await (const chunk of file) parser.push(chunk)
 * parser.end()
 */
export function createCsvParser(handlers: CsvHandlers, options: CsvOptions = {}): CsvParser {
  const maxRowLength = options.maxRowLength ?? 1024 * 1024
  const lines = createLineReader(
    (delimiter) => createRecordReader(handlers, delimiter, maxRowLength),
    maxRowLength,
  )
  let head: Uint8Array = new Uint8Array()
  let reader: CsvParser | undefined

  function start(): CsvParser {
    const { length, littleEndian } = readMark(head)
    const chosen = littleEndian === undefined ? lines : createUtf16Reader(lines, littleEndian)
    chosen.push(head.subarray(length))
    return chosen
  }

  function take(piece: Uint8Array) {
    if (reader) return reader.push(piece)
    head = concat(head, piece)
    if (head.length >= LONGEST_MARK) reader = start()
  }

  return {
    push(chunk) {
      for (let at = 0; at < chunk.length; at += PIECE) take(chunk.subarray(at, at + PIECE))
    },
    end() {
      const last = reader ?? start()
      last.end()
    },
  }
}

interface Facts {
  maxRowLength: number
  headerWidth: number
  rowWidth: number
}

const messages = {
  no_header: () => 'The file has no header line',
  malformed_encoding: () => 'The line is not well-formed UTF-8 (or UTF-16, if so marked)',
  misplaced_quote: () => 'A quote is misplaced: quote a field as a whole, and double quotes in it',
  unclosed_quote: () => 'The quote that opens on this line is never closed',
  bare_cr: () => 'A carriage return stands alone: lines end in LF or CRLF',
  row_too_long: (facts: Facts) =>
    `The row is longer than ${facts.maxRowLength} characters: is a quote in it never closed?`,
  wrong_width: (facts: Facts) =>
    `The header has ${facts.headerWidth} cells, this row has ${facts.rowWidth}`,
}

/** However large a chunk is, no more than this is copied and decoded at once. */
const PIECE = 64 * 1024
const LONGEST_MARK = 3
const LF = 0x0a
const CR = 0x0d
const QUOTE = 0x22

function readMark([a, b, c]: Uint8Array): { length: number; littleEndian?: boolean } {
  if (a === 0xff && b === 0xfe) return { length: 2, littleEndian: true }
  if (a === 0xfe && b === 0xff) return { length: 2, littleEndian: false }
  return { length: a === 0xef && b === 0xbb && c === 0xbf ? 3 : 0 }
}

function concat(a: Uint8Array, b: Uint8Array) {
  const both = new Uint8Array(a.length + b.length)
  both.set(a)
  both.set(b, a.length)
  return both
}

/**
 * Turns UTF-16 into UTF-8, so that all else knows one encoding. What is malformed (a surrogate that
 * is alone, half a unit at the end) becomes malformed UTF-8: the line reader finds it, and its line.
 */
function createUtf16Reader(lines: CsvParser, littleEndian: boolean): CsvParser {
  let rest = new Uint8Array()

  return {
    push(piece) {
      const bytes = concat(rest, piece)
      const view = new DataView(bytes.buffer)
      const utf8 = new Uint8Array(bytes.length * 2)
      let length = 0
      let at = 0
      while (at + 2 <= bytes.length) {
        let code = view.getUint16(at, littleEndian)
        const isLead = (code & 0xfc00) === 0xd800
        if (isLead && at + 4 > bytes.length) break
        const trail = isLead ? view.getUint16(at + 2, littleEndian) : 0
        const isPair = (trail & 0xfc00) === 0xdc00
        if (isPair) code = 0x10000 + ((code & 0x3ff) << 10) + (trail & 0x3ff)
        length = writeUtf8(utf8, length, code)
        at += isPair ? 4 : 2
      }
      rest = bytes.slice(at)
      lines.push(utf8.subarray(0, length))
    },
    end() {
      if (rest.length > 0) lines.push(Uint8Array.of(0xff))
      lines.end()
    },
  }
}

function writeUtf8(out: Uint8Array, at: number, code: number): number {
  if (code < 0x80) {
    out[at] = code
    return at + 1
  }
  const tails = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3
  out[at] = (0xff00 >> (tails + 1)) | (code >> (6 * tails))
  for (let i = 1; i <= tails; i++) out[at + i] = 0x80 | ((code >> (6 * (tails - i))) & 0x3f)
  return at + tails + 1
}

/**
 * Cuts bytes at the last LF, which is no part of a longer UTF-8 sequence: so each decode is one whole
 * call, and what the record reader gets ends where a line does.
 */
function createLineReader(
  open: (delimiter: string) => RecordReader,
  maxRowLength: number,
): CsvParser {
  // A UTF-16 unit takes 3 bytes of UTF-8 at most: a line of more than these is too long for sure.
  const maxBytes = 3 * maxRowLength
  const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  const lenient = new TextDecoder('utf-8', { ignoreBOM: true })
  const header = createHeaderScan(maxBytes)
  let records: RecordReader | undefined
  let buffer = new Uint8Array()
  let held = 0

  function hold(bytes: Uint8Array) {
    if (held + bytes.length > buffer.length) {
      const larger = new Uint8Array(2 * (held + bytes.length))
      larger.set(buffer.subarray(0, held))
      buffer = larger
    }
    buffer.set(bytes, held)
    held += bytes.length
  }

  function flush(end: number) {
    const bytes = buffer.subarray(0, end)
    records ??= open(header.delimiter())
    const text = decode(bytes)
    if (text === undefined) flushByLine(bytes, records)
    else records.push(text)
    buffer.copyWithin(0, end, held)
    held -= end
  }

  /** Malformed lines are read all the same, leniently: their quotes say where the record ends. */
  function flushByLine(bytes: Uint8Array, records: RecordReader) {
    for (let at = 0, end = 0; at < bytes.length; at = end) {
      end = bytes.indexOf(LF, at) + 1 || bytes.length
      const line = bytes.subarray(at, end)
      const text = decode(line)
      if (text === undefined) records.pushMalformed(lenient.decode(line))
      else records.push(text)
    }
  }

  function decode(bytes: Uint8Array): string | undefined {
    try {
      return strict.decode(bytes)
    } catch {
      return undefined
    }
  }

  return {
    push(piece) {
      const bytes = held > maxBytes ? fromLineEnd(piece) : piece
      const whole = held + bytes.lastIndexOf(LF) + 1
      const hasLine = whole > held
      hold(bytes)
      const inRecords = records !== undefined || header.scan(bytes)
      if (hasLine && inRecords) flush(whole)
    },
    end() {
      flush(held)
      records?.end()
    },
  }
}

/** The rest of a line of which enough is known. */
function fromLineEnd(bytes: Uint8Array): Uint8Array {
  const end = bytes.indexOf(LF)
  return bytes.subarray(end === -1 ? bytes.length : end)
}

/** Looks for the end of the header, which may have line breaks in quotes, and counts delimiters. */
function createHeaderScan(maxBytes: number) {
  const counts = new Uint32Array(256)
  const count = (byte: number) => counts[byte] ?? 0
  let scanned = 0
  let begun = false
  let quoted = false
  let done = false

  return {
    /** Takes the next bytes; true when the header has ended in these or in earlier ones. */
    scan(bytes: Uint8Array): boolean {
      for (const byte of bytes) {
        if (done) break
        if (byte === QUOTE) quoted = !quoted
        else if (!quoted) counts[byte] = count(byte) + 1
        done = (byte === LF && begun && !quoted) || ++scanned > maxBytes
        begun ||= byte !== LF && byte !== CR
      }
      return done
    },
    /** The most frequent one; in a tie the one that is named first here. */
    delimiter(): string {
      const codes = [',', ';', '\t'].map((each) => each.charCodeAt(0))
      return String.fromCharCode(
        codes.reduce((best, next) => (count(next) > count(best) ? next : best)),
      )
    },
  }
}

interface RecordReader {
  /** Takes whole lines; only the last line of all may lack its end. */
  push(text: string): void
  /** Takes one line whose bytes were malformed: the record that it belongs to is an error. */
  pushMalformed(line: string): void
  end(): void
}

interface OpenRecord {
  line: number
  cells: string[]
  /** What there is of a quoted field that goes on in the next text, its quotes still doubled. */
  field: string
  quoteLine: number
  length: number
  malformedLine: number
}

/**
 * Two readers under one loop: `readRow` for the row that stands on one line with nothing wrong in
 * it, as nearly all do, and `readRecord` for any other by the whole grammar. The second alone would
 * do, but takes 1.6 (JSON cells) to 2.3 times (one quoted cell) as long, and so longer than uDSV.
 */
function createRecordReader(
  handlers: CsvHandlers,
  delimiter: string,
  maxRowLength: number,
): RecordReader {
  const delimiterCode = delimiter.charCodeAt(0)
  let line = 1
  let width = 0
  let open: OpenRecord | undefined
  let closed = false
  // Each is the first one at or after a place already read, and looked for again only when passed:
  // so a text is searched once, however many lines it has.
  let nextDelimiter = -1
  let nextQuote = -1

  function push(text: string) {
    nextDelimiter = -1
    nextQuote = -1
    let nextCr = -1
    let pos = open ? readRecord(text, 0) : 0
    while (pos < text.length && !closed) {
      if (nextCr < pos) nextCr = find(text, '\r', pos)
      const end = find(text, '\n', pos)
      const stop = nextCr === end - 1 && end < text.length ? nextCr : end
      if (stop === pos) {
        line++
        pos = end + 1
        continue
      }
      const length = stop - pos
      // The lower bound keeps short rows under a header of a million cells from costing that each.
      const isPossible = width > 0 && length >= width - 1 && length <= maxRowLength
      const cells = isPossible && nextCr >= stop ? readRow(text, pos, stop) : undefined
      if (cells) {
        handlers.row(cells, line++)
        pos = end + 1
      } else {
        pos = readRecord(text, pos)
      }
    }
  }

  /** The cells from `start` to the line end at `stop`; undefined when it takes the whole grammar. */
  function readRow(text: string, start: number, stop: number): string[] | undefined {
    const cells = new Array<string>(width)
    const last = width - 1
    let column = 0
    let at = start
    // Copies, as a variable of the closure costs a tenth more here.
    let cut = nextDelimiter
    let quote = nextQuote < start ? find(text, '"', start) : nextQuote
    for (;;) {
      if (at === quote && at < stop) {
        const second = find(text, '"', at + 1)
        const isDoubled = text.charCodeAt(second + 1) === QUOTE
        const close = isDoubled ? findClosingQuote(text, second) : second
        if (close >= stop) break
        const cell = text.slice(at + 1, close)
        cells[column] = isDoubled ? undouble(cell) : cell
        at = close + 1
        quote = find(text, '"', at)
      } else {
        if (cut < at) cut = find(text, delimiter, at)
        const end = cut < stop ? cut : stop
        cells[column] = text.slice(at, end)
        at = end
      }
      if (column === last || text.charCodeAt(at) !== delimiterCode) break
      column++
      at++
    }
    nextDelimiter = cut
    nextQuote = quote
    return at === stop && column === last && quote >= stop ? cells : undefined
  }

  /** Reads one record, or what of it is in the text; returns where the next one begins. */
  function readRecord(text: string, start: number, isMalformed = false): number {
    const record = open ?? newRecord()
    const limit = start + maxRowLength - record.length
    let goesOn = open !== undefined
    open = undefined
    if (isMalformed) record.malformedLine ||= line
    for (let at = start; ; at++) {
      const isQuoted = goesOn || text[at] === '"'
      if (isQuoted && !goesOn) record.quoteLine = line
      const from = isQuoted && !goesOn ? at + 1 : at
      const stop = isQuoted ? findClosingQuote(text, from) : findFieldEnd(text, from, delimiterCode)
      goesOn = isQuoted && stop === text.length
      at = isQuoted && !goesOn ? stop + 1 : stop
      if (at > limit) return skip('row_too_long', record.line, text, from, limit)
      const piece = text.slice(from, stop)
      if (isQuoted) line += countLineEnds(piece)
      record.field += piece
      if (goesOn) {
        record.length += at - start
        open = record
        return at
      }
      record.cells.push(isQuoted ? undouble(record.field) : record.field)
      record.field = ''
      if (text[at] !== delimiter) return finish(record, text, at)
    }
  }

  function newRecord(): OpenRecord {
    return { line, cells: [], field: '', quoteLine: 0, length: 0, malformedLine: 0 }
  }

  /** Judges what follows the last field of a record. */
  function finish(record: OpenRecord, text: string, at: number): number {
    const next = text[at]
    const isCrLf = next === '\r' && text[at + 1] === '\n'
    if (next === '\r' && !isCrLf) return skip('bare_cr', line, text, at, at)
    if (next !== undefined && next !== '\n' && !isCrLf) {
      return skip('misplaced_quote', line, text, at, at)
    }
    deliver(record)
    line++
    return at + (isCrLf ? 2 : 1)
  }

  /** Reports a record and passes over it: the next one begins after the first line end from `to`. */
  function skip(code: CsvErrorCode, where: number, text: string, from: number, to: number): number {
    report(code, where)
    const end = find(text, '\n', to)
    line += countLineEnds(text.slice(from, end)) + 1
    return end + 1
  }

  function deliver({ cells, line, malformedLine }: OpenRecord) {
    if (malformedLine > 0) return report('malformed_encoding', malformedLine)
    if (width > 0 && cells.length !== width) return report('wrong_width', line, cells.length)
    if (width > 0) return handlers.row(cells, line)
    width = cells.length
    handlers.header(cells, line)
  }

  function report(code: CsvErrorCode, line: number, rowWidth = 0) {
    closed = width === 0
    const message = messages[code]({ maxRowLength, headerWidth: width, rowWidth })
    handlers.error({ line, code, message })
  }

  return {
    push,
    pushMalformed(text) {
      if (!closed) readRecord(text, 0, true)
    },
    end() {
      if (open) report('unclosed_quote', open.quoteLine)
      else if (width === 0 && !closed) report('no_header', 1)
    },
  }
}

/** Where the next `part` is, or the end of the text: then every comparison means what it says. */
function find(text: string, part: string, from: number): number {
  const at = text.indexOf(part, from)
  return at === -1 ? text.length : at
}

/** Where the first quote from `from` is that is not one of two, or the end of the text. */
function findClosingQuote(text: string, from: number): number {
  let at = find(text, '"', from)
  while (text.charCodeAt(at + 1) === QUOTE) at = find(text, '"', at + 2)
  return at
}

function findFieldEnd(text: string, from: number, delimiter: number): number {
  let at = from
  while (at < text.length && !endsField(text.charCodeAt(at), delimiter)) at++
  return at
}

function endsField(code: number, delimiter: number): boolean {
  return code === delimiter || code === LF || code === CR || code === QUOTE
}

/** Takes one quote of each two; in 1/2 the time of `replaceAll` (2/3 with a JSON.parse after it). */
function undouble(text: string): string {
  let value = ''
  let from = 0
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', from)) {
    value += text.slice(from, at + 1)
    from = at + 2
  }
  return value + text.slice(from)
}

function countLineEnds(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count++
  return count
}
