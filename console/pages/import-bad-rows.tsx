import { TillError } from '../../client/manage.ts'
import { useLoad } from '../data.ts'
import { formatCount } from '../format.ts'
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
    const rows = await readRows(file, new Set(details.flatMap(({ line }) => line ?? [])))
    return details.map((detail) => ({ ...detail, row: rows.get(detail.line ?? 0) ?? '' }))
  }, [error])
  return (
    <Await loaded={loaded}>
      {(mistakes) => (
        <>
          <Notice tone="bad" title="The file has mistakes. Nothing was stored">
            <p>{message}</p>
            <p>Correct these rows in the file, and choose it again.</p>
            {details.some(({ code }) => code === 'unknown_sku') && (
              <p>
                For a SKU that is not the name of an item, create the item, or choose a SKU map in
                “Settings for other formats”.
              </p>
            )}
            <button type="button" onClick={() => downloadCsv(reportName(file), COLUMNS, mistakes)}>
              Download the report
            </button>
          </Notice>
          <Table
            label="Mistakes"
            rows={mistakes.slice(0, SHOWN)}
            keyOf={({ line, column, code, message }) => `${line} ${column} ${code} ${message}`}
            columns={[
              'line',
              ['column', 'end'],
              ['Reason', ({ message }) => message],
              ['Row', ({ row }) => <code>{row.slice(0, 200)}</code>],
            ]}
          />
          {mistakes.length > SHOWN && (
            <p class="muted">
              The report has all {formatCount(mistakes.length)} that the server named.
            </p>
          )}
        </>
      )}
    </Await>
  )
}

const MAX_ROW = 4096
const MAX_LINE = 1_000_000

/** Reads the text of the rows that begin at these lines. A row is cut to 4,096 characters. */
async function readRows(file: File, lines: ReadonlySet<number>) {
  const found = new Map<number, string>()
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer())
  const isUtf16 = first === 0xff && second === 0xfe
  const decoder = new TextDecoderStream(isUtf16 ? 'utf-16le' : 'utf-8')
  const reader = file.stream().pipeThrough(decoder).getReader()
  let rest = ''
  let start = 1
  let isQuoted = false
  for (let line = 1; (found.size < lines.size || isQuoted) && rest.length < MAX_LINE; ) {
    const { done, value = '\n' } = await reader.read()
    const texts = `${rest}${value}`.split('\n')
    rest = texts.pop() ?? ''
    for (const text of texts) {
      if (!isQuoted) start = line
      if (lines.has(start)) {
        const before = found.get(start)
        const row = before === undefined ? text : `${before}\n${text}`
        found.set(start, row.replace(/\r$/, '').slice(0, MAX_ROW))
      }
      // A quoted cell may contain line breaks.
      if (text.split('"').length % 2 === 0) isQuoted = !isQuoted
      line++
    }
    if (done) break
  }
  await reader.cancel()
  return found
}

function reportName({ name }: File): string {
  return `${name.replace(/\.\w+$/, '')}-mistakes.csv`
}

const COLUMNS = ['line', 'column', 'code', 'message', 'row']
