import type { CsvHandlers } from './interface.ts'
import { type CsvErrorCode, MAX_COLUMNS, messages } from './messages.ts'

const LF = 0x0a
const CR = 0x0d
const QUOTE = 0x22

export type RowReader = ReturnType<typeof createRowReader>

interface OpenRow {
  line: number
  cells: string[]
  /**
   * The first part of a quoted field, if the field continues in the text of the next `push`. The
   * part still has doubled quotes.
   */
  field: string
  quoteLine: number
  length: number
  malformedLine: number
}

/**
 * Creates a row reader. Nearly all rows are well-formed and on one line: `readSimpleRow` reads
 * these. `readAnyRow` reads any row. Reading all rows with it would take 1.6 times as long for JSON
 * cells, and 2.3 times for rows with one quoted cell (`bench/csv.mjs`).
 */
export function createRowReader(
  handlers: CsvHandlers,
  delimiter: string,
  maxRowLength: number,
  firstLine = 1,
) {
  const delimiterCode = delimiter.charCodeAt(0)
  let line = firstLine
  let width = 0
  let open: OpenRow | undefined
  let closed = false
  // The positions of the next delimiter and the next quote in the text. They are searched again
  // only after the parser has passed them, so the whole text is searched once.
  let nextDelimiter = -1
  let nextQuote = -1

  function push(text: string) {
    nextDelimiter = -1
    nextQuote = -1
    let nextCr = -1
    let pos = open ? readAnyRow(text, 0) : 0
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
      // A row has at least its delimiters, so a shorter line has too few cells. Does not call
      // `readSimpleRow` for such a line, because it allocates an array as wide as the header.
      const isPossible = width > 0 && length >= width - 1 && length <= maxRowLength
      const cells = isPossible && nextCr >= stop ? readSimpleRow(text, pos, stop) : undefined
      if (cells) {
        handlers.row(cells, line++)
        pos = end + 1
      } else {
        pos = readAnyRow(text, pos)
      }
    }
  }

  /**
   * Reads the cells from `start` to `stop`. Returns undefined for a row that needs `readAnyRow`.
   */
  function readSimpleRow(text: string, start: number, stop: number): string[] | undefined {
    const cells = new Array<string>(width)
    const last = width - 1
    let column = 0
    let at = start
    // Local copies: with the variables of the closure, this loop takes a tenth longer.
    let cut = nextDelimiter
    let quote = nextQuote < start ? find(text, '"', start) : nextQuote
    for (;;) {
      if (at === quote && at < stop) {
        const second = find(text, '"', at + 1)
        const isDoubled = text.charCodeAt(second + 1) === QUOTE
        const close = isDoubled ? findClosingQuote(text, second) : second
        if (close >= stop) break
        const cell = text.slice(at + 1, close)
        cells[column] = isDoubled ? cell.replaceAll('""', '"') : cell
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

  /** Reads one row, or the part of a row that is in `text`. Returns the position after it. */
  function readAnyRow(text: string, start: number, isMalformed = false): number {
    const row = open ?? newRow()
    const limit = start + maxRowLength - row.length
    let continues = open !== undefined
    open = undefined
    if (isMalformed) row.malformedLine ||= line
    for (let at = start; ; at++) {
      const isQuoted = continues || text[at] === '"'
      if (isQuoted && !continues) row.quoteLine = line
      const from = isQuoted && !continues ? at + 1 : at
      const stop = isQuoted ? findClosingQuote(text, from) : findFieldEnd(text, from, delimiterCode)
      continues = isQuoted && stop === text.length
      at = isQuoted && !continues ? stop + 1 : stop
      const quoteLine = isQuoted ? row.quoteLine : 0
      if (at > limit) {
        report('row_too_long', row.line, { quoteLine })
        return skip(text, from, limit)
      }
      const part = text.slice(from, stop)
      if (isQuoted) line += countLineEnds(part)
      row.field += part
      if (continues) {
        row.length += at - start
        open = row
        return at
      }
      row.cells.push(isQuoted ? row.field.replaceAll('""', '"') : row.field)
      row.field = ''
      if (text[at] !== delimiter) return finish(row, text, at, quoteLine)
    }
  }

  function newRow(): OpenRow {
    return { line, cells: [], field: '', quoteLine: 0, length: 0, malformedLine: 0 }
  }

  /** Checks the characters after the last field of a row. */
  function finish(row: OpenRow, text: string, at: number, quoteLine: number): number {
    const next = text[at]
    const isCrLf = next === '\r' && text[at + 1] === '\n'
    if (next !== undefined && next !== '\n' && !isCrLf) {
      report(next === '\r' ? 'bare_cr' : 'misplaced_quote', line, { quoteLine })
      return skip(text, at, at)
    }
    deliver(row)
    line++
    return at + (isCrLf ? 2 : 1)
  }

  /** Skips a bad row. The next one begins after the first line end at or after `to`. */
  function skip(text: string, from: number, to: number): number {
    const end = find(text, '\n', to)
    line += countLineEnds(text.slice(from, end)) + 1
    return end + 1
  }

  function deliver({ cells, line, malformedLine }: OpenRow) {
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
    /** Takes whole lines. The last line of the file may lack its line end. */
    push,
    /** Takes a line that is not valid UTF-8. The row that contains it becomes an error. */
    pushMalformed(text: string) {
      if (!closed) readAnyRow(text, 0, true)
    },
    /** Ends the parse because the header is too long, unless another error has ended it. */
    refuseHeader() {
      if (!closed) report('header_too_long', open?.line ?? line)
    },
    /** Whether a bad header has ended the parse. */
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

/** The position of the first `part` at or after `from`; the length of the text if there is none. */
function find(text: string, part: string, from: number): number {
  const at = text.indexOf(part, from)
  return at === -1 ? text.length : at
}

/** The position of the first quote from `from` on that is not doubled, or the end of the text. */
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

function countLineEnds(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count++
  return count
}
