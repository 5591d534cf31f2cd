import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import busboy from 'busboy'
import {
  createMultipartParser,
  MultipartError,
  type MultipartErrorCode,
  type MultipartHandlers,
  type MultipartLimits,
  parseBoundary,
} from '../../http/multipart.ts'
import { character, fc } from '../support/seeds.ts'

/** A part as the handlers received it; `data` is its bytes as Latin-1. */
interface Part {
  name: string
  filename: string | undefined
  data: string
}

const part = (name: string, data: string, more: Partial<Part> = {}): Part => ({
  name,
  filename: undefined,
  data,
  ...more,
})

const boundary = 'frontier'
const silent: MultipartHandlers = { part: () => {}, data: () => {}, partEnd: () => {} }
const field = (data: string) => `--frontier\r\n${disposition('form-data; name="a"')}\r\n${data}\r\n`
const disposition = (value: string) => `Content-Disposition: ${value}\r\n`
const withHeader = (header: string) => `--frontier\r\n${header}\r\n1\r\n--frontier--\r\n`
const withDisposition = (value: string) => withHeader(disposition(value))
const named = disposition('form-data; name="a"')

describe('parseBoundary', () => {
  const values: [value: string | undefined, expected: string | undefined][] = [
    ['multipart/form-data; boundary=frontier', 'frontier'],
    ['Multipart/Form-Data;BOUNDARY=frontier', 'frontier'],
    ['multipart/form-data; charset=utf-8 ; boundary="a b:c" ;', 'a b:c'],
    ['multipart/form-data; boundary="a\\b\\c"', 'abc'],
    [`multipart/form-data; boundary="${'x'.repeat(70)}"`, 'x'.repeat(70)],
    [undefined, undefined],
    ['multipart/form-data', undefined],
    ['multipart/mixed; boundary=frontier', undefined],
    ['multipart/form-data boundary=frontier', undefined],
    ['multipart/form-data; boundary=', undefined],
    ['multipart/form-data; boundary=""', undefined],
    ['multipart/form-data; boundary="frontier', undefined],
    ['multipart/form-data; boundary=a b', undefined],
    ['multipart/form-data; boundary="ends in space "', undefined],
    ['multipart/form-data; boundary="a\\"b"', undefined],
    ['multipart/form-data; boundary="é"', undefined],
    [`multipart/form-data; boundary=${'x'.repeat(71)}`, undefined],
    ['multipart/form-data; boundary=a; Boundary="b"', undefined],
  ]
  for (const [value, expected] of values) {
    test(`finds ${expected ?? 'none'} in ${JSON.stringify(value)}`, () => {
      assert.equal(parseBoundary(value), expected)
    })
  }
})

describe('A well-formed body', () => {
  const a = part('a', '1')
  const odd =
    'X-A: \xff\r\nx-a:\r\ncONTENT-dISPOSITION:FORM-DATA;NAME=a \t;; x=y\r\nContent-type:a/b \r\n'
  const bodies: [what: string, body: string, ...parts: Part[]][] = [
    ...['', ' \t', '\r\n', ' \t\r\n', '\r\n\r\nmore'].map((end): [string, string, Part] => {
      const body = `--frontier \t\r\n${named}\r\n1\r\n--frontier-- ${end}`
      return [`${JSON.stringify(end)} after its last delimiter`, body, a]
    }),
    ['no part', '--frontier--'],
    ['a preamble', `pre\r\n--fron\r\n${withHeader(named)}`, a],
    ['an empty part', `${field('')}--frontier--`, part('a', '')],
    ['no line end after a header', `--frontier\r\n${named}\r\n--frontier--`, part('a', '')],
    ['odd case and unknown headers', withHeader(odd), part('a', '1')],
    ...['7bit', '8BIT', 'binary'].map((encoding): [string, string, Part] => {
      const body = withHeader(`${named}Content-Transfer-Encoding: ${encoding}\r\n`)
      return [`the encoding ${encoding}`, body, a]
    }),
    // RFC 7578 section 4.2 forbids it.
    ['filename*', withDisposition(`form-data; name="a"; filename*=UTF-8''b`), a],
  ]
  const names: [written: string, name: string][] = [
    ['token', 'token'],
    ['""', ''],
    ['"a; filename=b"', 'a; filename=b'],
    ['"%22%0D%0A"', '"\r\n'],
    ['"%0d%0a%25%41%"', '%0d%0a%25%41%'],
    ['"say \\"hi\\""', 'say "hi"'],
    ['"C:\\\\dir\\\\a"', 'C:\\dir\\a'],
    ['"C:\\dir\\a"', 'C:\\dir\\a'],
    ['"\\%22"', '\\"'],
    ['"\ufeffa\u2028\\\u2028"', '\ufeffa\u2028\\\u2028'],
  ]
  for (const [written, name] of names) {
    const body = withDisposition(`form-data; name=${written}; filename=${written}`)
    bodies.push([`the name ${written}`, body, part(name, '1', { filename: name })])
  }
  for (const [what, body, ...parts] of bodies) {
    test(`may have ${what}`, () => {
      const bytes = body === withHeader(odd) ? Buffer.from(body, 'latin1') : body
      assert.deepEqual(parse(bytes), { parts })
      assert.deepEqual(parse(...chunksOf(Buffer.from(bytes), 1)), { parts })
    })
  }

  test('is parsed correctly when a handler overwrites its chunk', () => {
    let data = ''
    const parser = createMultipartParser(boundary, {
      ...silent,
      data: (chunk) => {
        data += latin1(chunk)
        chunk.fill(0)
      },
    })

    for (const byte of Buffer.from(`${field('\r\n--frontie\r\n--f')}--frontier--`)) {
      parser.push(Uint8Array.of(byte))
    }
    parser.end()

    assert.equal(data, '\r\n--frontie\r\n--f')
  })
})

describe('A malformed body', () => {
  const bodies: Record<MultipartErrorCode, [reason: string, body: string][]> = {
    truncated: [
      ['it is empty', ''],
      ['there is no delimiter', 's3cret'],
      ['the first delimiter is after a bare LF', 'preamble\n--frontier--\n'],
      ['the closing delimiter is that of another boundary', '--s3cret--\r\n'],
    ],
    malformed_delimiter: [
      ['text follows a delimiter', `--frontiers3cret\r\n${named}\r\n`],
      ['a delimiter ends in one dash', '--frontier-\r\n'],
      ['a space is before the closing dashes', '--frontier --\r\n'],
      ['a bare CR is after a delimiter', '--frontier\rs3cret\r\n'],
      ['text follows the closing delimiter', '--frontier--s3cret\r\n'],
      ['a line of the data starts with the delimiter', field('\r\n--frontiers3cret')],
    ],
    bare_line_feed: [
      ['a delimiter ends with a bare LF', `--frontier\n${named}\r\n`],
      ['the closing delimiter ends with a bare LF', '--frontier--\n'],
      ['a header line ends with a bare LF', withHeader('s3cret: 1\n')],
      ['the empty line after the header ends with a bare LF', `--frontier\r\n${named}\ns3cret`],
    ],
    too_many_parts: [['there are 21', `${field('s3cret').repeat(21)}--frontier--`]],
    header_too_large: [
      ['a line is too long', withHeader(`${named}s3cret:${' '.repeat(66_000)}\r\n`)],
      ['there are too many lines', withHeader('s3cret:\r\n'.repeat(8_000))],
      ['the padding of a delimiter is too long', `--frontier${' '.repeat(66_000)}`],
    ],
    folded_header: [
      ['a line starts with a tab', withHeader(`${named}\t; filename=s3cret\r\n`)],
      ['the first line starts with a space', withHeader(` ${named}`)],
    ],
    malformed_header: [
      ['a line has no colon', withHeader('s3cret\r\n')],
      ['the data has no header', '--frontier\r\ns3cret\r\n\r\n'],
      ['a delimiter is within a header', '--frontier\r\nContent-\r\n--frontier--\r\n\r\n'],
      ['a name is empty', withHeader(': s3cret\r\n')],
      ['a name ends in a space', withHeader('s3cret : 1\r\n')],
      ['a value has a NUL', withHeader('a: s3cret\0\r\n')],
      ['a value has a bare CR', withHeader('a: s3cret\rb: 2\r\n')],
    ],
    duplicate_header: [
      ['it is Content-Disposition', withHeader(named + named)],
      ['it is Content-Type', withHeader(`${named}Content-Type: a/b\r\ncontent-type: a/b\r\n`)],
    ],
    invalid_utf8: [
      ['a name is Latin-1', withDisposition('form-data; name="s3cret\xe9"')],
      ['a name is overlong', withDisposition('form-data; name="\xc0\xaf"')],
      ['a name is a lone surrogate', withDisposition('form-data; name="\xed\xa0\x80"')],
      ['a filename is beyond Unicode', withDisposition('form-data; filename="\xf4\x90\x80\x80"')],
      ['a type is Latin-1', withHeader(`${named}Content-Type: a/\xe9\r\n`)],
    ],
    invalid_disposition: [
      ['there is no header at all', withHeader('')],
      ['there is none', withHeader('Content-Type: a/b\r\n')],
      ['it is an attachment', withDisposition('attachment; name="s3cret"')],
      ['it only begins with form-data', withDisposition('form-data2; name="s3cret"')],
      ['a quote is not closed', withDisposition('form-data; name="s3cret')],
      ['the closing quote is escaped', withDisposition('form-data; name="s3cret\\"')],
      ['text follows a quote', withDisposition('form-data; name="a"s3cret')],
      ['a parameter has no value', withDisposition('form-data; name=')],
      ['a parameter is only a name', withDisposition('form-data; name')],
      ['a parameter is repeated', withDisposition('form-data; name=a; NAME=s3cret')],
    ],
    missing_name: [
      ['there is only a filename', withDisposition('form-data; filename="s3cret"')],
      ['there is only the type', withDisposition('form-data')],
    ],
    unsupported_encoding: [
      ['it is base64', withHeader(`${named}Content-Transfer-Encoding: base64\r\n`)],
      ['it is empty', withHeader(`${named}Content-Transfer-Encoding:\r\n`)],
    ],
  }
  for (const [code, rows] of Object.entries(bodies)) {
    for (const [reason, body] of rows) {
      test(`is refused as ${code}, in one chunk and byte by byte, when ${reason}`, () => {
        const bytes = Buffer.from(body, 'latin1')
        const whole = parse(bytes)

        assert.equal(whole.code, code)
        assert.doesNotMatch(whole.message ?? '', /s3cret|frontier/)
        assert.deepEqual(parse(...chunksOf(bytes, 1)), whole)
      })
    }
  }

  test('is refused as truncated when it ends anywhere before its closing delimiter', () => {
    const body = `preamble\r\n${field('1')}${field('2')}--frontier--`
    for (let end = 0; end < body.length; end++) {
      assert.equal(parse(body.slice(0, end)).code, 'truncated', `cut at ${end}`)
    }
  })

  test('is accepted with the maximum number of parts and header bytes', () => {
    const body = withHeader(named)
    const size = `\r\n${named}\r\n`.length

    assert.equal(parse(`${field('1').repeat(20)}--frontier--`).code, undefined)
    assert.equal(parseWithin({ maxParts: 0 }, '--frontier--').code, undefined)
    assert.equal(parseWithin({ maxParts: 0 }, body).code, 'too_many_parts')
    assert.equal(parse(withHeader(`${named}x:${' '.repeat(65_000)}\r\n`)).code, undefined)
    assert.equal(parseWithin({ maxHeaderBytes: size }, body).code, undefined)
    assert.equal(parseWithin({ maxHeaderBytes: size - 1 }, body).code, 'header_too_large')
  })
})

describe('A parser', () => {
  test('throws its first error, or that of a handler, again at every later call', () => {
    const tooLong = new Error('too long')
    const data = () => {
      throw tooLong
    }
    for (const [handlers, bytes] of [
      [silent, '--frontier\n'],
      [{ ...silent, data }, withHeader(named)],
    ] as const) {
      const parser = createMultipartParser(boundary, handlers)
      const first = caught(() => parser.push(Buffer.from(bytes)))
      assert.ok(first instanceof MultipartError || first === tooLong)
      for (const later of [() => parser.push(Buffer.from(withHeader(named))), () => parser.end()]) {
        assert.equal(caught(later), first)
      }
    }
  })

  test('cannot be used after end(), nor created with an invalid boundary', () => {
    const parser = createMultipartParser(boundary, silent)
    parser.push(Buffer.from('--frontier--'))
    parser.end()

    assert.throws(() => parser.push(Buffer.from('')), TypeError)
    assert.throws(() => parser.end(), TypeError)
    for (const none of ['', 'a\r', 'a ', 'x'.repeat(71)]) {
      assert.throws(() => createMultipartParser(none, silent), TypeError)
    }
  })
})

describe('A form written by Node', () => {
  test('has the original parts, which busboy finds too', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(entries, { maxLength: 5 }),
        fc.array(fc.nat()),
        async (all, cuts) => {
          const form = new FormData()
          for (const { name, text, file } of all) form.append(name, file ? fileOf(file) : text)
          const request = new Response(form)
          const contentType = request.headers.get('content-type') ?? ''
          const body = Buffer.from(await request.arrayBuffer())
          const parsed = parseForm(parseBoundary(contentType) ?? '', cut(body, cuts), {})

          assert.deepEqual(parsed, { parts: all.map(partOf) })
          assert.deepEqual(await parseWithBusboy(contentType, body), parsed.parts)
        },
      ),
      { numRuns: 200 },
    )
  })
})

describe('A hostile body', () => {
  const delimiterSize = `\r\n--${boundary}`.length
  const fillings = ['\r\n', '-', '\r\n--frontie', 'x']
  for (const filling of fillings) {
    test(`of repeated ${JSON.stringify(filling)} needs work proportional to its size`, () => {
      for (const [size, chunkSize] of [
        [8_000, 1],
        [100_000, 7],
        [100_000, delimiterSize],
        [2_000_000, 65_536],
      ] as const) {
        const chunks = chunksOf(Buffer.alloc(size, filling), chunkSize)

        const read = countReads(chunks)

        // One search of each chunk, together with what may be the beginning of a delimiter.
        const most = size + delimiterSize * chunks.length
        assert.ok(read <= most, `${read} bytes read of ${size}`)
      }
    })
  }

  test('of one long header in chunks of one byte needs work proportional to its size', () => {
    const chunks = chunksOf(Buffer.from(`\r\n--frontier\r\nx: ${'a'.repeat(60_000)}`), 1)

    const read = countReads(chunks)

    assert.ok(read <= 3 * chunks.length, `${read} bytes read of ${chunks.length}`)
  })
})

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')

type Chunk = string | Uint8Array

interface Parsed {
  readonly parts: Part[]
  readonly code?: MultipartErrorCode
  readonly message?: string
}

function parse(...chunks: Chunk[]): Parsed {
  return parseForm(boundary, chunks, {})
}

function parseWithin(limits: MultipartLimits, body: string): Parsed {
  return parseForm(boundary, [body], limits)
}

/** The parts before the end or the error; an unfinished part is marked in its name. */
function parseForm(name: string, chunks: Chunk[], limits: MultipartLimits): Parsed {
  const parts: Part[] = []
  let current: Part | undefined
  const parser = createMultipartParser(
    name,
    {
      part(head) {
        assert.equal(current, undefined, 'a part starts within another')
        current = part(head.name, '', { filename: head.filename })
      },
      data(chunk) {
        assert.ok(current, 'data is outside a part')
        assert.ok(chunk.length > 0, 'a chunk is empty')
        current.data += latin1(chunk)
      },
      partEnd() {
        assert.ok(current, 'a part ends without a start')
        parts.push(current)
        current = undefined
      },
    },
    limits,
  )
  const error = caught(() => {
    for (const chunk of chunks) parser.push(Buffer.from(chunk))
    parser.end()
  })
  if (current) parts.push({ ...current, name: `${current.name} (open)` })
  if (error === undefined) return { parts }
  if (!(error instanceof MultipartError)) throw error
  return { parts, code: error.code, message: error.message }
}

function caught(work: () => void): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  return undefined
}

function chunksOf(bytes: Buffer, size: number): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size))
  return chunks
}

function cut(bytes: Buffer, cuts: number[]): Buffer[] {
  const ends = [...cuts.map((n) => n % (bytes.length + 1)), bytes.length].sort((a, b) => a - b)
  return ends.map((end, n) => bytes.subarray(ends[n - 1] ?? 0, end))
}

/** A name without control characters but line breaks. A sent %22 or \\ is ambiguous. */
const names = fc
  .string({
    unit: fc.oneof(
      {
        weight: 3,
        arbitrary: fc.constantFrom('"', '\\', '\r\n', '%', '2', ';', '=', ' ', 'é'),
      },
      fc.string({ unit: character, minLength: 1, maxLength: 1 }).filter((c) => !/\p{Cc}/u.test(c)),
    ),
    minLength: 1,
    maxLength: 12,
  })
  .filter((name) => !/%(22|0D|0A)|\\(\\|$)/.test(name))

/** The beginning of each boundary that Node chooses. */
const DELIMITER = '\r\n------formdata-undici-0'

/** Bytes with many partial delimiters. */
const contents = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 20 }),
      fc
        .tuple(fc.constantFrom(0, 2), fc.nat(DELIMITER.length))
        .map(([from, to]) => Buffer.from(DELIMITER.slice(from, to))),
    ),
    { maxLength: 8 },
  )
  .map((chunks) => Buffer.concat(chunks))

const entries = fc.record({
  name: names,
  text: names,
  file: fc.option(
    fc.record({
      filename: names,
      type: fc.constantFrom('text/plain', 'text/csv', 'application/octet-stream'),
      data: contents,
    }),
  ),
})

type Entry = typeof entries extends fc.Arbitrary<infer T> ? T : never

function fileOf({ filename, type, data }: NonNullable<Entry['file']>): File {
  return new File([data], filename, { type })
}

function partOf({ name, text, file }: Entry): Part {
  if (!file) return part(name, latin1(Buffer.from(text)))
  return part(name, latin1(file.data), { filename: file.filename })
}

/** The parts that busboy finds: names with browser escapes, types with defaults. */
function parseWithBusboy(contentType: string, body: Buffer): Promise<Part[]> {
  const found: Part[] = []
  const add = (name: string, filename?: string): Part => {
    const next = part(unescapeLikeBrowsers(name), '', {
      filename: filename === undefined ? undefined : unescapeLikeBrowsers(filename),
    })
    found.push(next)
    return next
  }
  const rival = busboy({
    headers: { 'content-type': contentType },
    preservePath: true,
    defParamCharset: 'utf8',
    defCharset: 'latin1',
  })
  rival.on('field', (name, value) => {
    add(name).data = value
  })
  rival.on('file', (name, stream, info) => {
    const file = add(name, info.filename)
    stream.on('data', (chunk: Buffer) => {
      file.data += latin1(chunk)
    })
  })
  return new Promise((resolve, reject) => {
    rival.on('close', () => resolve(found)).on('error', reject)
    rival.end(body)
  })
}

const unescapeLikeBrowsers = (name: string) =>
  name.replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n')

/**
 * Pushes the data of one part, and counts the bytes that Buffer methods read. Patches them by hand:
 * a mock of node:test stores every call, and there are too many.
 */
function countReads(chunks: Buffer[]): number {
  const parser = createMultipartParser(boundary, silent)
  parser.push(Buffer.from(`--frontier\r\n${named}\r\n`))
  const { indexOf, toString: decode } = Buffer.prototype
  let read = 0
  Object.assign(Buffer.prototype, {
    indexOf(this: Buffer, value: Buffer | number, from = 0) {
      const found = indexOf.call(this, value, from)
      read += (found < 0 ? this.length : found + 1) - from
      return found
    },
    toString(this: Buffer, encoding: BufferEncoding, from: number, to: number) {
      read += to - from
      return decode.call(this, encoding, from, to)
    },
  })
  try {
    for (const chunk of chunks) parser.push(chunk)
  } finally {
    Object.assign(Buffer.prototype, { indexOf, toString: decode })
  }
  return read
}
