import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { read } from '../support/purchase-file.ts'

const HEADER = 'transaction_id;sku;purchased_at;user_id;price'
const AT = '2026-01-31T10:00:00Z'
const rows = (...lines: string[]) => `${[HEADER, ...lines].join('\r\n')}\r\n`
const FILE = rows(`T-1;gold;${AT};ann;499`, `"T-2";"gold";"${AT}";"bob; or é";"99"`)
const commas = FILE.replaceAll(';', ',').replace('bob,', 'bob;')
const utf16 = (text: string) => Buffer.from(text, 'utf16le')
const tabs = FILE.replaceAll(';', '\t').replace('bob\t', 'bob;')

/** Files of two purchases, as common programs write them. */
const good: { readonly [what: string]: string | Buffer } = {
  'Excel CSV UTF-8 with semicolons': `\uFEFF${FILE}`,
  'Excel Unicode Text': utf16(`\uFEFF${tabs}`),
  'Google Sheets': commas.trimEnd(),
  LibreOffice: commas.replaceAll('\r\n', '\n'),
  Numbers: `\uFEFF${commas}`,
  'a file with blank lines': `\r\n${FILE.replaceAll('\r\n', '\r\n\r\n')}\n\n`,
}

test('files of common programs are read unchanged', () => {
  for (const [what, file] of Object.entries(good)) {
    const { purchases, errors } = read(Buffer.from(file))
    const found = purchases.map((each) => [(each as Sale).user_id, (each as Sale).price])
    const expected = [...[['ann', 499]], ['bob; or é', 99]]
    assert.deepEqual([found, errors], [expected, []], what)
  }
  assert.deepEqual(read(Buffer.from(rows())).errors, [])
})

interface Sale {
  readonly user_id: string
  readonly price: number
}

const page = '<!DOCTYPE html>\n<html lang="en"><body>Sign in, please</body></html>'

/** Refused files, and patterns of their errors: line, column, code and message. */
const bad: { readonly [what: string]: readonly [file: string | Buffer, ...RegExp[]] } = {
  'an empty file': ['', /^1 {2}no_header The file is empty/],
  'an Excel workbook': [
    'PK\x03\x04\x14\0\x06\0\b\0[Content_Types].xml',
    /^1 {2}unsupported_file .*xlsx/,
  ],
  'an old Excel workbook': [Buffer.from('d0cf11e0a1b11ae1', 'hex'), /unsupported_file .*\.xls/],
  'a gzip file': [gzipSync(FILE), /unsupported_file .*gzip file: unpack it/],
  'a SQLite database': ['SQLite format 3\0\x10\0\r\x01', /unsupported_file .*SQLite database/],
  'a program': ['\x7fELF\x02\x01\x01\r\0', /^1 {2}unsupported_file .*not a CSV file but a program/],
  'a PDF': ['%PDF-1.7\n%\xe2\xe3\n', /unsupported_file .*PDF/],
  'a web page': [page, /unsupported_file .*web page .*sign in/],
  'a web page after blank lines': [`\uFEFF\n\n  ${page}`, /unsupported_file .*web page/],
  JSON: ['[\n  {"transaction_id": "T-1", "sku": "gold"}\n]\n', /unsupported_file .*JSON/],
  'UTF-16 without a byte order mark': [
    utf16(tabs),
    /unsupported_file .*UTF-16 without a byte order mark/,
  ],
  "Excel's sep= line": [`sep=;\r\n${FILE}`, /^1 {2}unsupported_file Only Excel .*: remove it/],
  'lines that are one quoted cell each': [
    FILE.replaceAll('"', '').replace(/[^\r\n]+/g, '"$&"'),
    /^1 {2}unsupported_file The header is one cell/,
  ],
  'CR line ends': [FILE.replaceAll('\r\n', '\r'), /^1 {2}bare_cr .*LF or CRLF/],
  'Windows-1252': [Buffer.from(FILE, 'latin1'), /^3 {2}malformed_encoding .*CSV UTF-8/],
  'rows of empty cells at the end': [
    `${FILE};;;;\r\n;;;;\r\n`,
    /^4 {2}empty_row .*remove the row/,
    /^5 {2}empty_row/,
  ],
  'a row of totals': [`${FILE}Total;;;;598\r\n`, /^4 sku required/, /^4 purchased_at required/],
  'a report of bad rows': [
    `line;column;code;message;tillkit_export;${FILE}`,
    /^1 {2}unsupported_file .*correct the original file/,
  ],
  'one file after another': [`${FILE}${FILE}`, /^4 {2}repeated_header .*repeats the header/],
}

test('other files are refused with the reason', () => {
  for (const [what, [file, ...expected]] of Object.entries(bad)) {
    const errors = read(Buffer.from(file)).errors.map(({ line, column = '', code, message }) =>
      [line, column, code, message].join(' '),
    )
    assert.equal(errors.length, expected.length, `${what}\n${errors.join('\n')}`)
    for (const [i, message] of expected.entries()) assert.match(errors[i] ?? '', message, what)
  }
})
