import { createReadStream } from 'node:fs'
import { createCsvParser } from '../lib/csv/parser.ts'
import { EXPORT_MARK, formatRow, guard, REPORT_COLUMNS } from '../lib/csv/write.ts'
import type { ErrorDetail } from '../lib/index.ts'
import { UsageError } from './command.ts'
import { createTarget, databaseFiles } from './target.ts'

/** The bad rows of a file, gathered and then written as CSV. */
export interface Report {
  add(mistake: ErrorDetail): void
  /** Writes the report when there were mistakes: reads the file again for the rows' own cells. */
  write(): Promise<void>
}

/** A report has its own columns first, then those of the file. */
export function createReport(file: string, report: string, db: string): Report {
  if (file === '-') throw new UsageError('--report needs a file: standard input is read only once')
  const target = createTarget('--report', report, [file, ...databaseFiles(db)])
  const mistakes = new Map<number, readonly ErrorDetail[]>()
  // What many lines have wrong in the same way is kept once: a million took 470 MiB.
  const kinds = new Map<string, readonly ErrorDetail[]>()
  return {
    add({ line = 1, ...mistake }) {
      const all = [...(mistakes.get(line) ?? []), mistake]
      const kind = JSON.stringify(all)
      if (!kinds.has(kind)) kinds.set(kind, all)
      mistakes.set(line, kinds.get(kind) ?? all)
    },
    async write() {
      if (mistakes.size === 0) return
      await target.write(rowsOf(file, mistakes))
      process.stderr.write(`Bad rows in ${report}: ${mistakes.size.toLocaleString('en-US')}\n`)
    },
  }
}

async function* rowsOf(
  file: string,
  mistakes: Map<number, readonly ErrorDetail[]>,
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
  const parser = createCsvParser({
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
  for await (const chunk of createReadStream(file)) {
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
  return formatRow([
    String(line),
    ...[joined('column'), joined('code'), joined('message'), EXPORT_MARK, ...cells].map(guard),
  ])
}
