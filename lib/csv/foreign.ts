import { normalize } from './options.ts'
import { REPORT_COLUMNS } from './write.ts'

/** What other kinds of file begin with, a character a byte. */
const SIGNATURES: readonly (readonly [begins: string, what: string])[] = [
  ['PK\x03\x04', 'a ZIP file or a workbook (.xlsx, .ods): unpack it, or save a sheet as CSV UTF-8'],
  ['\x1f\x8b', 'a gzip file: unpack it'],
  ['\xd0\xcf\x11\xe0', 'an old Excel workbook (.xls): save its sheet as CSV UTF-8'],
  ['%PDF-', 'a PDF: export the purchases as CSV'],
]

const TEXTS: readonly (readonly [looks: RegExp, what: string])[] = [
  [/^<(!|\?xml|html|head|body)/i, 'a web page or XML: did a download fail, or ask to sign in?'],
  [/^(\{|\[\s*\{)/, 'JSON: export the purchases as CSV'],
]

/** How many bytes `foreignFile` looks at. */
export const HEAD_BYTES = 64

/** The message for a file that is no CSV, told by its first bytes; undefined for all others. */
export function foreignFile(head: Uint8Array): string | undefined {
  const text = String.fromCharCode(...head)
  const start = text.replace('\xef\xbb\xbf', '').trimStart()
  const what =
    SIGNATURES.find(([begins]) => text.startsWith(begins))?.[1] ??
    TEXTS.find(([looks]) => looks.test(start))?.[1]
  if (what) return `This is no CSV but ${what}`
  const isWide = head[0] === 0 || head[1] === 0
  return isWide ? 'This is UTF-16 without its mark, or no text: save it as CSV UTF-8' : undefined
}

/** The message for a line that stands where the header should; undefined for all others. */
export function foreignHeader(header: readonly string[]): string | undefined {
  const [first = '', ...others] = header
  if (/^sep=.?$/i.test(first)) return 'This line (sep=) is for Excel alone: take it out'
  const isOneCell = others.length === 0 && /[,;\t|]/.test(first)
  if (REPORT_COLUMNS.every((name, i) => name === normalize(header[i] ?? ''))) return IS_REPORT
  return isOneCell ? 'The header is one cell: part cells by commas, semicolons or tabs' : undefined
}

const IS_REPORT = 'This is a report of bad rows: correct the original file and import that'
