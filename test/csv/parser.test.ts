import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CsvError as CsvParseError, parse as csvParse } from 'csv-parse/sync'
import type { CsvOptions } from '../../lib/csv/interface.ts'
import { createCsvParser } from '../../lib/csv/parser.ts'
import { fc } from '../support/seeds.ts'

type Event = { header: string[]; line: number } | { row: string[]; line: number } | Failure
interface Failure {
  error: string
  line: number
}

/** All events of the parser for these chunks, without messages. */
function parse(chunks: Iterable<Uint8Array>, options?: CsvOptions): Event[] {
  const events: Event[] = []
  const parser = createCsvParser(
    {
      header: (header, line) => events.push({ header, line }),
      row: (row, line) => events.push({ row, line }),
      error: ({ code, line }) => events.push({ error: code, line }),
    },
    options,
  )
  for (const chunk of chunks) parser.push(chunk)
  parser.end()
  return events
}

const parseText = (text: string, options?: CsvOptions) => parse([Buffer.from(text)], options)
const utf16le = (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le')
const utf16be = (text: string) => utf16le(text).swap16()
/** Encodes one byte for each character, to write bytes that are not UTF-8. */
const raw = (bytes: string) => Buffer.from(bytes, 'latin1')

const header = (...cells: string[]) => ({ header: cells, line: 1 })
const row = (line: number, ...cells: string[]) => ({ row: cells, line })
const error = (line: number, code: string) => ({ error: code, line })

interface Case {
  name: string
  file: string | Uint8Array
  options?: CsvOptions
  events: Event[]
}

const wellFormed: Case[] = [
  {
    name: 'RFC 4180 rule 1: each record is one line that ends in CRLF',
    file: 'h1,h2,h3\r\naaa,bbb,ccc\r\nzzz,yyy,xxx\r\n',
    events: [header('h1', 'h2', 'h3'), row(2, 'aaa', 'bbb', 'ccc'), row(3, 'zzz', 'yyy', 'xxx')],
  },
  {
    name: 'RFC 4180 rule 2: the last line needs no line end',
    file: 'h1,h2,h3\r\naaa,bbb,ccc\r\nzzz,yyy,xxx',
    events: [header('h1', 'h2', 'h3'), row(2, 'aaa', 'bbb', 'ccc'), row(3, 'zzz', 'yyy', 'xxx')],
  },
  {
    name: 'RFC 4180 rule 4: spaces belong to a field',
    file: 'a,b\n 1 , 2\n',
    events: [header('a', 'b'), row(2, ' 1 ', ' 2')],
  },
  {
    name: 'RFC 4180 rule 5: some fields are quoted, some are not',
    file: 'h1,h2,h3\r\n"aaa","bbb","ccc"\r\nzzz,"yyy",xxx',
    events: [header('h1', 'h2', 'h3'), row(2, 'aaa', 'bbb', 'ccc'), row(3, 'zzz', 'yyy', 'xxx')],
  },
  {
    name: 'RFC 4180 rule 6: a quoted field may contain delimiters and line breaks',
    file: 'h1,h2,h3\r\n"aaa","b \r\nbb","c,c"\r\nzzz,yyy,xxx',
    events: [
      header('h1', 'h2', 'h3'),
      row(2, 'aaa', 'b \r\nbb', 'c,c'),
      row(4, 'zzz', 'yyy', 'xxx'),
    ],
  },
  {
    name: 'RFC 4180 rule 7: a quote in quotes is doubled',
    file: 'h1,h2,h3\n"aaa","b""bb","ccc"\n"""","""""",""\n',
    events: [header('h1', 'h2', 'h3'), row(2, 'aaa', 'b"bb', 'ccc'), row(3, '"', '""', '')],
  },
  {
    name: 'the line of a row is the one on which it starts, whatever line breaks its cells have',
    file: 'a,b\n1,"\n\r\n\r\n""\n"\n2,3\n"\n",4\n5,6',
    events: [
      header('a', 'b'),
      row(2, '1', '\n\r\n\r\n"\n'),
      row(7, '2', '3'),
      row(8, '\n', '4'),
      row(10, '5', '6'),
    ],
  },
  {
    name: 'fields may be empty, quoted or not',
    file: 'a,b,c\n,,\n"","",""\nx,,\n,,x',
    events: [
      header('a', 'b', 'c'),
      row(2, '', '', ''),
      row(3, '', '', ''),
      row(4, 'x', '', ''),
      row(5, '', '', 'x'),
    ],
  },
  {
    name: 'the last field of the file may be empty',
    file: 'a,b\n1,2\n3,',
    events: [header('a', 'b'), row(2, '1', '2'), row(3, '3', '')],
  },
  {
    name: 'LF and CRLF may be mixed',
    file: 'a,b\r\n1,2\n3,"4"\r\n"5","6"\n',
    events: [header('a', 'b'), row(2, '1', '2'), row(3, '3', '4'), row(4, '5', '6')],
  },
  {
    name: 'empty lines are skipped, but counted',
    file: '\n\r\na,b\n\n1,2\r\n\r\n\n3,4\n\n',
    events: [{ header: ['a', 'b'], line: 3 }, row(5, '1', '2'), row(8, '3', '4')],
  },
  {
    name: 'a line of one quoted empty cell is not empty',
    file: 'a\n""\n\n1\n',
    events: [header('a'), row(2, ''), row(4, '1')],
  },
  {
    name: 'a file may be a header alone',
    file: 'a,b',
    events: [header('a', 'b')],
  },
  {
    name: 'the delimiter is a semicolon when it is the most frequent one in the header',
    file: 'a;b,c;d\n1;2,5;3\n',
    events: [header('a', 'b,c', 'd'), row(2, '1', '2,5', '3')],
  },
  {
    name: 'the delimiter is a tab when it is the most frequent one in the header',
    file: 'a\tb\n1\t2;3,4\n',
    events: [header('a', 'b'), row(2, '1', '2;3,4')],
  },
  {
    name: 'the comma wins a tie',
    file: 'a;b,c\td\n1,2\n',
    events: [header('a;b', 'c\td'), row(2, '1', '2')],
  },
  {
    name: 'quoted characters of the header are not counted as delimiters',
    file: '"a,,,""b";c\n1;2\n',
    events: [header('a,,,"b', 'c'), row(2, '1', '2')],
  },
  {
    name: 'the delimiter is found after a quoted line break in the header',
    file: '\r\n\n"a\n1,000";"b\r\n"\n1;2\n',
    events: [{ header: ['a\n1,000', 'b\r\n'], line: 3 }, row(6, '1', '2')],
  },
  {
    name: 'one UTF-8 byte order mark at the start is dropped',
    file: '\uFEFF\uFEFFa,b\n\uFEFF1,2\n',
    events: [header('\uFEFFa', 'b'), row(2, '\uFEFF1', '2')],
  },
  {
    name: 'a quote or an empty line may follow the byte order mark',
    file: '\uFEFF\n"a";b\n1;2\n',
    events: [{ header: ['a', 'b'], line: 2 }, row(3, '1', '2')],
  },
  {
    name: 'characters of 1 to 4 bytes are read',
    file: 'a,b\né€😀\u0000,\uFFFD\n"😀\n",ß\n',
    events: [header('a', 'b'), row(2, 'é€😀\0', '\uFFFD'), row(3, '😀\n', 'ß')],
  },
  {
    name: 'UTF-16 LE is read with a byte order mark',
    file: utf16le('a;b\r\né€😀;"x\n""\u0A0D\u2C0A"\n1;2'),
    events: [header('a', 'b'), row(2, 'é€😀', 'x\n"\u0A0D\u2C0A'), row(4, '1', '2')],
  },
  {
    name: 'UTF-16 BE is read with a byte order mark',
    file: utf16be('a;b\r\né€😀;"x\n""\u0A0D\u2C0A"\n1;2'),
    events: [header('a', 'b'), row(2, 'é€😀', 'x\n"\u0A0D\u2C0A'), row(4, '1', '2')],
  },
]

const malformed: Case[] = [
  { name: 'an empty file has no header', file: '', events: [error(1, 'no_header')] },
  {
    name: 'a byte order mark alone has no header',
    file: '\uFEFF',
    events: [error(1, 'no_header')],
  },
  {
    name: 'a UTF-16 byte order mark alone has no header',
    file: utf16le(''),
    events: [error(1, 'no_header')],
  },
  { name: 'empty lines have no header', file: '\n\r\n\n', events: [error(1, 'no_header')] },
  {
    name: 'a byte that is not UTF-8 is an error of its row only',
    file: raw('a,b\n1,2\nx\xE9,3\n4,5\n'),
    events: [header('a', 'b'), row(2, '1', '2'), error(3, 'malformed_encoding'), row(4, '4', '5')],
  },
  {
    name: 'a replacement character in the file is not an error, even next to malformed lines',
    file: raw('a\n\xEF\xBF\xBD\n\xFF\n\xEF\xBF\xBDx\n\xEF\xBF\xEF\xBF\xBD\n'),
    events: [
      header('a'),
      row(2, '\uFFFD'),
      error(3, 'malformed_encoding'),
      row(4, '\uFFFDx'),
      error(5, 'malformed_encoding'),
    ],
  },
  {
    name: 'overlong forms, surrogates and incomplete sequences are not UTF-8',
    file: raw('a\n\xC0\xAF\n\xED\xA0\x80\n\xF4\x90\x80\x80\n\xE2\x82\n\x80\nok\n\xF0\x9F\x98'),
    events: [
      header('a'),
      ...[2, 3, 4, 5, 6].map((line) => error(line, 'malformed_encoding')),
      row(7, 'ok'),
      error(8, 'malformed_encoding'),
    ],
  },
  {
    name: 'the error of a malformed byte has the line of the byte, not of its record',
    file: raw('a,b\n1,"x\n\xFF\ny"\n"\xFF\n\xFF",2\n3,4\n'),
    events: [
      header('a', 'b'),
      error(3, 'malformed_encoding'),
      error(5, 'malformed_encoding'),
      row(7, '3', '4'),
    ],
  },
  {
    name: 'a malformed header ends the parse',
    file: raw('a,\xFF\n1,2\n"x"y,3\n'),
    events: [error(1, 'malformed_encoding')],
  },
  {
    name: 'a lone surrogate is not UTF-16',
    file: utf16le('a\n\uD83Dx\n\uDE00\nok\n\uD83D\n\uD83D\uD83D\uDE00\nok\uD83D'),
    events: [
      header('a'),
      error(2, 'malformed_encoding'),
      error(3, 'malformed_encoding'),
      row(4, 'ok'),
      error(5, 'malformed_encoding'),
      error(6, 'malformed_encoding'),
      error(7, 'malformed_encoding'),
    ],
  },
  {
    name: 'half a code unit at the end is not UTF-16',
    file: utf16be('a\n1\n2').subarray(0, -1),
    events: [header('a'), row(2, '1'), error(3, 'malformed_encoding')],
  },
  {
    name: 'a quote inside an unquoted field is misplaced',
    file: 'a,b\n1,x"y"\nx"y,2\n3,4\n',
    events: [
      header('a', 'b'),
      error(2, 'misplaced_quote'),
      error(3, 'misplaced_quote'),
      row(4, '3', '4'),
    ],
  },
  {
    name: 'text after a closing quote is an error',
    file: 'a,b\n"x"y,2\n1,"x" \n"x""\n"y,2\n3,4\n',
    events: [
      header('a', 'b'),
      error(2, 'misplaced_quote'),
      error(3, 'misplaced_quote'),
      error(5, 'misplaced_quote'),
      row(6, '3', '4'),
    ],
  },
  {
    name: 'after a misplaced quote the next line is a new record, whatever quotes precede it',
    file: 'a,b\nx"y,"1\n2,3\n"z"z,"4\n5",6\n7,8\n',
    events: [
      header('a', 'b'),
      error(2, 'misplaced_quote'),
      row(3, '2', '3'),
      error(4, 'misplaced_quote'),
      error(5, 'misplaced_quote'),
      row(6, '7', '8'),
    ],
  },
  {
    name: 'a misplaced quote in the header ends the parse',
    file: 'a,b"c\n1,2\n',
    events: [error(1, 'misplaced_quote')],
  },
  {
    name: 'the error of an unclosed quote has the line on which the quote opens',
    file: 'a,b\n1,2\n"x\ny","z\n3,4\n5,6\n',
    events: [header('a', 'b'), row(2, '1', '2'), error(4, 'unclosed_quote')],
  },
  {
    name: 'a quote that opens at the end of the file is unclosed',
    file: 'a,b\n1,"',
    events: [header('a', 'b'), error(2, 'unclosed_quote')],
  },
  {
    name: 'an unclosed quote in the header is an error',
    file: 'a,"b\n1,2\n',
    events: [error(1, 'unclosed_quote')],
  },
  {
    name: 'a row that is narrower or wider than the header is an error',
    file: 'a,b\n1\n1,2,3\n"1"\n"1","2","3"\n1,\n,\n1,2,\n',
    events: [
      header('a', 'b'),
      ...[2, 3, 4, 5].map((line) => error(line, 'wrong_width')),
      row(6, '1', ''),
      row(7, '', ''),
      error(8, 'wrong_width'),
    ],
  },
  {
    name: 'the error of a row of another width has the line on which the row starts',
    file: 'a,b\n"1\n\n"\n2,3\n',
    events: [header('a', 'b'), error(2, 'wrong_width'), row(5, '2', '3')],
  },
  {
    name: 'a lone carriage return outside quotes is an error',
    file: 'a,b\n1,2\r3,4\n"5"\r,6\n7,8\r\r\n"9\r","\r"\r\n\r10,11\n12,13\r',
    events: [
      header('a', 'b'),
      error(2, 'bare_cr'),
      error(3, 'bare_cr'),
      error(4, 'bare_cr'),
      row(5, '9\r', '\r'),
      error(6, 'bare_cr'),
      error(7, 'bare_cr'),
    ],
  },
  {
    name: 'a file whose lines end in CR is one error',
    file: 'a,b\r1,2\r3,4\r',
    events: [error(1, 'bare_cr')],
  },
  {
    name: 'a row may be as long as the limit, without its line end, but not longer',
    file: 'a\n12345678\r\n123456789\n1234567€\n12345678€\n"123456"\n"1234567"\n€\n"1\n3456"\n"1\n34567"',
    options: { maxRowLength: 8 },
    events: [
      header('a'),
      row(2, '12345678'),
      error(3, 'row_too_long'),
      row(4, '1234567€'),
      error(5, 'row_too_long'),
      row(6, '123456'),
      error(7, 'row_too_long'),
      row(8, '€'),
      row(9, '1\n3456'),
      error(11, 'row_too_long'),
    ],
  },
  {
    name: 'a row over the limit ends at the next line end, even inside quotes',
    file: 'a,b\n1,"2\n3456789\n4",5\n6,7\n8,"\n9"\n',
    options: { maxRowLength: 8 },
    events: [
      header('a', 'b'),
      error(2, 'row_too_long'),
      error(4, 'misplaced_quote'),
      row(5, '6', '7'),
      row(6, '8', '\n9'),
    ],
  },
  {
    name: 'the rest of a very long line is skipped, malformed or not',
    file: raw(`a,b\n1,2${'\xC3\xA9'.repeat(99)}\xFF,"\r"3\n4,5\n6,${'7'.repeat(99)}`),
    options: { maxRowLength: 8 },
    events: [
      header('a', 'b'),
      error(2, 'row_too_long'),
      row(3, '4', '5'),
      error(4, 'row_too_long'),
    ],
  },
  {
    name: 'a header over the limit ends the parse',
    file: `a,"b\n${';\n'.repeat(99)}"\n1,2\n`,
    options: { maxRowLength: 8 },
    events: [error(1, 'row_too_long')],
  },
]

const cases = [...wellFormed, ...malformed]
const bytesOf = (file: string | Uint8Array) => (typeof file === 'string' ? Buffer.from(file) : file)

test('the example of createCsvParser collects rows', async () => {
  const file = [Buffer.from('sku,price\nswo'), Buffer.from('rd,499\n')]
  const rows: string[][] = []
  const row = (cells: string[]) => rows.push(cells)
  const parser = createCsvParser({ header() {}, row, error: console.error })
  for await (const chunk of file) parser.push(chunk)
  parser.end()
  assert.deepEqual(rows, [['sword', '499']])
})

describe('a well-formed file', () => {
  for (const { name, file, options, events } of wellFormed) {
    test(name, () => assert.deepEqual(parse([bytesOf(file)], options), events))
  }
})

describe('a malformed file', () => {
  for (const { name, file, options, events } of malformed) {
    test(name, () => assert.deepEqual(parse([bytesOf(file)], options), events))
  }

  test('messages name both widths and the limit', () => {
    const messages: string[] = []
    const parser = createCsvParser(
      { header() {}, row() {}, error: ({ message }) => messages.push(message) },
      { maxRowLength: 8 },
    )
    parser.push(Buffer.from('a,b\n1,2,3\n123456789\n'))
    parser.end()
    assert.match(messages[0] ?? '', /header has 2 cells, this row has 3/)
    assert.match(messages[1] ?? '', /longer than 8 characters/)
  })

  const quotes: [
    what: string,
    file: string,
    said: [line: number, message: RegExp][],
    rows: number[],
  ][] = [
    ['to the end of the file', 'a,b\n1,"2\n3,4\n5,6\n', [[2, /never closed: the rest/]], []],
    [
      'to the next quote',
      'a,b\n1,"2\n3,4\n5,"6"\n7,8\n',
      [[4, /quote opens on line 2 ends here/]],
      [5],
    ],
    ['nowhere', 'a,b\n1,"2"x\n3,4\n', [[2, /quote the whole cell/]], [3]],
    [
      'past the limit',
      `a,b\n1,"2\n${'3,4\n'.repeat(10)}`,
      [[2, /the quote that opens on line 2 never closed/]],
      [8, 9, 10, 11, 12],
    ],
  ]
  for (const [where, file, expected, rows] of quotes) {
    test(`a stray quote whose cell continues ${where} is reported with the line on which it opens`, () => {
      const reported: [number, string][] = []
      const read: number[] = []
      const parser = createCsvParser(
        {
          header() {},
          row: (_, line) => read.push(line),
          error: ({ line, message }) => reported.push([line, message]),
        },
        { maxRowLength: 22 },
      )
      parser.push(Buffer.from(file))
      parser.end()
      assert.deepEqual(
        reported.map(([line]) => line),
        expected.map(([line]) => line),
      )
      for (const [i, [, message]] of expected.entries())
        assert.match(reported[i]?.[1] ?? '', message)
      assert.deepEqual(read, rows)
    })
  }

  test('no message quotes a cell', () => {
    const bad = 'a,b\nSECRET\n"SECRET"x,SECRET\nSECRET\rSECRET,\nSECRET,"SECRET\n'
    const messages: string[] = []
    const parser = createCsvParser({
      header() {},
      row() {},
      error: (e) => messages.push(e.message),
    })
    parser.push(Buffer.concat([Buffer.from(bad), raw('\xFFSECRET')]))
    parser.end()
    assert.equal(messages.length, 4)
    assert.doesNotMatch(messages.join(), /SECRET/)
  })
})

describe('chunks', () => {
  for (const { name, file, options, events } of cases) {
    test(`may be cut at any byte: ${name}`, () => {
      const bytes = bytesOf(file)
      for (let cut = 0; cut <= bytes.length; cut++) {
        const chunks = [bytes.subarray(0, cut), bytes.subarray(cut)]
        assert.deepEqual(parse(chunks, options), events, `cut at ${cut}`)
      }
      const single = Array.from(bytes, (byte) => Uint8Array.of(byte))
      assert.deepEqual(parse(single, options), events, 'cut at every byte')
    })
  }

  test('may be reused by the caller once pushed', () => {
    const chunk = Buffer.alloc(4)
    function* reused() {
      for (const part of ['a,b\n', '"x"', '"y"', ',1\n2', ',3']) {
        yield chunk.subarray(0, chunk.write(part))
      }
    }
    const events = parse(reused())
    assert.deepEqual(events, [header('a', 'b'), row(2, 'x"y', '1'), row(3, '2', '3')])
  })

  test('may be larger than what is decoded at once', () => {
    const lines = Array.from({ length: 20_000 }, (_, i) => `${i},"é\n${i}"`)
    const events = parseText(`a,b\n${lines.join('\n')}`)
    assert.deepEqual(events.at(-1), row(40_000, '19999', 'é\n19999'))
    assert.equal(events.length, 20_001)
  })
})

test('an error that a handler throws reaches the caller of push', () => {
  const parser = createCsvParser({
    header() {
      throw new RangeError('from the handler')
    },
    row() {},
    error() {},
  })
  assert.throws(() => parser.push(Buffer.from('a\n1\n'.repeat(300))), RangeError)
})

/** A header line of this many bytes, without its line end. */
const headerOf = (bytes: number, ...cells: string[]) => {
  const others = cells.map((cell) => `,${cell}`).join('')
  return `${'x'.repeat(bytes - others.length)}${others}`
}
const HEADER_LIMIT = 16 * 1024

// Not among the cases above, because those are cut at every byte.
const longHeaders: Case[] = [
  {
    name: 'a header line of 16 KiB is read',
    file: `${headerOf(HEADER_LIMIT, 'b')}\n1,2\n`,
    events: [header('x'.repeat(HEADER_LIMIT - 2), 'b'), row(2, '1', '2')],
  },
  {
    name: 'a longer header line ends the parse, with the line on which it starts',
    file: `\n\n${headerOf(HEADER_LIMIT - 1, 'b')}\n1,2\n`,
    events: [error(3, 'header_too_long')],
  },
  {
    name: 'a header of 256 columns is read',
    file: `${'x,'.repeat(255)}x\n`,
    events: [header(...Array(256).fill('x'))],
  },
  {
    name: 'a header of 257 columns ends the parse',
    file: `${'x,'.repeat(256)}x\n1,2\n`,
    events: [error(1, 'too_many_columns')],
  },
  {
    name: 'a header line that is too long in UTF-16 ends the parse',
    file: utf16le(`${headerOf(HEADER_LIMIT + 1, 'b')}\n1,2\n`),
    events: [error(1, 'header_too_long')],
  },
  {
    name: 'of a header that is malformed and then too long, the first error is reported',
    file: `\na"b,c\n${'1,2\n'.repeat(HEADER_LIMIT)}`,
    events: [error(2, 'misplaced_quote')],
  },
  {
    name: 'CR line ends are not a header that is too long',
    file: 'a,b\r'.repeat(HEADER_LIMIT),
    events: [error(1, 'bare_cr')],
  },
  {
    name: 'empty lines that end with CRLF are a header that is too long',
    file: `\n${'\r\n'.repeat(HEADER_LIMIT)}`,
    events: [error(HEADER_LIMIT / 2 + 2, 'header_too_long')],
  },
  {
    name: 'a header with an unclosed quote is too long',
    file: `"a,b\n${'1,2\n'.repeat(HEADER_LIMIT)}`,
    events: [error(1, 'header_too_long')],
  },
]

describe('a long header', () => {
  for (const { name, file, events } of longHeaders) {
    test(name, () => {
      const bytes = bytesOf(file)
      assert.deepEqual(parse([bytes]), events)
      assert.deepEqual(parse(cutAt(bytes, [1, 9, 16_000, 16_384, 16_385, 16_387])), events)
    })
  }
})

test('a bad header is refused before the rest of the file is read', () => {
  for (const [start, isRefused] of [
    ['sku,'.repeat(80_000), true],
    ['sku,'.repeat(300), false],
  ] as const) {
    const parser = createCsvParser({ header() {}, row() {}, error() {} })
    parser.push(Buffer.from(start))
    assert.equal(parser.isClosed, isRefused)
    parser.push(Buffer.from('\n'))
    assert.equal(parser.isClosed, true)
    const rest = { length: 2 ** 30, subarray: () => assert.fail('the rest is read') }
    parser.push(rest as unknown as Uint8Array)
    parser.end()
  }
})

describe('memory stays bounded', () => {
  const chunk = Buffer.alloc(1 << 20, 'x')
  const endless = [
    { name: 'by a line that never ends', start: 'a,b\n', fill: 'x', code: 'row_too_long' },
    { name: 'by a header that never ends', start: '', fill: 'x', code: 'header_too_long' },
    { name: 'by a quote that never closes', start: 'a,b\n"', fill: 'x', code: 'row_too_long' },
    { name: 'by a quoted header of line ends', start: '"', fill: '\n', code: 'header_too_long' },
    { name: 'by a quoted field of quotes', start: 'a,b\n"', fill: '""', code: 'row_too_long' },
    { name: 'by empty lines before a header', start: '', fill: '\n', code: 'header_too_long' },
  ]
  for (const { name, start, fill, code } of endless) {
    test(name, () => {
      const errors: string[] = []
      const parser = createCsvParser({ header() {}, row() {}, error: (e) => errors.push(e.code) })
      chunk.fill(fill)
      parser.push(Buffer.from(start))
      const before = inUse()
      let most = 0
      for (let i = 0; i < 256; i++) {
        parser.push(chunk)
        most = Math.max(most, inUse() - before)
      }
      parser.end()
      assert.deepEqual(errors, [code])
      assert.ok(most < 100 << 20, `${most} bytes more in use, of ${256 << 20} pushed`)
    })
  }

  function inUse() {
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
})

/** The rows that csv-parse reads, or 'refused'. */
function parseWithCsvParse(text: string, delimiter: string): string[][] | 'refused' {
  try {
    return csvParse(Buffer.from(text), {
      bom: true,
      delimiter,
      record_delimiter: ['\r\n', '\n'],
      skip_empty_lines: true,
    })
  } catch (thrown) {
    if (thrown instanceof CsvParseError) return 'refused'
    throw thrown
  }
}

const rowsOf = (events: Event[]) =>
  events.flatMap((event) =>
    'header' in event ? [event.header] : 'row' in event ? [event.row] : [],
  )

function* cutAt(bytes: Uint8Array, cuts: number[]) {
  const places = cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b)
  for (const [i, place] of [...places, bytes.length].entries()) {
    yield bytes.subarray(places[i - 1] ?? 0, place)
  }
}

const cuts = fc.array(fc.nat(), { maxLength: 8 })

describe('equals csv-parse', () => {
  const encodings = {
    'UTF-8': (text: string) => Buffer.from(text),
    'UTF-8 with a byte order mark': (text: string) => Buffer.from(`\uFEFF${text}`),
    'UTF-16 LE': utf16le,
    'UTF-16 BE': utf16be,
  }
  const cell = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 20 }),
    fc.string({ unit: fc.constantFrom('a', ',', ';', '\t', '"', '\n', '\r', '€', '😀', ' ') }),
    fc.stringMatching(/^[a-z0-9]{0,40}$/),
  )
  const field = fc.record({ cell, quoted: fc.boolean() })
  const record = (width: number) =>
    fc.record({
      fields: fc.array(field, { minLength: width, maxLength: width }),
      lineEnd: fc.constantFrom('\n', '\r\n', '\n\n'),
    })
  const table = fc.integer({ min: 1, max: 5 }).chain((width) =>
    fc.record({
      // A header of one column has no delimiter, so a comma is assumed.
      delimiter: width === 1 ? fc.constant(',') : fc.constantFrom(',', ';', '\t'),
      records: fc.array(record(width), { minLength: 1, maxLength: 12 }),
      hasLastLineEnd: fc.boolean(),
    }),
  )
  type Table = typeof table extends fc.Arbitrary<infer T> ? T : never

  function write({ delimiter, records, hasLastLineEnd }: Table): string {
    const lines = records.map(({ fields }) =>
      fields
        .map(({ cell, quoted }) =>
          quoted || /[",;\t\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell,
        )
        .join(delimiter),
    )
    const text = lines.map((line, i) => line + records[i]?.lineEnd).join('')
    return hasLastLineEnd ? text : text.replace(/(\r?\n)+$/, '')
  }

  for (const [name, encode] of Object.entries(encodings)) {
    test(`on every table in ${name}`, () => {
      fc.assert(
        fc.property(table, cuts, (table, cuts) => {
          const text = write(table)
          const events = parse(cutAt(encode(text), cuts))
          assert.deepEqual(rowsOf(events), parseWithCsvParse(text, table.delimiter))
        }),
      )
    })
  }

  test('on whether a file is well-formed', () => {
    // Few symbols make many files nearly well-formed. No lone CR, which is text to csv-parse.
    const symbol = fc.constantFrom('a', 'é', ',', '"', '""', '",', ',"', '\n', '\r\n', '"\n')
    fc.assert(
      fc.property(fc.string({ unit: symbol }), (body) => {
        const text = `a,b\n${body}`
        const events = parseText(text)
        const isRefused = events.some((event) => 'error' in event)
        assert.deepEqual(isRefused ? 'refused' : rowsOf(events), parseWithCsvParse(text, ','))
      }),
    )
  })

  test('the events do not depend on where any bytes are cut', () => {
    const symbol = fc.constantFrom(...'ab,"\n\r\xC3\xA9\xFF', '\r\n', '",', '""', 'a,b\n')
    const mark = fc.constantFrom('', '\xEF\xBB\xBF', '\xFF\xFE', '\xFE\xFF')
    const file = fc.tuple(mark, fc.string({ unit: symbol, maxLength: 60 }))
    fc.assert(
      fc.property(file, cuts, fc.integer({ min: 4, max: 40 }), (file, cuts, maxRowLength) => {
        const bytes = raw(file.join(''))
        const whole = parse([bytes], { maxRowLength })
        assert.deepEqual(parse(cutAt(bytes, cuts), { maxRowLength }), whole)
        const hasHeader = whole.some((event) => 'header' in event)
        assert.ok(hasHeader || whole.length === 1, 'one header, or one error in its place')
      }),
    )
  })
})
