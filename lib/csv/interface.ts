import type { CsvErrorCode } from './messages.ts'

/** A bad row. `line` is a physical line; the header is line 1. `message` never quotes a cell. */
export interface CsvError {
  line: number
  code: CsvErrorCode | 'unsupported_file'
  message: string
}

/**
 * Receives the rows of a file in order. `line` is the physical line on which a row starts. A
 * bad row causes one call of `error`, and parsing goes on. A bad header causes one call of
 * `error` instead of `header`, and ends the parse.
 */
export interface CsvHandlers {
  /**
   * Whether these cells are a header. If it is given, lines above the header are skipped: the header
   * is the first of 50 lines that it accepts.
   */
  isHeader?(cells: readonly string[]): boolean
  /** Called before `header` with the number of skipped lines, if there are any. Counts no empty lines. */
  skipped?(lines: number): void
  header(cells: string[], line: number): void
  /** `cells` has as many cells as the header. */
  row(cells: string[], line: number): void
  /** `cells` is present if the row can be read but has more or fewer cells than the header. */
  error(error: CsvError, cells?: string[]): void
}

/** Takes a file in chunks, which may end at any byte. Rethrows an error that a handler throws. */
export interface CsvParser {
  push(chunk: Uint8Array): void
  end(): void
  /** Whether a bad header ended the parse. The parser then ignores the rest of the file. */
  readonly isClosed: boolean
}
