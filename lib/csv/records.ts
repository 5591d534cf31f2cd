import type { CsvHandlers } from './parser.ts'

const LF = 0x0a
const CR = 0x0d
const QUOTE = 0x22

/** The most columns that a header may have. */
export const MAX_COLUMNS = 256

/** The most bytes of UTF-8 before the end of the header line, empty lines before it included. */
export const MAX_HEADER_BYTES = 16 * 1024

/** What can be wrong with a file; `messages` says each in a sentence. */
export type CsvErrorCode = keyof typeof messages

interface Facts {
  maxRowLength: number
  headerWidth: number
  rowWidth: number
  line: number
  /** The line on which the last quoted cell opens, if that is what is wrong. */
  quoteLine: number
}

const messages = {
  no_header: () => 'The file is empty: it has no header line',
  header_too_long: () =>
    `The header line takes more than ${MAX_HEADER_BYTES} bytes: is a quote in it never closed?`,
  too_many_columns: ({ rowWidth }: Facts) =>
    `The header has ${rowWidth} columns; at most ${MAX_COLUMNS} are allowed`,
  malformed_encoding: () =>
    'The line is not well-formed UTF-8 (or UTF-16, if so marked): save the file as CSV UTF-8',
  misplaced_quote: ({ line, quoteLine }: Facts) =>
    quoteLine > 0 && quoteLine < line
      ? `The cell whose quote opens on line ${quoteLine} goes on to here: is that quote misplaced?`
      : 'A quote is misplaced: quote a field as a whole, and double quotes in it',
  unclosed_quote: () =>
    'The quote that opens on this line is never closed: all after it was taken for one cell',
  bare_cr: () => 'A carriage return stands alone: save the file with LF or CRLF line ends',
  row_too_long: ({ maxRowLength, quoteLine }: Facts) => {
    const quote = quoteLine > 0 ? `the quote that opens on line ${quoteLine}` : 'a quote in it'
    return `The row is longer than ${maxRowLength} characters: is ${quote} never closed?`
  },
  wrong_width: (facts: Facts) =>
    `The header has ${facts.headerWidth} cells, this row has ${facts.rowWidth}`,
}

export interface RecordReader {
  /** Takes whole lines; only the last line of all may lack its end. */
  push(text: string): void
  /** Takes one line whose bytes were malformed: the record that it belongs to is an error. */
  pushMalformed(line: string): void
  /** Ends the parse for a header that goes on too long, unless more is wrong with it. */
  refuseHeader(): void
  /** Whether a bad header has ended the parse. */
  readonly isClosed: boolean
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
export function createRecordReader(
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
      // The lower bound spares a short row the array of the header's width.
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

  /**
   * The cells from `start` to the line end at `stop`; undefined when it takes the whole grammar.
   */
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
      const quoteLine = isQuoted ? record.quoteLine : 0
      if (at > limit) {
        report('row_too_long', record.line, { quoteLine })
        return skip(text, from, limit)
      }
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
      if (text[at] !== delimiter) return finish(record, text, at, quoteLine)
    }
  }

  function newRecord(): OpenRecord {
    return { line, cells: [], field: '', quoteLine: 0, length: 0, malformedLine: 0 }
  }

  /** Judges what follows the last field of a record. */
  function finish(record: OpenRecord, text: string, at: number, quoteLine: number): number {
    const next = text[at]
    const isCrLf = next === '\r' && text[at + 1] === '\n'
    if (next !== undefined && next !== '\n' && !isCrLf) {
      report(next === '\r' ? 'bare_cr' : 'misplaced_quote', line, { quoteLine })
      return skip(text, at, at)
    }
    deliver(record)
    line++
    return at + (isCrLf ? 2 : 1)
  }

  /** Passes over a bad record: the next one begins after the first line end from `to`. */
  function skip(text: string, from: number, to: number): number {
    const end = find(text, '\n', to)
    line += countLineEnds(text.slice(from, end)) + 1
    return end + 1
  }

  function deliver({ cells, line, malformedLine }: OpenRecord) {
    if (malformedLine > 0) return report('malformed_encoding', malformedLine)
    if (width > 0 && cells.length !== width) return report('wrong_width', line, { cells })
    if (width > 0) return handlers.row(cells, line)
    if (cells.length > MAX_COLUMNS) return report('too_many_columns', line, { cells })
    width = cells.length
    handlers.header(cells, line)
  }

  function report(
    code: CsvErrorCode,
    line: number,
    { cells, quoteLine = 0 }: { cells?: string[]; quoteLine?: number } = {},
  ) {
    closed = width === 0
    const rowWidth = cells?.length ?? 0
    const facts = { maxRowLength, headerWidth: width, rowWidth, line, quoteLine }
    const message = messages[code](facts)
    handlers.error({ line, code, message }, cells)
  }

  return {
    push,
    pushMalformed(text) {
      if (!closed) readRecord(text, 0, true)
    },
    refuseHeader() {
      if (!closed) report('header_too_long', open?.line ?? line)
    },
    get isClosed() {
      return closed
    },
    end() {
      if (closed) return
      if (open) report('unclosed_quote', open.quoteLine)
      else if (width === 0) report('no_header', 1)
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

/**
 * Takes one quote of each two; in 1/2 the time of `replaceAll` (2/3 with a JSON.parse after it).
 */
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
