import { createHeaderSearch } from './header-search.ts'
import type { CsvHandlers, CsvParser } from './interface.ts'
import { createLineReader } from './line-reader.ts'
import { createRowReader } from './row-reader.ts'
import { checkFormat, HEAD_BYTES } from './unsupported.ts'
import { createUtf16Reader } from './utf16.ts'

/**
 * Creates a push parser for RFC 4180. It is strict: a malformed row is an error with its line,
 * and is never repaired. Reads UTF-8, or UTF-16 with a byte order mark. The delimiter is the most
 * frequent of `,` `;` and tab in the header. Lines end with LF or CRLF; empty ones are skipped. A
 * header has at most 256 columns and ends within the first 16 KiB. `maxRowLength` is in UTF-16 code
 * units, without the line end, and bounds the memory.
 *
 * V8 copies short cells. A cell of 13 characters or more is a view that keeps the text around it
 * (some 64 KiB) in memory, so copy such a cell before you keep it for long.
 *
 * @example
 * const rows: string[][] = []
 * const row = (cells: string[]) => rows.push(cells)
 * const parser = createCsvParser({ header: console.log, row, error: console.error })
 * for await (const chunk of file) parser.push(chunk)
 * parser.end()
 */
export function createCsvParser(handlers: CsvHandlers, maxRowLength = 1024 ** 2): CsvParser {
  const open = (firstLine: number) =>
    createLineReader(
      (delimiter) => createRowReader(handlers, delimiter, maxRowLength, firstLine),
      maxRowLength,
    )
  const { isHeader } = handlers
  const lines = isHeader
    ? createHeaderSearch(isHeader, (count) => handlers.skipped?.(count), open)
    : open(1)
  let head: Uint8Array = new Uint8Array()
  let reader: CsvParser | undefined

  function start(): CsvParser {
    const message = checkFormat(head)
    if (message) {
      handlers.error({ line: 1, code: 'unsupported_file', message })
      return { push() {}, end() {}, isClosed: true }
    }
    const { length, encoding } = readByteOrderMark(head)
    const chosen = encoding ? createUtf16Reader(lines, encoding) : lines
    chosen.push(head.subarray(length))
    return chosen
  }

  function read(bytes: Uint8Array) {
    if (reader) return reader.push(bytes)
    const longer = new Uint8Array(head.length + bytes.length)
    longer.set(head)
    longer.set(bytes, head.length)
    head = longer
    if (head.length >= HEAD_BYTES) reader = start()
  }

  const isClosed = () => reader?.isClosed ?? false

  return {
    get isClosed() {
      return isClosed()
    },
    push(chunk) {
      for (let at = 0; at < chunk.length && !isClosed(); at += MAX_READ_BYTES) {
        read(chunk.subarray(at, at + MAX_READ_BYTES))
      }
    },
    end() {
      const last = reader ?? start()
      last.end()
    },
  }
}

/** The maximum number of bytes to copy and decode at once, whatever the size of a chunk. */
const MAX_READ_BYTES = 64 * 1024

function readByteOrderMark([a, b, c]: Uint8Array) {
  if (a === 0xff && b === 0xfe) return { length: 2, encoding: 'utf-16le' } as const
  if (a === 0xfe && b === 0xff) return { length: 2, encoding: 'utf-16be' } as const
  return { length: a === 0xef && b === 0xbb && c === 0xbf ? 3 : 0 }
}
