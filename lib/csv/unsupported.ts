import { type LayoutChoice, normalize } from './options.ts'
import { REPORT_COLUMNS } from './write.ts'

/** The first bytes of other file formats; each character stands for a byte. */
const SIGNATURES: readonly (readonly [start: string, format: string])[] = [
  ['PK\x03\x04', 'a ZIP file or a workbook (.xlsx, .ods): unpack it, or save a sheet as CSV UTF-8'],
  ['\x1f\x8b', 'a gzip file: unpack it'],
  ['\xd0\xcf\x11\xe0', 'an old Excel workbook (.xls): save its sheet as CSV UTF-8'],
  ['%PDF-', 'a PDF: export the purchases as CSV'],
]

const TEXT_FORMATS: readonly (readonly [start: RegExp, format: string])[] = [
  [/^<(!|\?xml|html|head|body)/i, 'a web page or XML: did a download fail, or ask to sign in?'],
  [/^(\{|\[\s*\{)/, 'JSON: export the purchases as CSV'],
]

/** The number of bytes that `checkFormat` needs. */
export const HEAD_BYTES = 64

/** Returns an error message if a file begins like a file of another format than CSV. */
export function checkFormat(head: Uint8Array): string | undefined {
  const text = String.fromCharCode(...head)
  const start = text.replace('\xef\xbb\xbf', '').trimStart()
  const format =
    SIGNATURES.find(([signature]) => text.startsWith(signature))?.[1] ??
    TEXT_FORMATS.find(([pattern]) => pattern.test(start))?.[1]
  if (format) return `This is not a CSV file but ${format}`
  const isWide = head[0] === 0 || head[1] === 0
  return isWide
    ? 'This is UTF-16 without a byte order mark, or not text: save it as CSV UTF-8'
    : undefined
}

const APP_STORE_SUMMARY = [
  'provider',
  'sku',
  'product type identifier',
  'units',
  'developer proceeds',
]

/**
 * Returns an error message if the first line cannot be a header, or if it is the header of an App
 * Store summary without a map, which could name a column of ids.
 */
export function checkHeader(header: readonly string[], { map }: LayoutChoice): string | undefined {
  const [first = ''] = header
  if (/^sep=.?$/i.test(first)) return 'Only Excel reads this line (sep=): remove it'
  if (REPORT_COLUMNS.every((name, i) => name === normalize(header[i] ?? ''))) {
    return 'This is a report of bad rows: correct the original file and import that'
  }
  const names = header.map(normalize)
  if (!map && APP_STORE_SUMMARY.every((name) => names.includes(name))) {
    return 'App Store summary sales reports are sums without transaction ids: export transactions instead'
  }
  const isOneCell = header.length === 1 && /[,;\t|]/.test(first)
  return isOneCell
    ? 'The header is one cell: separate cells by commas, semicolons or tabs'
    : undefined
}
