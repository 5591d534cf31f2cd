import type { Target } from './target.ts'

/** A request and the number of times that it is sent. */
export interface Attack {
  readonly request: Buffer
  readonly times: number
  /**
   * `in turn` (the default): on two connections, one request after another. `together`: each on its
   * own connection, with the last bytes of all at the same moment. `unread`: like `together`, but
   * the client reads no response for a second.
   */
  readonly how?: 'in turn' | 'together' | 'unread'
}

/** One kind of hostile input. It is sent at size n / 2 and at size 2n. */
export interface HostileInput {
  readonly name: string
  /** An even number, in the unit that the input grows by. */
  readonly n: number
  /** Prepares the database for a size, before the server starts. */
  readonly prepare?: (target: Target, size: number) => Promise<void>
  readonly attack: (target: Target, size: number) => Attack
}

const KIB = 1024
const MIB = 1024 ** 2

/** Repeats the unit up to `size` bytes. */
function fill(unit: string, size: number): string {
  return unit.repeat(Math.floor(size / unit.length))
}

/** Repeats the unit with a number in place of each `#`, so that no two copies are equal. */
function fillNumbered(unit: string, size: number): string {
  const units: string[] = []
  for (let length = 0, i = 0; ; i++) {
    const next = unit.replaceAll('#', String(1_000_000 + i))
    length += next.length
    if (length > size) return units.join('')
    units.push(next)
  }
}

function rawRequest(line: string, fields: readonly string[], text = ''): Buffer {
  const body = Buffer.from(text, 'latin1')
  const length = body.length > 0 ? [`content-length: ${body.length}`] : []
  const head = [`${line} HTTP/1.1`, 'host: test', 'connection: close', ...length, ...fields]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body])
}

const bearer = ({ token }: Target) => `authorization: Bearer ${token}`
const list = (target: Target, store_id: string) =>
  rawRequest(`GET /api/v1/items?store_id=${store_id}`, [bearer(target)])

/** Rows of one kind: a name, the text of a size, and the number n. */
type Rows = readonly (readonly [name: string, make: (size: number) => string, n?: number])[]

// The server accepts at most 16 KiB of headers.

const LINES: Rows = [
  ['query of many parameters', (size) => `/items?store_id=main&${fillNumbered('#=&', size)}`],
  ['path of percent escapes', (size) => `/items/${fill('%e2%82%ac', size)}`],
  ['long cursor', (size) => `/items?store_id=main&limit=10&cursor=${fill('x', size)}`],
]

const FIELDS: Rows = [
  ['many fields', (size) => fillNumbered('x-#: 1\r\n', size).slice(0, -2)],
  ['If-None-Match of many tags', (size) => `if-none-match: ${fillNumbered('"#", ', size)}"x"`],
  ['X-Forwarded-For of many hops', (size) => `x-forwarded-for: ${fill('192.0.2.1, ', size)}x`],
  ['token of dots', (size) => `authorization: Bearer ${fill('.', size)}`],
  ['Content-Type with many parameters', (size) => `content-type: text/csv${fill('; a=b', size)}`],
]

const headers = [
  ...LINES.map(([name, make]) => [name, (size: number) => [make(size), ''] as const] as const),
  ...FIELDS.map(([name, make]) => {
    return [name, (size: number) => ['/items?store_id=main', make(size)] as const] as const
  }),
].map(([name, make]): HostileInput => {
  const attack: HostileInput['attack'] = (target, size) => {
    const [path, field] = make(size)
    const own = field.startsWith('authorization') ? [] : [bearer(target)]
    const fields = [...own, ...(field ? [field] : [])]
    return { request: rawRequest(`GET /api/v1${path}`, fields), times: 100 }
  }
  return { name: `header: ${name}`, n: 7 * KIB, attack }
})

// The server accepts at most 256 KiB of JSON.

const field = (start: string, unit: string, end: string) => (size: number) =>
  `{"user_id":"u","x":${start}${fill(unit, size)}${end}}`
const ITEM = '"store_id":"main","name":"m","display_name":"M","price":"1","type":"consumable"'
const meta = (unit: string, end: string) => (size: number) =>
  `{${ITEM},"meta":{"x":[${fill(unit, size)}${end}]}}`

const SESSIONS: Rows = [
  ['array of empty objects', field('[', '{},', '{}]'), 48 * KIB],
  ['array of numbers', field('[', '1,', '1]'), 31 * KIB],
  ['nested arrays, never closed', field('', '[', '')],
  ['nested arrays', (size) => `{"x":${fill('[', size / 2)}${fill(']', size / 2)}}`],
  ['distinct keys', (size) => `{"user_id":"u"${fillNumbered(',"k#":0', size)}}`, 100 * KIB],
  ['a string of escapes', field('"', '\\u0061', '"')],
  ['a long number', field('', '1', '')],
  ['malformed UTF-8', field('"', '\xc3\x28', '"')],
]

const ITEMS: Rows = [
  ['meta of objects', meta('{},', '{}'), 31 * KIB],
  ['meta of numbers that are too large', meta('9007199254740993,', '1')],
  ['meta of malformed strings', meta('"\\ud800",', '1')],
]

const PROJECTS: Rows = [
  ['many invalid currencies', (size) => `"config":{"allowed_currencies":[${fill('0,', size)}0]}`],
  ['bundle_id of labels', (size) => `"bundle_id":"${fill('a.', size)}"`],
]

type Route = readonly [rows: Rows, line: string, credential: (target: Target) => string]

const json = (
  [
    [SESSIONS, 'identity/auth/init', ({ public_key }) => `x-public-project-key: ${public_key}`],
    [ITEMS, 'items', ({ account_key }) => `x-account-key: ${account_key}`],
    [PROJECTS, 'projects', ({ account_key }) => `x-account-key: ${account_key}`],
  ] as readonly Route[]
).flatMap(([rows, path, credential]) =>
  rows.map(([name, make, n = 124 * KIB]): HostileInput => {
    const attack: HostileInput['attack'] = (target, size) => {
      const text = make(size)
      const body = text.startsWith('{') ? text : `{"account_id":"${target.account_id}",${text}}`
      const fields = [credential(target), 'content-type: application/json']
      return { request: rawRequest(`POST /api/v1/${path}`, fields, body), times: 20 }
    }
    return { name: `JSON: ${name}`, n, attack }
  }),
)

function formRequest(target: Target, body: string): Buffer {
  const fields = [bearer(target), 'content-type: multipart/form-data; boundary=x']
  return rawRequest('POST /api/v1/purchases/import', fields, body)
}

const STORE_PART = '--x\r\ncontent-disposition: form-data; name="store_id"\r\n\r\nmain\r\n'
const FILE_PART = '--x\r\ncontent-disposition: form-data; name="file"; filename="f.csv"\r\n\r\n'
const part = (field: string) => `--x\r\n${field}\r\n\r\ndata\r\n--x--`
const NAMED = 'content-disposition: form-data; name="'

const FORMS: Rows = [
  ['file of almost delimiters', (size) => `${FILE_PART}${fill('\r\n--', size)}\r\n--x--`],
  ['file that never ends', (size) => `${FILE_PART}${fill('a', size)}`],
  ['many parts', (size) => fill(`--x\r\n${NAMED}a"\r\n\r\n\r\n`, size)],
  ['a long header line', (size) => part(`${NAMED}${fill('a', size)}"`)],
  ['many header lines', (size) => part(fillNumbered('x-#: a\r\n', size)), 30 * KIB],
  ['a parameter full of backslashes', (size) => part(`${NAMED}${fill('\\\\', size)}"`), 30 * KIB],
]

const HEADER = 'transaction_id,sku,purchased_at'
const WIDE_HEADER = `${HEADER},user_id,quantity,price,currency,status,metadata`
const rows = (unit: string) => (size: number) => `${HEADER}\n${fillNumbered(unit, size)}`
const wide = (unit: string) => (size: number) => `${WIDE_HEADER}\n${fillNumbered(unit, size)}`
const AT = '1700000000'
const SALE = `T,gold,${AT},u,1,1,USD`

const FILES: Rows = [
  ['header of many names', (size) => fillNumbered('c#,', size)],
  [
    'short rows under a wide header',
    (size) => `${HEADER}${',c'.repeat(250)}\n${fill('a\n', size)}`,
  ],
  // A cell of less than 1 MiB takes a shorter path.
  ['a quote that is never closed', (size) => `${HEADER}\n"${fill('a\n', size)}`, 4 * MIB],
  ['a cell of doubled quotes', (size) => `${HEADER}\n"${fill('""', size)}",gold,${AT}\n`],
  ['one long cell', (size) => `${HEADER}\n${fill('a', size)},gold,${AT}\n`],
  ['rows in which all is wrong', wide('T#,none,never,u,0,4.99,usd,paid,[1]\n')],
  ['malformed UTF-8 in each row', rows(`T#\xff,gold,${AT}\n`)],
  ['distinct unknown SKUs', rows(`T#,sku_#,${AT}\n`)],
  ['one transaction over and over', rows(`T,gold,${AT}\n`)],
  ['a status that changes', wide(`${SALE},pending,\n${SALE},purchased,\n`)],
  ['metadata of nested arrays', wide(`T#,gold,${AT},,,,,,"{""a"":${'['.repeat(2000)}"\n`)],
  [
    'metadata of objects',
    wide(`T#,gold,${AT},,,,,,"{""a"":[${'{},'.repeat(9000)}{}]}"\n`),
    2 * MIB,
  ],
  ['good rows', wide(`T#,gold,${AT},u#,1,499,USD,purchased,\n`), 2 * MIB],
]

const uploads = [
  ...FORMS.map(([name, make, n = MIB]) => ({ name: `form: ${name}`, make, n, times: 3 })),
  ...FILES.map(([name, text, n = MIB]) => {
    const make = (size: number) => `${STORE_PART}${FILE_PART}${text(size)}\r\n--x--\r\n`
    return { name: `CSV: ${name}`, make, n, times: 1 }
  }),
].map(({ name, make, n, times }): HostileInput => {
  return {
    name,
    n,
    attack: (target, size) => ({ request: formRequest(target, make(size)), times }),
  }
})

const init = (public_key: string, body: string) =>
  rawRequest(
    'POST /api/v1/identity/auth/init',
    [`x-public-project-key: ${public_key}`, 'content-type: application/json'],
    body,
  )

const lists: readonly HostileInput[] = [
  {
    name: 'list: all items of a store',
    n: 4_000, // short lists come from the cache
    prepare: (target, size) => target.createItems(`items_${size}`, size),
    attack: (target, size) => ({ request: list(target, `items_${size}`), times: 5 }),
  },
  {
    name: 'list: a store of large items',
    n: 200,
    prepare: (target, size) => target.createItems(`large_${size}`, size, 60_000),
    attack: (target, size) => ({ request: list(target, `large_${size}`), times: 3 }),
  },
  {
    name: 'list: init of a project with the maximum number of stores',
    n: 124,
    prepare: (target, size) => target.createStores(`stores_${size}`, size),
    attack: (target, size) => {
      const public_key = target.publicKeyOf(`stores_${size}`)
      return { request: init(public_key, '{"user_id":"u"}'), times: 20 }
    },
  },
]

/** n is the number of connections. */
const crowds: readonly HostileInput[] = [
  {
    name: 'crowd: JSON bodies with many empty objects at once',
    n: 250,
    attack: ({ public_key }, times) => {
      const body = `{"user_id":"u","x":[${fill('{},', 255 * KIB)}{}]}`
      return { request: init(public_key, body), times, how: 'together' }
    },
  },
  {
    name: 'crowd: requests that never end',
    n: 1_000,
    attack: (_target, times) => {
      const request = Buffer.from('GET /healthz HTTP/1.1\r\nhost: test\r\n\r')
      return { request, times, how: 'unread' }
    },
  },
  {
    name: 'crowd: unread answers to a bad file',
    n: 20,
    attack: (target, times) => {
      const text = `${HEADER},${fill('a', 12 * KIB)}\n${fill(`never,none,never,\n`, MIB)}`
      const body = `${STORE_PART}${FILE_PART}${text}\r\n--x--\r\n`
      return { request: formRequest(target, body), times, how: 'unread' }
    },
  },
  {
    name: 'crowd: unread lists of large items',
    n: 50,
    prepare: (target, size) => target.createItems(`unread_${size}`, 400, 60_000),
    attack: (target, size) => {
      return { request: list(target, `unread_${size}`), times: size, how: 'unread' }
    },
  },
  {
    name: 'crowd: pipelined requests with unread answers',
    n: 2_000,
    attack: (target, size) => {
      const one = `GET /api/v1/items?store_id=main HTTP/1.1\r\nhost: test\r\n${bearer(target)}\r\n\r\n`
      return { request: Buffer.from(one.repeat(size)), times: 4, how: 'unread' }
    },
  },
]

/** All inputs: headers, JSON, forms, CSV, lists and many connections. */
export const inputs = [...headers, ...json, ...uploads, ...lists, ...crowds]
