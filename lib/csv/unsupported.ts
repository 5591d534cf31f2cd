import { createColumnNames } from './columns.ts'
import { CANONICAL } from './format.ts'
import { normalize } from './text.ts'
import { REPORT_COLUMNS } from './write.ts'

/** The first bytes of other file formats; each character stands for a byte. */
const SIGNATURES: readonly (readonly [start: string, format: string])[] = [
  ['PK\x03\x04', 'a ZIP file or a workbook (.xlsx, .ods): unpack it, or save a sheet as CSV UTF-8'],
  ['\x1f\x8b', 'a gzip file: unpack it'],
  ['\xd0\xcf\x11\xe0', 'an old Excel workbook (.xls): save its sheet as CSV UTF-8'],
  ['%PDF-', 'a PDF: export the purchases as CSV'],
  ['SQLite format 3\0', 'a SQLite database: export the purchases as CSV'],
  ['\x7fELF', 'a program'],
]

const TEXT_FORMATS: readonly (readonly [start: RegExp, format: string])[] = [
  [
    /^<(!|\?xml|(html|head|body|table|meta|style|script|div)\b)/i,
    'a web page or XML: did a download fail, or ask to sign in?',
  ],
  [/^(\{|\[\s*\{)/, 'JSON: export the purchases as CSV'],
]

const NO_IDS = 'has no transaction ids, so it cannot be imported'

/** The columns of reports that cannot be imported, and the reason. */
const REPORTS: readonly (readonly [columns: readonly string[], message: string])[] = [
  [
    ['Provider', 'SKU', 'Product Type Identifier', 'Units', 'Developer Proceeds'],
    `This App Store sales report ${NO_IDS}`,
  ],
  [
    ['Vendor Identifier', 'Quantity', 'Partner Share', 'Extended Partner Share'],
    `This App Store financial report ${NO_IDS}`,
  ],
  [
    ['Bundle(ID#)', 'Product(ID#)', 'Gross Units Sold', 'Net Units Sold'],
    `This Steam sales report ${NO_IDS}`,
  ],
  [
    ['Description', 'Transaction Date', 'Transaction Type', 'Amount (Merchant Currency)'],
    "This is Google Play's earnings report: import the estimated sales report",
  ],
  [
    ['id', 'Type', 'Net', 'Currency', 'Created (UTC)'],
    "This is Stripe's balance report: import the payments export",
  ],
  [
    ['balance_transaction_id', 'reporting_category', 'gross', 'net'],
    "This is Stripe's balance report: import the payments export",
  ],
]

/** The number of bytes that `checkFormat` needs. */
export const HEAD_BYTES = 1024
/** The number of lines that a report may have before its header: `sep=,` and a title. */
const BANNER_LINES = 6

/** Returns an error message if a file begins like a file of another format than CSV. */
export function checkFormat(bytes: Uint8Array): string | undefined {
  const head = bytes.subarray(0, HEAD_BYTES)
  const text = String.fromCharCode(...head)
  const start = text.replace('\xef\xbb\xbf', '').trimStart()
  const format =
    SIGNATURES.find(([signature]) => text.startsWith(signature))?.[1] ??
    TEXT_FORMATS.find(([pattern]) => pattern.test(start))?.[1]
  if (format) return `This is not a CSV file but ${format}`
  if (head[0] === 0 || head[1] === 0) {
    return 'This is UTF-16 without a byte order mark, or not text: save it as CSV UTF-8'
  }
  const lines = start.replaceAll('\0', '').split(/\r?\n/, BANNER_LINES).slice(1)
  return lines.map((line) => checkReport(line.replaceAll('"', '').split(/[,;\t]/))).find(Boolean)
}

/** Returns an error message if the columns are those of a report that cannot be imported. */
export function checkReport(header: readonly string[]): string | undefined {
  const names = header.map(normalize)
  return REPORTS.find(([columns]) => columns.every((name) => names.includes(normalize(name))))?.[1]
}

/** Returns an error message if the first line cannot be a header. */
export function checkHeader(header: readonly string[]): string | undefined {
  const [first = ''] = header
  if (/^sep=.?$/i.test(first)) return 'Only Excel reads this line (sep=): remove it'
  if (REPORT_COLUMNS.every((name, i) => name === normalize(header[i] ?? ''))) {
    return 'This is a report of bad rows: correct the original file and import that'
  }
  if (header.length > 1 || !/[,;\t|]/.test(first)) return undefined
  const { find } = createColumnNames(first.split(/[,;\t|]/))
  const isHeader = Object.values(CANONICAL.columns)
    .flat()
    .some((name) => find(name).length > 0)
  return isHeader
    ? 'The header is one cell: separate cells by commas, semicolons or tabs'
    : 'This line is one cell, and no header: remove the lines above the header, or use a layout, which purchases explain proposes'
}
