import { foreignFile, HEAD_BYTES } from './foreign.ts'
import { concat, createLineReader, createUtf16Reader } from './lines.ts'
import { type CsvErrorCode, createRecordReader } from './records.ts'

export type { CsvErrorCode }

/** One bad record. `line` is physical (header = 1); `message` never quotes a cell. */
export interface CsvError {
  line: number
  code: CsvErrorCode | 'unsupported_file'
  message: string
}

/**
 * What the parser tells, in the order of the file; `line` is the physical line on which a record
 * starts. A bad record is one `error`, never a `row`, and parsing goes on with the next. Only a bad
 * header ends the parse, as nothing after it can be judged: so every file leads to one `header`, or
 * to one `error` in its place (`no_header` when there is nothing at all, `unsupported_file` when
 * its first bytes are those of another kind).
 */
export interface CsvHandlers {
  header(cells: string[], line: number): void
  /** `cells` is as wide as the header. */
  row(cells: string[], line: number): void
  /** `cells` only of a row that could be read: of another width than the header. */
  error(error: CsvError, cells?: string[]): void
}

export interface CsvOptions {
  /** The longest record in UTF-16 code units, its line end not counted; 1 MiB unless told. */
  maxRowLength?: number
}

/** Takes a file in chunks, cut at any byte. What a handler throws passes through: push no more. */
export interface CsvParser {
  push(chunk: Uint8Array): void
  end(): void
  /** Whether a bad header has ended the parse: the rest of the file is not looked at. */
  readonly isClosed: boolean
}

/**
 * A push parser for RFC 4180, strict: what is malformed is an error with its line, never repaired.
 * UTF-8, or UTF-16 with its mark; `,` `;` or tab, whichever the header has most of; LF or CRLF;
 * empty lines are skipped. A header has at most 256 columns and ends within the first 16 KiB.
 * Memory is bounded by `maxRowLength`, whatever comes.
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
    const message = foreignFile(head)
    if (message) {
      handlers.error({ line: 1, code: 'unsupported_file', message })
      return { push() {}, end() {}, isClosed: true }
    }
    const { length, littleEndian } = readMark(head)
    const chosen = littleEndian === undefined ? lines : createUtf16Reader(lines, littleEndian)
    chosen.push(head.subarray(length))
    return chosen
  }

  function take(piece: Uint8Array) {
    if (reader) return reader.push(piece)
    head = concat(head, piece)
    if (head.length >= HEAD_BYTES) reader = start()
  }

  const isClosed = () => reader?.isClosed ?? false

  return {
    get isClosed() {
      return isClosed()
    },
    push(chunk) {
      for (let at = 0; at < chunk.length && !isClosed(); at += PIECE) {
        take(chunk.subarray(at, at + PIECE))
      }
    },
    end() {
      const last = reader ?? start()
      last.end()
    },
  }
}

/** However large a chunk is, no more than this is copied and decoded at once. */
const PIECE = 64 * 1024

function readMark([a, b, c]: Uint8Array): { length: number; littleEndian?: boolean } {
  if (a === 0xff && b === 0xfe) return { length: 2, littleEndian: true }
  if (a === 0xfe && b === 0xff) return { length: 2, littleEndian: false }
  return { length: a === 0xef && b === 0xbb && c === 0xbf ? 3 : 0 }
}
