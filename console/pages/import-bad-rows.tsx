import { type ErrorDetail, TillError } from '../../client/manage.ts'
import { formatCount } from '../format.ts'
import { download } from '../parts/download.ts'
import { Notice } from '../parts/notice.tsx'
import { Table } from '../parts/table.tsx'

const SHOWN = 100

/** Whether the server has read the file and found mistakes in it. */
export function isBadFile(error: unknown): error is TillError {
  return error instanceof TillError && error.code === 'invalid_purchases'
}

interface BadRowsProps {
  readonly error: TillError
  readonly fileName: string
}

/** The mistakes of a file by line and column. */
export function BadRows({ error, fileName }: BadRowsProps) {
  const { details } = error
  const save = () => download(reportName(fileName), 'text/csv', formatReport(details))
  return (
    <>
      <Notice tone="bad" title="The file has mistakes. Nothing was stored">
        <p>{error.message}</p>
        <p>Correct these rows in the file, and choose it again.</p>
        <button type="button" onClick={save}>
          Download the report
        </button>
      </Notice>
      <Table
        label="Mistakes"
        rows={details.slice(0, SHOWN)}
        keyOf={({ line, column, code, message }) => `${line} ${column} ${code} ${message}`}
        columns={[
          { label: 'Line', cell: ({ line }) => line ?? '–', isNumber: true },
          { label: 'Column', cell: ({ column }) => (column ? <code>{column}</code> : '–') },
          { label: 'Reason', cell: ({ message }) => message },
        ]}
      />
      {details.length > SHOWN && (
        <p class="muted">The report has all {formatCount(details.length)} that the server named.</p>
      )}
    </>
  )
}

function reportName(fileName: string): string {
  return `${fileName.replace(/\.\w+$/, '')}-mistakes.csv`
}

function formatReport(details: readonly ErrorDetail[]): string {
  const rows = details.map(({ line, column, code, message }) => [line, column, code, message])
  return [['line', 'column', 'code', 'message'], ...rows]
    .map((cells) => `${cells.map(formatCell).join(',')}\r\n`)
    .join('')
}

/** Quotes a cell. Guards one that a spreadsheet would run as a formula. */
function formatCell(value: string | number | undefined = ''): string {
  const text = String(value)
  const guarded = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return `"${guarded.replaceAll('"', '""')}"`
}
