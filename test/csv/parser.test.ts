import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import { describe, test } from 'node:test'
import { CsvError as CsvParseError, parse as csvParse } from 'csv-parse/sync'
import { createCsvParser } from '../../lib/csv/parser.ts'
import { fc } from '../support/seeds.ts'

type Event = { line: number } & (
  | { header: string[] }
  | { row: string[] }
  | { error: string; message: string }
)

/** All events of the parser for these chunks. */
function parse(chunks: Iterable<Uint8Array>, maxRowLength?: number): Event[] {
  const events: Event[] = []
  const parser = createCsvParser(
    {
      header: (header, line) => events.push({ header, line }),
      row: (row, line) => events.push({ row, line }),
      error: ({ code, message, line }) => events.push({ error: code, message, line }),
    },
    maxRowLength,
  )
  for (const chunk of chunks) parser.push(chunk)
  parser.end()
  return events
}

const parseText = (text: string, maxRowLength?: number) => parse([Buffer.from(text)], maxRowLength)
const utf16le = (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le')
const utf16be = (text: string) => utf16le(text).swap16()
/** Encodes one byte for each character, to write bytes that are not UTF-8. */
const raw = (bytes: string) => Buffer.from(bytes, 'latin1')

/** The event as a text of a case. */
function shown(event: Event): string {
  if ('error' in event) return `${event.line} ${event.error}`
  if ('row' in event) return `${event.line}: ${event.row.join('|')}`
  return `header${event.line === 1 ? '' : ` ${event.line}`}: ${event.header.join('|')}`
}
const eventsOf = (...args: Parameters<typeof parse>) => parse(...args).map(shown)

const badBytes = (line: number) => `${line} malformed_encoding`

/** A file, and its events as texts: `header: a|b`, `2: 1|2` for the row of line 2, `3 wrong_width`. */
type Case = [name: string, file: string | Uint8Array, events: string[], maxRowLength?: number]

// The properties below compare other files with csv-parse and with `eventsOfText`.
const cases: Case[] = [
  [
    'the delimiter is a semicolon when it is the most frequent one in the header',
    'a;b,c;d\n1;2,5;3\n',
    ['header: a|b,c|d', '2: 1|2,5|3'],
  ],
  ['the comma wins a tie', 'a;b,c\td\n1,2\n', ['header: a;b|c\td', '2: 1|2']],
  [
    'one UTF-8 byte order mark is dropped, also before an empty line',
    '\uFEFF\n\uFEFFa,b\n',
    ['header 2: \uFEFFa|b'],
  ],
  ['a quote may follow the byte order mark', '\uFEFF"a";b\n1;2\n', ['header: a|b', '2: 1|2']],
  ...[utf16le, utf16be].map(
    (encode): Case => [
      `${encode === utf16le ? 'UTF-16 LE' : 'UTF-16 BE'} is read with a byte order mark`,
      encode('a;b\r\né€😀;"x\n""\u0A0D\u2C0A"\n1;2'),
      ['header: a|b', '2: é€😀|x\n"\u0A0D\u2C0A', '4: 1|2'],
    ],
  ),
  ['a UTF-16 byte order mark alone has no header', utf16le(''), ['1 no_header']],
  [
    'a lone surrogate is not UTF-16',
    utf16le('a\n\uD83Dx\n\uDE00\nok\n\uD83D\n\uD83D\uD83D\uDE00\nok\uD83D'),
    ['header: a', ...[2, 3].map(badBytes), '4: ok', ...[5, 6, 7].map(badBytes)],
  ],
  [
    'half a code unit at the end is not UTF-16',
    utf16be('a\n1\n2').subarray(0, -1),
    ['header: a', '2: 1', '3 malformed_encoding'],
  ],
  [
    'the rest of a very long line is skipped, malformed or not',
    raw(`a,b\n1,2${'\xC3\xA9'.repeat(99)}\xFF,"\r"3\n4,5\n6,${'7'.repeat(99)}`),
    ['header: a|b', '2 row_too_long', '3: 4|5', '4 row_too_long'],
    8,
  ],
  [
    'a header over the limit ends the parse',
    `a,"b\n${';\n'.repeat(99)}"\n1,2\n`,
    ['1 row_too_long'],
    8,
  ],
]

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

test('the message of a malformed file says what to do, and its other rows are read', () => {
  const messages: [file: string, said: RegExp, ...rows: number[]][] = [
    ['a,b\n1,2,3\n', /^2 .*header has 2 cells, this row has 3/],
    [`a,b\n${'1'.repeat(30)}\n`, /^2 .*longer than 22 characters/],
    ['a,b\n1,"2\n3,4\n5,6\n', /^2 .*never closed: the rest/],
    ['a,b\n1,"2\n3,4\n5,"6"\n7,8\n', /^4 .*quote opens on line 2 ends here/, 5],
    ['a,b\n1,"2"x\n3,4\n', /^2 .*quote the whole cell/, 3],
    [
      `a,b\n1,"2\n${'3,4\n'.repeat(10)}`,
      /^2 .*the quote that opens on line 2 never closed/,
      ...[8, 9, 10, 11, 12],
    ],
  ]
  for (const [file, said, ...rows] of messages) {
    const events = parseText(file, 22)
    const errors = events.flatMap((each) => ('error' in each ? `${each.line} ${each.message}` : []))
    assert.equal(errors.length, 1)
    assert.match(errors[0] ?? '', said)
    const lines = events.flatMap((each) => ('row' in each ? each.line : []))
    assert.deepEqual(lines, rows)
  }

  const bad = 'a,b\nSECRET\n"SECRET"x,SECRET\nSECRET\rSECRET,\nSECRET,"SECRET\n'
  const events = parse([Buffer.from(bad), raw('\xFFSECRET')])
  assert.equal(events.length, 5)
  assert.doesNotMatch(JSON.stringify(events), /SECRET/)
})

describe('chunks', () => {
  for (const [name, file, events, maxRowLength] of cases) {
    test(`may be cut at any byte: ${name}`, () => {
      const bytes = bytesOf(file)
      for (let cut = 0; cut <= bytes.length; cut++) {
        const chunks = [bytes.subarray(0, cut), bytes.subarray(cut)]
        assert.deepEqual(eventsOf(chunks, maxRowLength), events, `cut at ${cut}`)
      }
      const single = Array.from(bytes, (byte) => Uint8Array.of(byte))
      assert.deepEqual(eventsOf(single, maxRowLength), events, 'cut at every byte')
    })
  }

  test('may be reused by the caller once pushed', () => {
    const chunk = Buffer.alloc(4)
    function* reused() {
      for (const part of ['a,b\n', '"x"', '"y"', ',1\n2', ',3']) {
        yield chunk.subarray(0, chunk.write(part))
      }
    }
    assert.deepEqual(eventsOf(reused()), ['header: a|b', '2: x"y|1', '3: 2|3'])
  })

  test('may be larger than what is decoded at once', () => {
    const lines = Array.from({ length: 20_000 }, (_, i) => `${i},"é\n${i}"`)
    const events = parseText(`a,b\n${lines.join('\n')}`)
    assert.deepEqual(events.at(-1), { row: ['19999', 'é\n19999'], line: 40_000 })
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
  [
    'a header line of 16 KiB is read',
    `${headerOf(HEADER_LIMIT, 'b')}\n1,2\n`,
    [`header: ${'x'.repeat(HEADER_LIMIT - 2)}|b`, '2: 1|2'],
  ],
  [
    'a longer header line ends the parse, with the line on which it starts',
    `\n\n${headerOf(HEADER_LIMIT - 1, 'b')}\n1,2\n`,
    ['3 header_too_long'],
  ],
  [
    'a header of 256 columns is read',
    `${'x,'.repeat(255)}x\n`,
    [`header: ${Array(256).fill('x').join('|')}`],
  ],
  ['a header of 257 columns ends the parse', `${'x,'.repeat(256)}x\n1,2\n`, ['1 too_many_columns']],
  [
    'of a header that is malformed and then too long, the first error is reported',
    `\na"b,c\n${'1,2\n'.repeat(HEADER_LIMIT)}`,
    ['2 misplaced_quote'],
  ],
  ['CR line ends are not a header that is too long', 'a,b\r'.repeat(HEADER_LIMIT), ['1 bare_cr']],
]

describe('a long header', () => {
  for (const [name, file, events] of longHeaders) {
    test(name, () => {
      const bytes = bytesOf(file)
      assert.deepEqual(eventsOf([bytes]), events)
      assert.deepEqual(eventsOf(cutAt(bytes, [1, 9, 16_000, 16_384, 16_385, 16_387])), events)
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
      for (let i = 0; i < 128; i++) {
        parser.push(chunk)
        most = Math.max(most, inUse() - before)
      }
      parser.end()
      assert.deepEqual(errors, [code])
      assert.ok(most < 64 << 20, `${most} bytes more in use, of ${128 << 20} pushed`)
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
  // In UTF-16, U+FFFD is malformed: an earlier program wrote it for a character that it lost.
  const kept = cell.filter((text) => !text.includes('\uFFFD'))
  const field = fc.record({ cell: kept, quoted: fc.boolean() })
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

  test('the events are those of the whole text, wherever any bytes are cut', () => {
    const symbol = fc.constantFrom(
      ...[...'ab,"\n\r\xC3\xA9\xEF\xFF', '\r\n', '",', '""', 'a,b\n', '\xEF\xBF\xBD'],
      ...['\xC0\xAF', '\xED\xA0\x80', '\xF0\x9F\x98', '\xF4\x90\x80\x80'], // not UTF-8
    )
    const mark = fc.constantFrom('', '\xEF\xBB\xBF', '\xFF\xFE', '\xFE\xFF')
    const start = fc.constantFrom('', 'a,b\n', 'a\n')
    const file = fc.tuple(mark, start, fc.string({ unit: symbol, maxLength: 60 }))
    fc.assert(
      fc.property(file, cuts, fc.integer({ min: 4, max: 40 }), (file, cuts, maxRowLength) => {
        const bytes = raw(file.join(''))
        const whole = eventsOf([bytes], maxRowLength)
        assert.deepEqual(eventsOf(cutAt(bytes, cuts), maxRowLength), whole)
        if (!/[\xFE\xFF]/.test(file[0])) assert.deepEqual(whole, eventsOfText(bytes, maxRowLength))
      }),
      { numRuns: 2_000 },
    )
  })
})

const FIELD = /"((?:[^"]|"")*)("(?!")|$)|[^,"\r\n]*/y

/** The events of UTF-8 with commas, by regular expressions on its whole text. */
function eventsOfText(bytes: Uint8Array, maxRowLength: number): string[] {
  const text = new TextDecoder().decode(bytes)
  const isGood = Buffer.from(bytes)
    .toString('latin1')
    .split('\n')
    .map((line) => isUtf8(raw(line)))
  const lineAt = (at: number) => text.slice(0, at).split('\n').length
  const nextLine = (at: number) => text.indexOf('\n', at) + 1 || text.length
  const startsAt = (at: number, pattern: RegExp) => pattern.test(text.slice(at))
  const events: string[] = []
  let width = 0
  for (let at = 0; at < text.length; at = nextLine(at)) {
    const start = at
    if (startsAt(start, /^\r?\n/)) continue
    const cells: string[] = []
    let error = ''
    do {
      FIELD.lastIndex = cells.length > 0 ? at + 1 : at
      const opened = FIELD.lastIndex
      const [field, quoted, end] = FIELD.exec(text) ?? ['']
      cells.push(quoted?.replaceAll('""', '"') ?? field)
      at = opened + field.length
      if (at > start + maxRowLength) {
        error = `${lineAt(start)} row_too_long`
        at = start + maxRowLength
      } else if (end === '') error = `${lineAt(opened)} unclosed_quote`
      else if (!startsAt(at, /^(,|\r?\n|$)/)) {
        error = `${lineAt(at)} ${text[at] === '\r' ? 'bare_cr' : 'misplaced_quote'}`
      }
    } while (error === '' && text[at] === ',')
    const bad = isGood.indexOf(false, lineAt(start) - 1) + 1
    if (error === '' && bad > 0 && bad <= lineAt(at)) error = badBytes(bad)
    if (error === '' && width > 0 && cells.length !== width) error = `${lineAt(start)} wrong_width`
    if (error !== '') events.push(error)
    else if (width > 0) events.push(shown({ row: cells, line: lineAt(start) }))
    else events.push(shown({ header: cells, line: lineAt(start) }))
    if (error !== '' && width === 0) return events
    width ||= cells.length
  }
  return width > 0 ? events : ['1 no_header']
}
