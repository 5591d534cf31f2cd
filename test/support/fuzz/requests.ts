import { CREDENTIALS, endpointOf } from '../../../conformance/endpoints.ts'
import { conformanceRows } from '../../../conformance/table.ts'
import { createWorld } from '../../../conformance/world.ts'
import { type Operation, operations } from '../openapi/document.ts'
import { exampleOf, operationOf, requestOf } from '../openapi/requests.ts'
import { fc } from '../seeds.ts'
import { createClient, inChunks, type Parts, type Send } from '../server.ts'
import type { World } from './world.ts'

export type Header = readonly [name: string, value: string]

/** A request as data. */
export interface FuzzRequest {
  /** The id of the operation, if there is one. */
  readonly operation: string | undefined
  readonly method: string
  readonly target: string
  readonly headers: readonly Header[]
  /** The bytes, one per character. */
  readonly body: string
  readonly isChunked: boolean
  /** The statuses of the answer, when it is not one that the operation documents. */
  readonly allowed?: readonly number[]
}

const isBodiless = ({ method, body }: FuzzRequest) =>
  body === '' && ['GET', 'HEAD', 'OPTIONS', 'DELETE'].includes(method)

/** The request line and headers. Above about 16 KiB the server answers 431. */
export function headOf(request: FuzzRequest): string {
  const { method, target, headers, body, isChunked } = request
  const framing = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`
  const lines = headers.map(([name, value]) => `${name}: ${value}`)
  const all = ['Host: fuzz', 'Connection: close', ...(isBodiless(request) ? [] : [framing])]
  return `${method} ${target} HTTP/1.1\r\n${[...all, ...lines].join('\r\n')}\r\n\r\n`
}

export function bytesOf(request: FuzzRequest): Buffer {
  const { body, isChunked } = request
  if (!isChunked || isBodiless(request)) return Buffer.from(headOf(request) + body, 'latin1')
  const half = Math.ceil(body.length / 2) || 1
  return Buffer.from(headOf(request) + inChunks(body, half), 'latin1')
}

/**
 * Sends the requests of the conformance rows. Returns requests of every kind that are made from
 * them, and from the examples of the document.
 */
export async function createRequests(
  send: Send,
  { keys, managed, names }: World,
): Promise<fc.Arbitrary<FuzzRequest>> {
  const rows = createWorld(async (endpoint, call) => {
    const { line, parts } = requestOf(endpoint, call)
    const { status, headers, text } = await send(line, parts)
    return { endpoint, status, headers, text, body: JSON.parse(text), request: line }
  }, keys)
  const seeds: FuzzRequest[] = []
  for (const row of conformanceRows()) {
    const { credential: kind } = endpointOf(row.endpoint)
    const right = { publicKey: keys.public_key, accountKey: keys.account_key, token: names.token }
    const credential = { value: right[kind], shown: '' }
    const { line, parts } = requestOf(row.endpoint, { credential, ...(await row.call(rows)) })
    seeds.push(await encode(operationOf(row.endpoint), line, parts))
  }
  for (const operation of operations) {
    const { id, path } = operation
    if (!path.startsWith('/manage/') || id.startsWith('export')) continue // sent in chunks
    const { line, parts } = exampleOf(operation, managed)
    seeds.push(await encode(operation, line, parts))
  }
  const seed = fc.constantFrom(...seeds)
  return fc.oneof(
    { weight: 6, arbitrary: edited(seed, names) },
    { weight: 1, arbitrary: malformed(seed) },
  )
}

/** Makes a request of the test client into data. */
async function encode({ id }: Operation, line: string, parts: Parts): Promise<FuzzRequest> {
  let made: FuzzRequest | undefined
  const client = createClient('http://fuzz', async (request) => {
    const body = Buffer.from(await request.arrayBuffer()).toString('latin1')
    const target = request.url.replace('http://fuzz', '')
    const { method } = request
    const headers = [...request.headers]
    made = { operation: id, method, target, headers, body, isChunked: false }
    return new Response()
  })
  await client(line, parts)
  return made as unknown as FuzzRequest
}

const nested = fc
  .tuple(fc.constantFrom(2, 31, 32, 33, 64, 30_000), fc.constantFrom('[', '{"a":'))
  .map(([depth, open]) => `${open.repeat(depth)}1${(open === '[' ? ']' : '}').repeat(depth)}`)

const long = fc
  .tuple(fc.constantFrom(64, 65, 255, 256, 4_097, 70_000, 270_000), fc.constantFrom('a', 'é'))
  .map(([length, letter]) => `"${letter.repeat(length)}"`)

/** Values of every type, at and beyond every limit, as JSON: it also writes 1e400. */
const wildValue = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      ...['null', 'true', '0', '-1', '1.5', '1e400', '-1e999', '9007199254740993', '1e-400', '499'],
      ...['""', '" "', '"\\u0000"', '"\\ud800"', '"\\udc00a"', '"\\u007f\\n"', '"__proto__"'],
      ...['[]', '[null]', '{}', '[[[]]]', '{"__proto__":{"a":1}}', '{"a":"\\ud800"}', '"4.99"'],
    ),
  },
  { weight: 3, arbitrary: fc.json({ maxDepth: 4 }) },
  { weight: 1, arbitrary: fc.oneof(nested, long) },
)

interface Edit {
  readonly at: number
  readonly cut: number
  readonly put: string
}

const edit: fc.Arbitrary<Edit> = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  cut: fc.constantFrom(0, 0, 1, 2, 20),
  put: fc.constantFrom(
    ...['', '"', '""', ',', ';', '\n', '\r', '\r\n', '\0', '\xff', '\xc3', '=1', ' ', '\r\n--'],
  ),
})

function applied(bytes: string, { at, cut, put }: Edit): string {
  const place = Math.floor(at * bytes.length)
  return bytes.slice(0, place) + put + bytes.slice(place + cut)
}

/** Replaces a member of a JSON object, or adds one. */
function withMember(body: string, place: number, key: string, value: string): string {
  if (!body.startsWith('{') || !body.endsWith('}')) return body
  const object: object = JSON.parse(Buffer.from(body, 'latin1').toString())
  const names = Object.keys(object)
  const name = names[place % (names.length + 1)] ?? key
  const text = JSON.stringify({ ...object, [name]: 'VALUE' }).replace('"VALUE"', () => value)
  return Buffer.from(text).toString('latin1')
}

/** Other credentials, to be sent in place of the right one or beside it. */
const credentialsOf = (names: World['names']) =>
  fc.constantFrom<Header>(
    ...[names.foreign_token, names.expired_token, names.revoked_token, names.unsigned_token].map(
      (token): Header => ['Authorization', `Bearer ${token}`],
    ),
    ['Authorization', `Bearer ${names.account_key}`],
    ['authorization', `Bearer ${names.token}x`],
    ['Authorization', `Bearer ${names.token}, Bearer ${names.token}`],
    ['authorization', `Bearer e${'a'.repeat(9_000)}`],
    ['x-account-key', names.foreign_account_key],
    ['x-account-key', names.revoked_account_key],
    ['X-Public-Project-Key', names.foreign_public_key],
    ['X-Public-Project-Key', names.former_public_key],
    ['X-Public-Project-Key', '__proto__'],
  )

const CREDENTIAL_HEADERS = Object.values(CREDENTIALS).map(({ header }) => String(header))

const header = fc.oneof(
  fc.constantFrom<Header>(
    ['X-Request-Id', 'request-1'],
    ['X-Request-Id', 'a'.repeat(65)],
    ['X-Request-Id', '<script>'],
    ['Accept-Encoding', 'gzip, br'],
    ['Origin', 'https://example.com'],
    ['X-Forwarded-For', '::::, 1.2.3.4'],
    ['X-HTTP-Method-Override', 'DELETE'],
    ['Cookie', 'a=b; __proto__=c'],
    ['Range', 'bytes=0-1'],
    ['__proto__', 'x'],
    ['Long', 'x'.repeat(8_000)],
    ['Content-Encoding', 'gzip'],
    ['Idempotency-Key', 'é\x80'.repeat(100)],
    ['Idempotency-Key', 'x'.repeat(256)],
    ['If-None-Match', '"x", *'],
    ['If-None-Match', '"'.repeat(4_000)],
    ['If-None-Match', ',\t,'],
  ),
  fc.nat().map((n): Header => ['Idempotency-Key', `'; DROP${n}`]),
  fc.string({ maxLength: 40 }).map((value): Header => ['X-Other', value]),
)

const queriesOf = ({ foreign_item_id }: World['names']) =>
  fc.oneof(
    fc.constantFrom(
      ...['?', '?&&', '?=', '?%', '?%zz=%', '?__proto__=x&constructor=y', '?store_id', '??'],
      ...[
        '?store_id=other',
        '?store_id=%00',
        '?store_id=%ff',
        '?STORE_ID=main',
        '?store_id[]=main',
      ],
      ...['?store_id=main&limit=1001', '?store_id=main&limit=-1', '?store_id=main&limit=%D9%A1'],
      `?store_id=main&limit=1&cursor=${foreign_item_id}`,
    ),
    fc.webQueryParameters().map((text) => `?${text}`),
  )

/** A request of a row with some of its parts changed. */
function edited(seed: fc.Arbitrary<FuzzRequest>, names: World['names']): fc.Arbitrary<FuzzRequest> {
  return fc
    .record({
      request: seed,
      member: fc.option(fc.tuple(fc.nat(20), fc.constantFrom('x', '__proto__', ''), wildValue)),
      edits: fc.option(fc.array(edit, { maxLength: 2 }), { freq: 3 }),
      credential: fc.option(fc.tuple(credentialsOf(names), fc.boolean()), { freq: 5 }),
      more: fc.array(header, { maxLength: 2 }),
      query: fc.option(queriesOf(names), { freq: 6 }),
      isHead: fc.boolean(),
      isChunked: fc.boolean(),
    })
    .map(({ request, member, edits, credential, more, query, isHead, isChunked }) => {
      const body = member ? withMember(request.body, ...member) : request.body
      const [other, isBeside] = credential ?? []
      const own = request.headers.filter(
        ([name]) => !other || isBeside || !CREDENTIAL_HEADERS.includes(name),
      )
      return {
        ...request,
        method: isHead && request.method === 'GET' ? 'HEAD' : request.method,
        target: query === null ? request.target : request.target.replace(/\?.*|$/, query),
        headers: [...own, ...(other ? [other] : []), ...more],
        body: (edits ?? []).reduce(applied, body),
        isChunked,
      }
    })
}

const REFUSED = [400, 401, 404, 405, 413, 415, 431]

/** Requests that HTTP forbids or barely allows. */
function malformed(seed: fc.Arbitrary<FuzzRequest>): fc.Arbitrary<FuzzRequest> {
  const changes: readonly (Partial<FuzzRequest> | Header)[] = [
    ...[['X-Bad', 'a\0b'] as const, ['X Bad', 'a'] as const, ['X-Bad', 'a\rb'] as const],
    ...[['Host', 'other'] as const, ['Content-Length', '-1'] as const],
    ...[['Transfer-Encoding', 'gzip'] as const, ['Big', 'x'.repeat(17_000)] as const],
    ...['/a x', '/\x01', 'http://', '*', `/${'x'.repeat(17_000)}`].map((target) => ({ target })),
    { method: 'BREW' },
  ]
  return fc.tuple(seed, fc.constantFrom(...changes)).map(([request, change]) => ({
    ...request,
    ...(Array.isArray(change) ? { headers: [...request.headers, change as Header] } : change),
    operation: undefined,
    // The path of `http://` is `/`, the index of the server.
    allowed: [...('target' in change && change.target === 'http://' ? [200] : []), ...REFUSED],
  }))
}
