import { TillError } from '../../client/manage.ts'
import { createCsvParser } from '../../lib/csv/parser.ts'
import { useLoad } from '../data.ts'
import { Button } from '../parts/button.tsx'
import { downloadCsv } from '../parts/download.ts'
import { Await, Notice } from '../parts/notice.tsx'
import { Table } from '../parts/table.tsx'

/** Whether the server has read the file and found mistakes in it. */
export function isBadFile(error: unknown): error is TillError {
  return error instanceof TillError && error.code === 'invalid_purchases'
}

const SHOWN = 100
const COLUMNS = ['line', 'column', 'code', 'message', 'row']

/** The mistakes besides unknown SKUs, each with its cell in the file. */
export function BadRows({ error, file }: { readonly error: TillError; readonly file: File }) {
  const loaded = useLoad(() => readMistakes(error, file), error)
  const report = `${file.name.replace(/\.\w+$/, '')}-mistakes.csv`
  return (
    <Await loaded={loaded}>
      {(mistakes) => (
        <>
          <Notice tone="bad" title="The file has mistakes. Nothing was stored">
            <p>{error.message}</p>
            <p>
              Correct these rows in the file, and choose it again. The report has all mistakes that
              the server named, the table the first {SHOWN}.
            </p>
            <Button
              label="Download the report"
              onClick={() => downloadCsv(report, COLUMNS, mistakes)}
            />
          </Notice>
          <Table
            label="Mistakes"
            rows={mistakes.slice(0, SHOWN)}
            columns={[
              'line',
              'column',
              [
                'Cell',
                ({ cell, row }) => (
                  <code class="cell" title={row}>
                    {cell.slice(0, 60) || 'empty'}
                  </code>
                ),
              ],
              ['Reason', ({ message }) => message],
            ]}
          />
        </>
      )}
    </Await>
  )
}

/** The bytes to read at a time. */
const CHUNK = 1_000_000

/** Reads the rows of the mistakes. One that is in no cell has its whole row as the cell. */
async function readMistakes({ details }: TillError, file: File) {
  const mistakes = details.filter(({ sku }) => !sku)
  let header: readonly string[] = []
  const rows = new Map<number, readonly string[]>()
  const lines = new Set(mistakes.map(({ line }) => line))
  const keep = (cells: readonly string[], line: number) => {
    if (lines.has(line)) rows.set(line, cells)
  }
  const parser = createCsvParser({
    isHeader: (cells) =>
      mistakes.some(({ column }) => cells.some((cell) => cell.trim() === column)),
    header(cells, line) {
      header = cells.map((cell) => cell.trim())
      keep(cells, line)
    },
    row: keep,
    error: ({ line }, cells = []) => keep(cells, line),
  })
  for (let at = 0; at < file.size && rows.size < lines.size && !parser.isClosed; at += CHUNK) {
    parser.push(new Uint8Array(await file.slice(at, at + CHUNK).arrayBuffer()))
  }
  parser.end()
  return mistakes.map((mistake) => {
    const { line = 0, column = '' } = mistake
    const cells = rows.get(line) ?? []
    const row = cells.join(',')
    return { ...mistake, row, cell: cells[header.indexOf(column)] ?? row }
  })
}
