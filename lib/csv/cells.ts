import { createCsvParser } from './parser.ts'
import { copyText } from './text.ts'

/** A text in a column, the number of rows with this text, and the line of the first such row. */
export interface CountedCell {
  readonly text: string
  readonly line: number
  rows: number
}

/**
 * Counts how often each text occurs in a column of a file. Counts only the rows that start on one
 * of the `lines`. Returns the texts in the order in which they first occur.
 */
export async function countCells(
  file: AsyncIterable<Uint8Array>,
  column: string,
  lines: ReadonlySet<number>,
): Promise<CountedCell[]> {
  const counted = new Map<string, CountedCell>()
  let at = -1
  const parser = createCsvParser({
    header(cells) {
      at = cells.findIndex((cell) => cell.trim() === column)
    },
    row(cells, line) {
      if (!lines.has(line)) return
      const text = cells[at] ?? ''
      const known = counted.get(text)
      if (known) known.rows++
      else counted.set(copyText(text), { text: copyText(text), line, rows: 1 })
    },
    error() {},
  })
  for await (const chunk of file) parser.push(chunk)
  parser.end()
  return [...counted.values()]
}
