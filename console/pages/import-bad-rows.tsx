import { type ErrorDetail, TillError } from '../../client/manage.ts'
import { useLoad } from '../data.ts'
import { downloadCsv } from '../parts/download.ts'
import { Await, Notice } from '../parts/notice.tsx'
import { Table } from '../parts/table.tsx'

const SHOWN = 100

/** The bytes among which the header of a file is searched. */
const HEAD = 65_536

/** Whether the server has read the file and found mistakes in it. */
export function isBadFile(error: unknown): error is TillError {
  return error instanceof TillError && error.code === 'invalid_purchases'
}

interface BadRowsProps {
  readonly error: TillError
  readonly file: File
}

/** The mistakes besides unknown SKUs by line and column, each with its cell in the row of the file. */
export function BadRows({ error, file }: BadRowsProps) {
  const loaded = useLoad(async () => {
    const details = error.details.filter(({ sku }) => !sku)
    const rowAt = await readRows(file, details)
    const head = (await file.slice(0, HEAD).text()).split(/\r?\n/)
    return details.map((detail) => {
      const { line, column = '' } = detail
      const header = head.find((each) => each.includes(column)) ?? ''
      return { ...detail, row: rowAt(line), header }
    })
  }, [error])
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
            <button type="button" onClick={() => downloadCsv(reportName(file), COLUMNS, mistakes)}>
              Download the report
            </button>
          </Notice>
          <Table
            label="Mistakes"
            rows={mistakes.slice(0, SHOWN)}
            columns={[
              'line',
              'column',
              ['Cell', (mistake) => <Cell {...mistake} />],
              ['Reason', ({ message }) => message],
            ]}
          />
        </>
      )}
    </Await>
  )
}

interface CellProps {
  readonly row: string
  readonly header: string
  readonly column?: string
}

const CELL = 60

/** The cell of a row in a column, or the row if its cells are not known. */
function Cell({ row, header, column }: CellProps) {
  const delimiter = /[,;\t]/.exec(header)?.[0] ?? ','
  const at = cellsOf(header, delimiter).findIndex((cell) => textOf(cell) === column)
  const cell = at < 0 ? row : textOf(cellsOf(row, delimiter)[at] ?? '')
  return (
    <code class={at < 0 ? '' : 'cell'} title={row}>
      {cell.slice(0, CELL) || 'empty'}
    </code>
  )
}

/** A cell without its quotes and its delimiter. */
function textOf(cell: string): string {
  return cell.replace(/^\uFEFF?\s*"?|"?\s*[,;\t]?$/g, '')
}

/** The cells of a row with their quotes and delimiters. */
function cellsOf(row: string, delimiter: string): readonly string[] {
  return row.match(new RegExp(`("([^"]|"")*"|[^"${delimiter}])*(${delimiter}|$)`, 'g')) ?? []
}

/** The bytes to read at a time, and the most characters of a row. */
const CHUNK = 1_000_000
const MAX_ROW = 4096

/** Reads the rows that have mistakes. Returns a function that finds the row of a line. */
async function readRows(file: File, details: readonly ErrorDetail[]) {
  const rows = new Map(details.map(({ line = 0 }) => [line, '']))
  const last = Math.max(...rows.keys())
  const [mark] = new Uint8Array(await file.slice(0, 1).arrayBuffer())
  const decoder = new TextDecoder(mark === 0xff ? 'utf-16le' : mark === 0xfe ? 'utf-16be' : 'utf-8')
  let line = 1
  let start = 1 // the line where the row begins
  for (let at = 0; at < file.size && isOpen(rows.get(last) ?? ''); at += CHUNK) {
    const text = decoder.decode(await file.slice(at, at + CHUNK).arrayBuffer(), { stream: true })
    for (const part of text.match(/[^\n]*\n|[^\n]+/g) ?? []) {
      if (rows.has(line)) start = line
      const row = rows.get(start) ?? ''
      if (isOpen(row)) rows.set(start, (row + part).slice(0, MAX_ROW))
      if (part.endsWith('\n')) line++
    }
  }
  return (line = 0) => rows.get(line)?.replace(/\r?\n$/, '') ?? ''
}

/** Whether a row goes on, because its line does, or a quoted cell with line breaks. */
function isOpen(row: string): boolean {
  return row.length < MAX_ROW && (!row.endsWith('\n') || row.split('"').length % 2 === 0)
}

function reportName({ name }: File): string {
  return `${name.replace(/\.\w+$/, '')}-mistakes.csv`
}

const COLUMNS = ['line', 'column', 'code', 'message', 'row']
