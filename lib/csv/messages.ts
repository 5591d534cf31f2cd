/** The maximum number of columns that a header line may have. */
export const MAX_COLUMNS = 256

/** The maximum number of UTF-8 bytes up to the end of the header line, empty lines included. */
export const MAX_HEADER_BYTES = 16 * 1024

interface Facts {
  readonly maxRowLength: number
  readonly headerWidth: number
  readonly rowWidth: number
  readonly line: number
  /** The line on which the row's last quoted cell begins; 0 if the error is not about a quote. */
  readonly quoteLine: number
}

/** The message for each error of a row or header. */
export const messages = {
  no_header: () => 'The file is empty: it has no header line',
  header_too_long: () =>
    `The header line takes more than ${MAX_HEADER_BYTES} bytes: is a quote in it never closed?`,
  too_many_columns: ({ rowWidth }: Facts) =>
    `The header has ${rowWidth} columns; at most ${MAX_COLUMNS} are allowed`,
  malformed_encoding: () =>
    'The line is not well-formed UTF-8 (or UTF-16 with a byte order mark): save the file as CSV UTF-8',
  misplaced_quote: ({ line, quoteLine }: Facts) =>
    quoteLine > 0 && quoteLine < line
      ? `The cell whose quote opens on line ${quoteLine} ends here: is that quote misplaced?`
      : 'A quote is misplaced: quote the whole cell, and double the quotes in it',
  unclosed_quote: () =>
    'The quote that opens on this line is never closed: the rest of the file was read as one cell',
  bare_cr: () =>
    'A carriage return has no line feed after it: save the file with LF or CRLF line ends',
  row_too_long: ({ maxRowLength, quoteLine }: Facts) => {
    const quote = quoteLine > 0 ? `the quote that opens on line ${quoteLine}` : 'a quote in it'
    return `The row is longer than ${maxRowLength} characters: is ${quote} never closed?`
  },
  wrong_width: ({ headerWidth, rowWidth }: Facts) =>
    `The header has ${headerWidth} cells, this row has ${rowWidth}`,
}

export type CsvErrorCode = keyof typeof messages
