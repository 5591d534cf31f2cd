import { TillError } from '../../client/manage.ts'
import { useLoad } from '../data.ts'
import { downloadCsv } from '../parts/download.ts'
import { Await, Notice } from '../parts/notice.tsx'
import { Table } from '../parts/table.tsx'

const SHOWN = 100

/** Whether the server has read the file and found mistakes in it. */
export function isBadFile(error: unknown): error is TillError {
  return error instanceof TillError && error.code === 'invalid_purchases'
}

/** The mistakes of a file by line and column, with the rows as the file has them. */
export function BadRows({ error, file }: { readonly error: TillError; readonly file: File }) {
  const { details, message } = error
  const loaded = useLoad(async () => {
    const rowAt = await readRows(file)
    return details.map((detail) => ({ ...detail, row: rowAt(detail.line ?? 0) }))
  }, [error])
  return (
    <Await loaded={loaded}>
      {(mistakes) => (
        <>
          <Notice tone="bad" title="The file has mistakes. Nothing was stored">
            <p>{message}</p>
            <p>
              Correct these rows in the file, and choose it again. For an unknown SKU, create the
              item or choose a SKU map. The report has all rows, the table the first {SHOWN}.
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
              ['column', 'end'],
              ['Reason', ({ message }) => message],
              ['Row', ({ row }) => <code>{row.slice(0, 200)}</code>],
            ]}
          />
        </>
      )}
    </Await>
  )
}

/** The bytes of a file whose rows are shown, and the characters of a row. */
const MAX_BYTES = 64_000_000
const MAX_ROW = 4096

/** Returns a function that reads the row that begins at a line. */
async function readRows(file: File): Promise<(line: number) => string> {
  const bytes = new Uint8Array(await file.slice(0, MAX_BYTES).arrayBuffer())
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe
  const lines = new TextDecoder(isUtf16 ? 'utf-16le' : 'utf-8').decode(bytes).split('\n')
  return (line) => {
    let row = lines[line - 1] ?? ''
    // A quoted cell may contain line breaks.
    const isOpen = () => row.split('"').length % 2 === 0 && row.length < MAX_ROW
    for (let next = line; isOpen() && next < lines.length; next++) row += `\n${lines[next]}`
    return row.slice(0, MAX_ROW).replace(/\r$/, '')
  }
}

function reportName({ name }: File): string {
  return `${name.replace(/\.\w+$/, '')}-mistakes.csv`
}

const COLUMNS = ['line', 'column', 'code', 'message', 'row']
