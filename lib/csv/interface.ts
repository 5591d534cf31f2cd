import type { CsvErrorCode } from './messages.ts'

/** One bad record. `line` is a physical line (header = 1). `message` never quotes a cell. */
export interface CsvError {
  line: number
  code: CsvErrorCode | 'unsupported_file'
  message: string
}

/**
 * Receives a file's records in order; `line` is the physical line on which a record starts. A bad
 * record is one `error` and parsing goes on. A bad header ends the parse, so every file leads to one
 * `header`, or to one `error` in its place.
 */
export interface CsvHandlers {
  header(cells: string[], line: number): void
  /** `cells` is as wide as the header. */
  row(cells: string[], line: number): void
  /** `cells` is present when the row could be read but has another width than the header. */
  error(error: CsvError, cells?: string[]): void
}

export interface CsvOptions {
  /** The longest record in UTF-16 code units, without its line end; 1 MiB by default. */
  maxRowLength?: number
}

/** Takes a file in chunks, cut at any byte. An error that a handler throws passes through. */
export interface CsvParser {
  push(chunk: Uint8Array): void
  end(): void
  /** Whether a bad header has ended the parse. The rest of the file is not read. */
  readonly isClosed: boolean
}
