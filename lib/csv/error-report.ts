import { parseObject } from '../domain/fields.ts'
import type { ErrorDetail } from '../errors.ts'
import { hasNeeded } from './columns.ts'
import type { LayoutFile } from './layout-file.ts'
import { layoutFields } from './options.ts'
import { createCsvParser } from './parser.ts'
import { EXPORT_MARK, formatRow, guard, REPORT_COLUMNS } from './write.ts'

/**
 * Formats a CSV report of the bad rows of a purchase file, which it reads again from `file`. Each
 * row has the line number and the mistakes, then the cells of the bad row. `mistakes` maps line
 * numbers to mistakes. `layout` is the layout of the import: it tells the header line. Cells that a spreadsheet would run as formulas begin with an apostrophe.
 */
export async function* formatErrorReport(
  file: AsyncIterable<Uint8Array>,
  mistakes: ReadonlyMap<number, readonly ErrorDetail[]>,
  layout?: LayoutFile,
): AsyncGenerator<string> {
  let rows: string[] = []
  let hasHeader = false
  const begin = (cells: readonly string[]) => {
    hasHeader = true
    rows.push(formatRow([...REPORT_COLUMNS, ...cells.map(guard)]))
  }
  const add = (line: number, cells: readonly string[]) => {
    const found = mistakes.get(line)
    if (found) rows.push(formatReportRow(line, found, cells))
  }
  const format = parseObject({ layout }, { layout: layoutFields.layout }).layout
  const parser = createCsvParser({
    ...(format && { isHeader: (cells) => hasNeeded(cells, format) }),
    header(cells, line) {
      begin(cells)
      add(line, [])
    },
    row: (cells, line) => add(line, cells),
    error({ line }, cells = []) {
      if (!hasHeader) begin([])
      add(line, cells)
    },
  })
  for await (const chunk of file) {
    parser.push(chunk)
    yield* rows
    rows = []
    if (parser.isClosed) break
  }
  parser.end()
  yield* rows
}

function formatReportRow(
  line: number,
  mistakes: readonly ErrorDetail[],
  cells: readonly string[],
): string {
  const joined = (key: 'column' | 'code' | 'message') =>
    mistakes.map((mistake) => mistake[key] ?? '').join('; ')
  const described = [joined('column'), joined('code'), joined('message')]
  return formatRow([String(line), ...[...described, EXPORT_MARK, ...cells].map(guard)])
}
