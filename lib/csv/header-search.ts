import type { CsvHandlers, CsvParser } from './interface.ts'
import { createHeaderScan } from './line-reader.ts'
import { MAX_HEADER_BYTES } from './messages.ts'
import { createRowReader } from './row-reader.ts'

/** The number of lines among which the header is searched. */
const SEARCHED_LINES = 50
/** The first lines of a file are held in memory until this size. */
const MAX_HELD_BYTES = 64 * 1024

/** A parser for the rest of a file, whose first line has this number. */
type OpenParser = (firstLine: number) => CsvParser

/**
 * Skips lines above the header, such as titles: the header is the first of the first 50 lines that
 * `isHeader` accepts. If there is none, it is the first line. `skipped` gets the number of lines
 * above it that are not empty.
 */
export function createHeaderSearch(
  isHeader: (cells: readonly string[]) => boolean,
  skipped: (lines: number) => void,
  open: OpenParser,
): CsvParser {
  let held: Uint8Array = new Uint8Array()
  let parser: CsvParser | undefined

  const begin = (): CsvParser => {
    const { start, line, above } = findHeader(held, isHeader)
    if (above > 0) skipped(above)
    const opened = open(line)
    opened.push(held.subarray(start))
    return opened
  }

  return {
    get isClosed() {
      return parser?.isClosed ?? false
    },
    push(bytes) {
      if (parser) return parser.push(bytes)
      const longer = new Uint8Array(held.length + bytes.length)
      longer.set(held)
      longer.set(bytes, held.length)
      held = longer
      if (held.length < MAX_HELD_BYTES && countLines(held) < SEARCHED_LINES) return
      parser = begin()
      held = new Uint8Array()
    },
    end() {
      parser ??= begin()
      parser.end()
    },
  }
}

const LF = 0x0a

function countLines(bytes: Uint8Array): number {
  let count = 0
  for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, at + 1)) count++
  return count
}

/** Finds the byte and the line on which the header starts. */
function findHeader(bytes: Uint8Array, isHeader: (cells: readonly string[]) => boolean) {
  let start = 0
  let above = 0
  for (let line = 1; line <= SEARCHED_LINES && start < bytes.length; line++) {
    const next = bytes.indexOf(LF, start) + 1 || bytes.length
    const isEmpty = /^\r?\n?$/.test(
      String.fromCharCode(...bytes.subarray(start, next).subarray(0, 3)),
    )
    if (!isEmpty) {
      if (isHeader(readFirstRow(bytes.subarray(start, start + MAX_HEADER_BYTES)))) {
        return { start, line, above }
      }
      above++
    }
    start = next
  }
  return { start: 0, line: 1, above: 0 }
}

/** Reads the cells of the first row. Returns no cells for a malformed one. */
function readFirstRow(bytes: Uint8Array): readonly string[] {
  const scan = createHeaderScan()
  scan.scan(bytes)
  const text = new TextDecoder().decode(bytes.subarray(0, scan.length))
  let found: readonly string[] = []
  const handlers: CsvHandlers = {
    header(cells) {
      found = cells
    },
    row() {},
    error() {},
  }
  createRowReader(handlers, scan.delimiter(), MAX_HEADER_BYTES).push(text)
  return found
}
