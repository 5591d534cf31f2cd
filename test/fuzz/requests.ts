import { type Operation, operations } from '../openapi/document.ts'
import { fc } from '../support/seeds.ts'
import { type Body, bodyOf } from './bodies.ts'
import { form } from './forms.ts'

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

/** Headers, and the statuses they cause if no other part is wrong. */
function part(headers: readonly Header[], ...allowed: number[]): Part {
  return allowed.length > 0 ? { headers, allowed } : { headers }
}

type CredentialName = 'publicKey' | 'accountKey' | 'token' | 'none'

/** The ten endpoints and the probes. */
const ENDPOINTS = operations.filter(
  ({ id, path }) =>
    (path.startsWith('/api/v1/') || /^.(healthz|readyz)$/.test(path)) && id !== 'listOwnPurchases',
)

/** A part of a request. `allowed` is missing when the part does not affect the status. */
interface Part {
  readonly headers: readonly Header[]
  readonly allowed?: readonly number[]
}

const HEADERS = {
  publicKey: 'x-public-project-key',
  accountKey: 'x-account-key',
  token: 'authorization',
} as const

const RIGHT: { readonly [C in CredentialName]: readonly Header[] } = {
  publicKey: [['X-Public-Project-Key', '{{public_key}}']],
  accountKey: [['X-Account-Key', '{{account_key}}']],
  token: [['Authorization', 'Bearer {{token}}']],
  none: [],
}

const FOREIGN: typeof RIGHT = {
  publicKey: [['x-public-project-key', '{{foreign_public_key}}']],
  accountKey: [['x-account-key', '{{foreign_account_key}}']],
  token: [['authorization', 'bearer  {{foreign_token}}']],
  none: [],
}

const garbage = fc.oneof(
  fc.constantFrom(
    ...[
      '',
      ' ',
      'x',
      'Bearer',
      'Bearer ',
      'Basic e',
      'Bearer e.e.e',
      'null',
      '__proto__',
      '{{account_id}}',
    ],
    ...[
      '{{account_key}}x',
      '{{public_key}}=',
      'Bearer {{token}}x',
      'Bearer {{token}}.',
      'Token {{token}}',
    ],
    ...['Bearer {{expired_token}}', 'Bearer {{revoked_token}}', 'Bearer {{unsigned_token}}'],
    ...['{{revoked_account_key}}', '{{former_public_key}}', `Bearer e${'a'.repeat(9_000)}`],
    ...['Bearer {{account_key}}', 'Bearer {{token}}, Bearer {{token}}'],
  ),
  fc.string({ maxLength: 40 }),
)

function credential(of: CredentialName): fc.Arbitrary<Part> {
  if (of === 'none') return fc.constant(part([]))
  const refused = of === 'publicKey' ? 400 : 401
  const others = Object.values(RIGHT).filter((each) => each !== RIGHT[of])
  return fc.oneof(
    { weight: 12, arbitrary: fc.constant(part(RIGHT[of])) },
    {
      weight: 1,
      arbitrary: fc.constant(part(FOREIGN[of], 200, 304, 400, 404, 413, 415)),
    },
    {
      weight: 1,
      arbitrary: fc.constant(part([...RIGHT[of], ...RIGHT[of]], refused)),
    },
    { weight: 1, arbitrary: fc.constant(part(others.flat(), refused)) },
    {
      weight: 2,
      arbitrary: garbage.map((value) => part([[HEADERS[of], value]], refused)),
    },
  )
}

const jsonType: fc.Arbitrary<Part> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .constantFrom('application/json', 'Application/JSON; charset=utf-8', 'application/json ; x="')
      .map((type) => part([['Content-Type', type]])),
  },
  { weight: 1, arbitrary: fc.constant(part([])) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(
        '',
        'text/plain',
        'application/jsonp',
        'multipart/form-data',
        'json',
        '*/*',
        '\xe9',
      )
      .map((type) => part([['content-type', type]], 415)),
  },
  {
    weight: 1,
    arbitrary: fc.constant(part([['Content-Encoding', 'gzip']], 415)),
  },
)

/** Headers that never affect the status, whatever their values. */
const harmless: fc.Arbitrary<readonly Header[]> = fc.array(
  fc.oneof(
    fc.constantFrom<Header>(
      ['X-Request-Id', 'request-{{fresh}}'],
      ['X-Request-Id', 'a'.repeat(65)],
      ['X-Request-Id', ''],
      ['X-Request-Id', '<script>'],
      ['Accept', 'text/html'],
      ['Accept-Encoding', 'gzip, br'],
      ['Origin', 'https://example.com'],
      ['X-Forwarded-For', '::::, 1.2.3.4'],
      ['X-HTTP-Method-Override', 'DELETE'],
      ['Cookie', 'a=b; __proto__=c'],
      ['Range', 'bytes=0-1'],
      ['If-Match', '"x"'],
      ['__proto__', 'x'],
      ['Long', 'x'.repeat(8_000)],
    ),
    fc
      .string({ maxLength: 70 })
      .map((value): Header => ['x-request-id', value.replaceAll('{{', '')]),
    fc.string({ maxLength: 30 }).map((value): Header => ['X-Other', value.replaceAll('{{', '')]),
  ),
  { maxLength: 3 },
)

const idempotency: fc.Arbitrary<Part> = fc.oneof(
  { weight: 4, arbitrary: fc.constant(part([])) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('{{fresh}}', 'é\x80'.repeat(100), '__proto__{{fresh}}', "'; DROP{{fresh}}")
      .map((key) => part([['Idempotency-Key', `${key}{{fresh}}`]])),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('', ' ', 'x'.repeat(256), 'a,b')
      .map((key) => part([['Idempotency-Key', key]], 200, 400)),
  },
  {
    weight: 1,
    arbitrary: fc.constant(
      part(
        [
          ['Idempotency-Key', '1'],
          ['idempotency-key', '2'],
        ],
        400,
      ),
    ),
  },
)

const validators: fc.Arbitrary<Part> = fc.oneof(
  { weight: 4, arbitrary: fc.constant(part([])) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('*', '"x", *', 'W/"x"', '', '"', '"x",,,', '"'.repeat(4_000), ',\t,')
      .map((value) => part([['If-None-Match', value]], 200, 304)),
  },
)

interface Target extends Part {
  readonly target: string
}

const target = (target: string, ...allowed: number[]): Target => ({
  target,
  ...part([], ...allowed),
})

const oddQuery = fc.oneof(
  fc.constantFrom(
    ...['?', '?&&', '?=', '?a=b', '?%', '?%zz=%', '?__proto__=x&constructor=y', '?store_id', '??'],
    ...[
      '?store_id=other',
      '?store_id=sibling',
      '?store_id=%00',
      '?store_id=%ff',
      '?store_id=a%2Fb',
      '?STORE_ID=main',
      '?store_id=main&store_id=nowhere',
    ],
    ...['?store_id[]=main', '?store_id=nowhere&store_id=main', `?store_id=${'m'.repeat(9_000)}`],
    ...['?store_id=main&limit=0', '?store_id=main&limit=1001', '?store_id=main&limit=1e1'],
    ...['?store_id=main&limit=', '?store_id=main&limit=-1', '?store_id=main&limit=%D9%A1'],
    ...['?store_id=main&cursor=', '?store_id=main&cursor=x', '?store_id=main&limit=1&cursor=%00'],
    '?store_id=main&limit=1&cursor={{foreign_item_id}}',
  ),
  fc.webQueryParameters().map((query) => `?${query}`),
)

const targets: { readonly [operation: string]: fc.Arbitrary<Target> } = {
  listItems: fc.oneof(
    {
      weight: 3,
      arbitrary: fc
        .constantFrom(
          ...['?store_id=main', '?store_id=m%61in&x=%'],
          ...['?limit=1&store_id=main', '?store_id=main&limit=1000', '?%73tore_id=main'],
          '?store_id=main&limit=2&cursor={{item_id}}',
        )
        .map((query) => target(`/api/v1/items${query}`)),
    },
    { weight: 2, arbitrary: oddQuery.map((query) => target(`/api/v1/items${query}`, 400)) },
    { weight: 1, arbitrary: fc.constant(target('/api/v1/items', 400)) },
  ),
  getItem: fc.oneof(
    {
      weight: 3,
      arbitrary: fc
        .constantFrom('{{item_id}}', '{{item_id}}?x', '{{item_id}}?store_id=main&limit=x')
        .map((id) => target(`/api/v1/items/${id}`)),
    },
    {
      weight: 2,
      arbitrary: fc
        .constantFrom(
          ...[
            'x',
            '{{foreign_item_id}}',
            '{{sibling_item_id}}',
            '%00',
            '__proto__',
            '%2e%2e',
            '..',
            '{{item_id}}%20',
          ],
          ...['{{item_id}}%00', '%F0%9F%98%80', "'%20OR%201=1--", 'a'.repeat(9_000), '*', '%252F'],
          ...['{{project_id}}', 'itm_', '%e2%80%a8'],
        )
        .map((id) => target(`/api/v1/items/${id}`, 404)),
    },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom('%', '%zz', '%c3', '%ff', '%ed%a0%80', '{{item_id}}%', '%u0041')
        .map((id) => target(`/api/v1/items/${id}`, 400)),
    },
  ),
}

type BodyPart = Part & { readonly body: string }

const noBody: fc.Arbitrary<BodyPart> = fc
  .oneof(
    { weight: 5, arbitrary: fc.constant('') },
    { weight: 1, arbitrary: fc.constantFrom('{}', 'x'.repeat(300_000)) },
  )
  .map((body) => ({ headers: [], body }))

function bodyFor(operation: Operation): fc.Arbitrary<BodyPart> {
  if (!operation.body) return noBody
  if (operation.body.type === 'multipart/form-data') {
    return form.map(({ contentType, ...body }) => {
      const decided = decide(body)
      const allowed = decided.allowed ?? [200]
      return {
        ...decided,
        headers: [['Content-Type', contentType]],
        allowed: contentType.startsWith('multipart/form-data') ? allowed : [415],
      }
    })
  }
  return fc.tuple(bodyOf(operation), jsonType).map(([body, type]) => {
    return { ...decide(body), ...type, allowed: type.allowed ?? decide(body).allowed ?? [200] }
  })
}

const STATUSES = { accepted: [200], refused: [400, 413] } as const

function decide({ bytes, expected }: Body): BodyPart {
  const allowed = expected === undefined ? [200, 400, 413] : STATUSES[expected]
  return { headers: [], body: bytes, allowed }
}

/** A request to an endpoint. A wrong credential alone decides the status. */
function requestTo(operation: Operation): fc.Arbitrary<FuzzRequest> {
  const { id: endpoint, method, path } = operation
  const caller = (operation.scheme ?? 'none') as CredentialName
  const isCreate = method === 'POST' && caller === 'accountKey'
  const isValidated = caller === 'token' && method === 'GET'
  const oneOfMany = fc.option(oddQuery, { freq: 6, nil: '' }).map((query) => target(path + query))
  return fc
    .record({
      caller: credential(caller),
      target: targets[endpoint] ?? oneOfMany,
      body: bodyFor(operation),
      key: isCreate ? idempotency : fc.constant(part([])),
      validator: isValidated ? validators : fc.constant(part([])),
      harmless,
      isHead: method === 'GET' ? fc.boolean() : fc.constant(false),
      isChunked: fc.boolean(),
    })
    .map(({ caller, target, body, key, validator, harmless, isHead, isChunked }) => ({
      endpoint,
      method: isHead ? 'HEAD' : method,
      target: target.target,
      headers: [caller, target, body, key, validator]
        .flatMap(({ headers }) => headers)
        .concat(harmless),
      body: body.body,
      isChunked,
      allowed: caller.allowed ?? together(target, body, key, validator),
    }))
}

/** The statuses when several parts may be wrong: the server may report any of them first. */
function together(...parts: readonly Part[]): readonly number[] {
  const deciding = parts.flatMap(({ allowed }) => (allowed ? [allowed] : []))
  const refusing = deciding.filter((allowed) => !allowed.includes(200))
  if (refusing.length > 0) return [...new Set([...refusing.flat(), ...refusals(deciding)])]
  return deciding.length > 0 ? [...new Set(deciding.flat())] : [200]
}

function refusals(all: readonly (readonly number[])[]): number[] {
  return all.flat().filter((status) => status >= 400)
}

const strays: fc.Arbitrary<FuzzRequest> = fc
  .record({
    kind: fc.constantFrom<[string, number]>(
      ['options', 204],
      ['unknown route', 404],
      ['wrong method', 405],
    ),
    known: fc.constantFrom(...ENDPOINTS.map(({ path }) => path.replace(/\{\w+\}/, 'x'))),
    odd: fc.constantFrom(
      ...[
        '/',
        '//',
        '/api',
        '/api/v1/items/',
        '/api/v1/items/a/b',
        '/API/v1/items',
        '/api/v2/items',
      ],
      ...[
        '/api/v1/stores/',
        '/api//v1/items',
        '/api/v1/%69tems',
        '/../healthz',
        '/healthz/',
        '/.env',
      ],
      ...[
        '/api/v1/items;x',
        '/__proto__',
        '/constructor',
        '/api/v1/items%3Fstore_id=main',
        '/metrics',
      ],
    ),
    method: fc.constantFrom('DELETE', 'PATCH', 'TRACE', 'PROPFIND'),
    headers: harmless,
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

/** Requests that HTTP forbids or barely allows. Usually answered 400 or 431. */
const malformed: fc.Arbitrary<FuzzRequest> = fc
  .tuple(
    requestTo(ENDPOINTS.find(({ id }) => id === 'listItems') as Operation),
    fc.constantFrom<(request: FuzzRequest) => Partial<FuzzRequest>>(
      ({ headers }) => ({ headers: [...headers, ['X-Bad', 'a\0b']] }),
      ({ headers }) => ({ headers: [...headers, ['X Bad', 'a']] }),
      ({ headers }) => ({ headers: [...headers, ['X-Bad', 'a\rb']] }),
      ({ headers }) => ({ headers: [...headers, ['Host', 'other']] }),
      ({ headers }) => ({ headers: [...headers, ['Content-Length', '-1']] }),
      ({ headers }) => ({ headers: [...headers, ['Transfer-Encoding', 'gzip']] }),
      ({ headers }) => ({ headers: [...headers, ['Big', 'x'.repeat(17_000)]] }),
      ({ headers }) => ({
        headers: Array(400)
          .fill(['X-Many', 'x'.repeat(40)])
          .concat(headers),
      }),
      ({ target }) => ({ target: `${target} x` }),
      ({ target }) => ({ target: `${target}\x01` }),
      () => ({ target: 'http://' }),
      () => ({ target: '*' }),
      () => ({ target: `/${'x'.repeat(17_000)}` }),
      () => ({ method: 'BREW' }),
    ),
  )
  .map(([request, breaking]) => ({
    ...request,
    method: 'GET',
    ...breaking(request),
    endpoint: 'unknown route',
    allowed: [400, 404, 405, 431],
  }))

/** Requests of every kind. */
export const request: fc.Arbitrary<FuzzRequest> = fc.oneof(
  ...ENDPOINTS.map((each) => ({ weight: each.scheme ? 4 : 1, arbitrary: requestTo(each) })),
  { weight: 3, arbitrary: strays },
  { weight: 2, arbitrary: malformed },
)
