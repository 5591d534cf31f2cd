import type { Call, Send } from '../../cli/conformance/client.ts'
import { CREDENTIALS, endpointOf } from '../../cli/conformance/endpoints.ts'
import { conformanceRows } from '../../cli/conformance/table.ts'
import { createWorld } from '../../cli/conformance/world.ts'
import { operations } from '../openapi/document.ts'
import { fc } from '../support/seeds.ts'
import { exchange } from './exchange.ts'
import type { World } from './world.ts'

export type Header = readonly [name: string, value: string]

/** A request as data. `world.fill` replaces names in double braces before it is sent. */
export interface FuzzRequest {
  /** The id of the operation, or what the request is otherwise. */
  readonly endpoint: string
  readonly method: string
  readonly target: string
  readonly headers: readonly Header[]
  /** The bytes, one per character. */
  readonly body: string
  readonly isChunked: boolean
  /** The statuses that the response may have. */
  readonly allowed: readonly number[]
}

const ANY = [200, 304, 400, 401, 404, 413, 415]

/** Sends the requests of the conformance rows, and returns requests of every kind made from them. */
export async function createRequests(
  url: string,
  world: World,
): Promise<fc.Arbitrary<FuzzRequest>> {
  const { keys } = world
  const send: Send = async (endpoint, call) => {
    const { status, headers, body } = await exchange(url, requestOf(endpoint, call))
    const text = body.toString()
    return {
      ...{ endpoint, status, headers: new Headers([...headers]), text, request: '' },
      body: JSON.parse(text),
    }
  }
  const rows = createWorld(send, keys)
  const seeds: FuzzRequest[] = []
  for (const row of conformanceRows()) {
    const { credential } = endpointOf(row.endpoint)
    const right = { publicKey: keys.public_key, accountKey: keys.account_key }
    const value = credential === 'token' ? await rows.token() : right[credential]
    seeds.push(
      requestOf(row.endpoint, { credential: { value, shown: '' }, ...(await row.call(rows)) }),
    )
  }
  const seed = fc.constantFrom(...seeds)
  return fc.oneof(
    { weight: 6, arbitrary: edited(seed) },
    { weight: 1, arbitrary: strays },
    { weight: 1, arbitrary: malformed(seed) },
  )
}

function requestOf(number: number, call: Call): FuzzRequest {
  const { method, path, credential, bodyType } = endpointOf(number)
  const { header, prefix } = CREDENTIALS[credential]
  const { json, text = json === undefined ? '' : JSON.stringify(json), form } = call
  const type = form ? 'multipart/form-data; boundary=frontier' : 'application/json'
  return {
    endpoint: operations.find((each) => each.method === method && each.path === path)?.id ?? '',
    method,
    target: path.replace('{item_id}', call.item_id ?? '') + (call.query ?? ''),
    headers: [
      ...(bodyType ? ([['Content-Type', type]] as const) : []),
      ...(call.credential ? ([[header, prefix + call.credential.value]] as const) : []),
    ],
    body: form ? formOf(form) : Buffer.from(text).toString('latin1'),
    isChunked: false,
    allowed: ANY,
  }
}

function formOf(parts: { readonly [name: string]: string | undefined }): string {
  const texts = Object.entries(parts).map(([name, value]) => {
    const file = name === 'file' ? '; filename="a.csv"\r\nContent-Type: text/csv' : ''
    return `Content-Disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`
  })
  return `--frontier\r\n${texts.join('--frontier\r\n')}--frontier--\r\n`
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
    ...['', '"', '""', ',', ';', '\n', '\r', '\r\n', '\0', '\xff', '\xc3', '=1', ' ', '--frontier'],
  ),
})

function applied(bytes: string, { at, cut, put }: Edit): string {
  const place = Math.floor(at * bytes.length)
  return bytes.slice(0, place) + put + bytes.slice(place + cut)
}

/** Replaces a member of a JSON object, or adds one. */
function withMember(body: string, place: number, key: string, value: string): string {
  if (!body.startsWith('{')) return body
  try {
    const members = Object.entries(JSON.parse(Buffer.from(body, 'latin1').toString()))
    const [name] = members[place % (members.length + 1)] ?? [key]
    const texts = members.filter(([each]) => each !== name).map((each) => JSON.stringify(each))
    const others = texts.map((text) => text.slice(1, -1).replace('",', '":'))
    const all = [...others, `${JSON.stringify(name)}:${value}`]
    return Buffer.from(`{${all}}`).toString('latin1')
  } catch {
    return body
  }
}

const FOREIGN = [
  ...['foreign_token', 'expired_token', 'revoked_token', 'unsigned_token', 'account_key'],
].map((name): Header => ['Authorization', `Bearer {{${name}}}`])

/** Another credential in place of the right one, or beside it. */
const credential = fc.constantFrom<Header>(
  ...FOREIGN,
  ['authorization', 'Bearer {{token}}x'],
  ['Authorization', 'Bearer {{token}}, Bearer {{token}}'],
  ['authorization', `Bearer e${'a'.repeat(9_000)}`],
  ['x-account-key', '{{foreign_account_key}}'],
  ['x-account-key', '{{revoked_account_key}}'],
  ['X-Public-Project-Key', '{{foreign_public_key}}'],
  ['X-Public-Project-Key', '{{former_public_key}}'],
  ['X-Public-Project-Key', '__proto__'],
)

const header = fc.oneof(
  fc.constantFrom<Header>(
    ['X-Request-Id', 'request-{{fresh}}'],
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
    ['Idempotency-Key', "'; DROP{{fresh}}"],
    ['Idempotency-Key', 'é\x80'.repeat(100)],
    ['Idempotency-Key', 'x'.repeat(256)],
    ['If-None-Match', '"x", *'],
    ['If-None-Match', '"'.repeat(4_000)],
    ['If-None-Match', ',\t,'],
  ),
  fc.string({ maxLength: 40 }).map((value): Header => ['X-Other', value.replaceAll('{{', '')]),
)

const query = fc.oneof(
  fc.constantFrom(
    ...['?', '?&&', '?=', '?%', '?%zz=%', '?__proto__=x&constructor=y', '?store_id', '??'],
    ...['?store_id=other', '?store_id=%00', '?store_id=%ff', '?STORE_ID=main', '?store_id[]=main'],
    ...['?store_id=main&limit=1001', '?store_id=main&limit=-1', '?store_id=main&limit=%D9%A1'],
    '?store_id=main&limit=1&cursor={{foreign_item_id}}',
  ),
  fc.webQueryParameters().map((text) => `?${text}`),
)

/** A request of a row with some of its parts changed. */
function edited(seed: fc.Arbitrary<FuzzRequest>): fc.Arbitrary<FuzzRequest> {
  return fc
    .record({
      request: seed,
      member: fc.option(fc.tuple(fc.nat(20), fc.constantFrom('x', '__proto__', ''), wildValue)),
      edits: fc.option(fc.array(edit, { maxLength: 2 }), { freq: 3 }),
      credential: fc.option(fc.tuple(credential, fc.boolean()), { freq: 5 }),
      more: fc.array(header, { maxLength: 2 }),
      query: fc.option(query, { freq: 6 }),
      isHead: fc.boolean(),
      isChunked: fc.boolean(),
    })
    .map(({ request, member, edits, credential, more, query, isHead, isChunked }) => {
      const body = member ? withMember(request.body, ...member) : request.body
      const [other, isBeside] = credential ?? []
      const own = other && !isBeside ? request.headers.slice(0, -1) : request.headers
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

const ENDPOINTS = operations.filter(({ path }) => path.startsWith('/api/v1/'))

const strays: fc.Arbitrary<FuzzRequest> = fc
  .record({
    kind: fc.constantFrom<[string, number]>(
      ['options', 204],
      ['unknown route', 404],
      ['wrong method', 405],
    ),
    known: fc.constantFrom(...ENDPOINTS.map(({ path }) => path.replace(/\{\w+\}/, 'x'))),
    odd: fc.constantFrom(
      ...['/', '//', '/api/v1/items/', '/API/v1/items', '/api//v1/items', '/api/v1/%69tems'],
      ...['/../healthz', '/.env', '/api/v1/items;x', '/__proto__', '/api/v1/items%3Fstore_id=main'],
    ),
    method: fc.constantFrom('DELETE', 'PATCH', 'TRACE', 'PROPFIND'),
    headers: fc.array(header, { maxLength: 1 }),
    body: fc.constantFrom('', '{}'),
    isChunked: fc.boolean(),
  })
  .map(({ kind: [endpoint, status], known, odd, method, ...rest }) => ({
    ...rest,
    endpoint,
    method: endpoint === 'options' ? 'OPTIONS' : method,
    target: endpoint === 'unknown route' ? odd : known,
    allowed: [status],
  }))

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
    endpoint: 'unknown route',
    allowed: [400, 401, 404, 405, 413, 415, 431],
  }))
}
