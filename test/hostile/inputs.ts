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

/** All inputs: headers, JSON, forms, CSV, lists and many connections. */
export const inputs: readonly HostileInput[] = [
  ...headers(),
  ...json(),
  ...forms(),
  ...csvFiles(),
  ...lists(),
  ...crowds(),
]

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

function rawRequest(
  line: string,
  fields: readonly string[],
  body: Buffer = Buffer.alloc(0),
): Buffer {
  const length = body.length > 0 ? [`content-length: ${body.length}`] : []
  const head = [`${line} HTTP/1.1`, 'host: test', 'connection: close', ...length, ...fields]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body])
}

// The server accepts at most 16 KiB of headers.

function headers(): HostileInput[] {
  const get = (
    name: string,
    make: (filling: number) => { line?: string; fields?: readonly string[] },
  ): HostileInput => ({
    name: `header: ${name}`,
    n: 7 * KIB,
    attack: ({ token }, size) => {
      const { line = 'GET /api/v1/items?store_id=main', fields = [] } = make(size)
      return {
        request: rawRequest(line, [`authorization: Bearer ${token}`, ...fields]),
        times: 100,
      }
    },
  })
  const alone = (name: string, field: (size: number) => string): HostileInput => ({
    name: `header: ${name}`,
    n: 7 * KIB,
    attack: (_target, size) => ({
      request: rawRequest('GET /api/v1/items?store_id=main', [field(size)]),
      times: 100,
    }),
  })
  return [
    get('query of many parameters', (size) => ({
      line: `GET /api/v1/items?store_id=main&${fillNumbered('#=&', size)}`,
    })),
    get('query of percent escapes', (size) => ({
      line: `GET /api/v1/items?store_id=${fill('%C3%A9', size)}`,
    })),
    get('path of percent escapes', (size) => ({
      line: `GET /api/v1/items/${fill('%e2%82%ac', size)}`,
    })),
    get('path of slashes', (size) => ({ line: `GET ${fill('/', size)}` })),
    get('long cursor', (size) => ({
      line: `GET /api/v1/items?store_id=main&limit=10&cursor=${fill('x', size)}`,
    })),
    get('many fields', (size) => ({ fields: fillNumbered('x-#: 1|', size).split('|') })),
    get('If-None-Match of many tags', (size) => ({
      fields: [`if-none-match: ${fillNumbered('"#", ', size)}"x"`],
    })),
    get('If-None-Match of commas', (size) => ({ fields: [`if-none-match: ${fill(',', size)}`] })),
    get('X-Forwarded-For of many hops', (size) => ({
      fields: [`x-forwarded-for: ${fill('192.0.2.1, ', size)}192.0.2.1`],
    })),
    get('X-Forwarded-For of colons', (size) => ({
      fields: [`x-forwarded-for: ${fill(':', size)}`],
    })),
    get('long X-Request-Id', (size) => ({ fields: [`x-request-id: ${fill('a', size)}`] })),
    alone('token of dots', (size) => `authorization: Bearer ${fill('.', size)}`),
    alone('token of letters', (size) => `authorization: Bearer e${fill('a', size)}.b.c`),
    alone('token of spaces', (size) => `authorization: Bearer ${fill(' ', size)}x`),
    alone('long account key', (size) => `x-account-key: ${fill('a', size)}`),
    alone(
      'Content-Type with many parameters',
      (size) => `content-type: multipart/form-data${fill('; a=b', size)}`,
    ),
  ]
}

// The server accepts at most 256 KiB of JSON.

function json(): HostileInput[] {
  const routes = {
    init: ({ public_key }: Target) => ({
      line: 'POST /api/v1/identity/auth/init',
      field: `x-public-project-key: ${public_key}`,
    }),
    item: ({ account_key }: Target) => ({
      line: 'POST /api/v1/items',
      field: `x-account-key: ${account_key}`,
    }),
    project: ({ account_key }: Target) => ({
      line: 'POST /api/v1/projects',
      field: `x-account-key: ${account_key}`,
    }),
    store: ({ account_key }: Target) => ({
      line: 'POST /api/v1/stores',
      field: `x-account-key: ${account_key}`,
    }),
    change: ({ token }: Target) => ({
      line: 'PUT /api/v1/projects',
      field: `authorization: Bearer ${token}`,
    }),
  }
  const row = (
    name: string,
    route: keyof typeof routes,
    make: (size: number, target: Target) => string,
    n = 124 * KIB,
  ): HostileInput => ({
    name: `JSON: ${name}`,
    n,
    attack: (target, size) => {
      const { line, field } = routes[route](target)
      const body = Buffer.from(make(size, target), 'latin1')
      return {
        request: rawRequest(line, [field, 'content-type: application/json'], body),
        times: 20,
      }
    },
  })
  const x = (opening: string, unit: string, closing: string) => (size: number) =>
    `{"user_id":"u","x":${opening}${fill(unit, size)}${closing}}`
  const meta = (unit: string, closing: string) => (size: number) =>
    `{"store_id":"main","name":"m","display_name":"M","price":"1","type":"consumable",
      "meta":{"x":[${fill(unit, size)}${closing}]}}`
  return [
    row('array of empty objects', 'init', x('[', '{},', '{}]'), 48 * KIB),
    row('array of empty arrays', 'init', x('[', '[],', '[]]'), 48 * KIB),
    row('array of numbers', 'init', x('[', '1,', '1]'), 31 * KIB),
    row('array of empty strings', 'init', x('[', '"",', '""]'), 48 * KIB),
    row('nested arrays, never closed', 'init', x('', '[', '')),
    row('nested objects, never closed', 'init', x('', '{"a":', '')),
    row('nested arrays, closed', 'init', (size) => {
      const half = size / 2
      return `{"user_id":"u","x":${fill('[', half)}${fill(']', half)}}`
    }),
    row(
      'distinct keys',
      'init',
      (size) => `{"user_id":"u"${fillNumbered(',"k#":0', size)}}`,
      100 * KIB,
    ),
    row('the same key', 'init', (size) => `{"user_id":"u"${fill(',"a":0', size)}}`, 48 * KIB),
    row(
      'keys that are numbers',
      'init',
      (size) => `{"user_id":"u"${fillNumbered(',"#":0', size)}}`,
      92 * KIB,
    ),
    row(
      'keys __proto__',
      'init',
      (size) => `{"user_id":"u"${fill(',"__proto__":{}', size)}}`,
      112 * KIB,
    ),
    row('more values than there may be', 'init', x('[', '{},', '{}]')),
    row('a long string', 'init', x('"', 'a', '"')),
    row('a string of escapes', 'init', x('"', '\\u0061', '"')),
    row('a string of backslashes', 'init', x('"', '\\\\', '"')),
    row('a string of surrogate pairs', 'init', x('"', '\\ud83d\\ude00', '"')),
    row('a string that never ends', 'init', x('"', 'a\\"', '')),
    row('a long number', 'init', x('', '1', '')),
    row('a long exponent', 'init', x('1e', '1', '')),
    row('white space', 'init', x('', ' \n\t', '1')),
    row('malformed UTF-8', 'init', x('"', '\xc3\x28', '"')),
    row('long user_id', 'init', (size) => `{"user_id":"${fill('a', size)}"}`),
    row(
      'device_info with many keys',
      'init',
      (size) => {
        return `{"user_id":"u","device_info":{"platform":1${fillNumbered(',"k#":0', size)}}}`
      },
      100 * KIB,
    ),
    row('meta of objects', 'item', meta('{},', '{}'), 31 * KIB),
    row(
      'meta with many keys',
      'item',
      (size) => {
        const keys = fillNumbered('"k#":0,', size)
        return `{"store_id":"main","name":"m","display_name":"M","price":"1","type":"consumable",
        "meta":{${keys}"k":0}}`
      },
      31 * KIB,
    ),
    row('meta of numbers that are too large', 'item', meta('9007199254740993,', '1')),
    row('meta of malformed strings', 'item', meta('"\\ud800",', '1')),
    row('meta of NUL characters', 'item', meta('"\\u0000",', '1')),
    row('long price', 'item', (size) => {
      return `{"store_id":"main","name":"m","display_name":"M","price":"${fill('1', size)}","type":"consumable"}`
    }),
    row('long name', 'item', (size) => {
      return `{"store_id":"main","name":"${fill('a', size)}-","display_name":"M","price":"1","type":"consumable"}`
    }),
    row(
      'config with many invalid currencies',
      'project',
      (size, { account_id }) => {
        return `{"account_id":"${account_id}","name":"p","bundle_id":"a.b","platform":"web",
        "config":{"allowed_currencies":[${fill('"usd",', size)}"eur"]}}`
      },
      90 * KIB,
    ),
    row('bundle_id of labels', 'project', (size, { account_id }) => {
      return `{"account_id":"${account_id}","name":"p","bundle_id":"${fill('a.', size)}","platform":"web"}`
    }),
    row('long webhook_url', 'change', (size, { project_id }) => {
      return `{"id":"${project_id}","config":{"webhook_url":"https://${fill('a.', size)}"}}`
    }),
    row(
      'store_config with many payment methods',
      'store',
      (size, { project_id }) => {
        return `{"project_id":"${project_id}","store_type":"web",
        "store_config":{"payment_methods":[${fill('0,', size)}0]}}`
      },
      30 * KIB,
    ),
  ]
}

function formRequest({ token }: Target, body: Buffer, boundary = 'x'): Buffer {
  return rawRequest(
    'POST /api/v1/purchases/import',
    [`authorization: Bearer ${token}`, `content-type: multipart/form-data; boundary=${boundary}`],
    body,
  )
}

const STORE_PART = '--x\r\ncontent-disposition: form-data; name="store_id"\r\n\r\nmain\r\n'
const FILE_PART = '--x\r\ncontent-disposition: form-data; name="file"; filename="f.csv"\r\n\r\n'

function forms(): HostileInput[] {
  const row = (name: string, make: (size: number) => string, n = MIB): HostileInput => ({
    name: `form: ${name}`,
    n,
    attack: (target, size) => ({
      request: formRequest(target, Buffer.from(make(size), 'latin1')),
      times: 3,
    }),
  })
  const part = (field: string) => `--x\r\n${field}\r\n\r\ndata\r\n--x--`
  return [
    row('preamble of almost delimiters', (size) => fill('\r\n--y', size)),
    row('file of almost delimiters', (size) => `${FILE_PART}${fill('\r\n--', size)}\r\n--x--`),
    row('file of CR', (size) => `${FILE_PART}${fill('\r', size)}\r\n--x--`),
    row('file that never ends', (size) => `${FILE_PART}${fill('a', size)}`),
    row('many parts', (size) =>
      fill('--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n\r\n', size),
    ),
    row(
      'a field above its size limit',
      (size) =>
        `--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n${fill('a', size)}\r\n--x--`,
    ),
    row('a delimiter line of spaces', (size) => `--x${fill(' ', size)}\r\n`),
    row('a long header line', (size) =>
      part(`content-disposition: form-data; name="${fill('a', size)}"`),
    ),
    row('many header lines', (size) => part(fillNumbered('x-#: a\r\n', size)), 30 * KIB),
    row(
      'many parameters',
      (size) => part(`content-disposition: form-data${fillNumbered('; a#=b', size)}`),
      30 * KIB,
    ),
    row(
      'a parameter full of backslashes',
      (size) => part(`content-disposition: form-data; name="${fill('\\\\', size)}"`),
      30 * KIB,
    ),
    row(
      'an unclosed quote',
      (size) => part(`content-disposition: form-data; name="${fill('a;', size)}`),
      30 * KIB,
    ),
  ]
}

const HEADER = 'transaction_id,sku,purchased_at'
const WIDE_HEADER = `${HEADER},user_id,quantity,price,currency,status,metadata`

function csvFiles(): HostileInput[] {
  const row = (
    name: string,
    make: (size: number) => string,
    { n = MIB, times = 1 } = {},
  ): HostileInput => ({
    name: `CSV: ${name}`,
    n,
    attack: (target, size) => {
      const body = Buffer.from(`${STORE_PART}${FILE_PART}${make(size)}\r\n--x--\r\n`, 'latin1')
      return { request: formRequest(target, body), times }
    },
  })
  const rows = (unit: string) => (size: number) => `${HEADER}\n${fillNumbered(unit, size)}`
  const wide = (unit: string) => (size: number) => `${WIDE_HEADER}\n${fillNumbered(unit, size)}`
  const at = '1700000000'
  const columns = Array.from({ length: 250 }, (_, i) => `c${i}`).join()
  return [
    row('header of one name', (size) => fill('sku,', size), { n: 160 * 1000 }),
    row('header of many names', (size) => fillNumbered('c#,', size)),
    row('header of empty cells', (size) => fill(',', size)),
    row('header of one long cell', (size) => fill('a', size)),
    row('header that is an open quote', (size) => `"${fill('a\n', size)}`),
    row('header of quoted cells', (size) => fill('"a",', size)),
    row('empty lines before the header', (size) => fill('\n', size)),
    row('short rows under a wide header', (size) => `${HEADER},${columns}\n${fill('a\n', size)}`),
    row('empty rows under a wide header', (size) => {
      return `${HEADER},${columns}\n${fill(`${','.repeat(252)}\n`, size)}`
    }),
    row('rows that are too wide', rows(`T#,gold,${at},,,,,,,,,\n`)),
    row('a quote that is never closed', (size) => `${HEADER}\n"${fill('a\n', size)}`, {
      n: 4 * MIB, // a cell of less than 1 MiB takes a shorter path
    }),
    row('quotes in the wrong place', rows(`T#,"gold"x,${at}\n`)),
    row('a cell of doubled quotes', (size) => `${HEADER}\n"${fill('""', size)}",gold,${at}\n`),
    row('cells of doubled quotes', rows(`"""""""",gold,${at}\n`)),
    row('one long cell', (size) => `${HEADER}\n${fill('a', size)},gold,${at}\n`),
    row('line ends only', (size) => `${HEADER}\n${fill('\r\n', size)}`),
    row('carriage returns', (size) => `${HEADER}\n${fill('\r', size)}`),
    row('NUL characters', (size) => `${HEADER}\n${fill('\0', size)}`),
    row('malformed UTF-8 in each row', rows(`T#\xff,gold,${at}\n`)),
    row('UTF-16 of lone surrogates', (size) => `\xff\xfe${fill('\x00\xd8', size)}`),
    row('UTF-16 without line ends', (size) => `\xff\xfe${fill('a\x00', size)}`),
    row('rows in which all is wrong', wide('T#,none,never,u,0,4.99,usd,paid,[1]\n')),
    row('empty rows of the right width', (size) => `${HEADER}\n${fill(',,\n', size)}`),
    row('distinct unknown SKUs', rows(`T#,sku_#,${at}\n`)),
    row('one transaction over and over', rows(`T,gold,${at}\n`)),
    row('one transaction that differs each time', wide(`T,gold,${at},u#,1,1,USD,purchased,\n`)),
    row(
      'one transaction with changing status',
      wide(`T,gold,${at},u,1,1,USD,pending,\nT,gold,${at},u,1,1,USD,purchased,\n`),
    ),
    row('the same header over and over', (size) => `${HEADER}\n${fill(`${HEADER}\n`, size)}`),
    row('rows of spaces', (size) => `${HEADER}\n${fill(' , , \n', size)}`),
    row('long ids', rows(`${'a'.repeat(255)}#,gold,${at}\n`)),
    row('long digits', wide(`T#,gold,${at},u,${'9'.repeat(200)},${'9'.repeat(200)},USD,,\n`)),
    row('long fractions of a second', rows(`T#,gold,2024-01-01T00:00:00.${'1'.repeat(200)}Z\n`)),
    row('metadata of nested arrays', wide(`T#,gold,${at},,,,,,"{""a"":${'['.repeat(2000)}"\n`)),
    row(
      'metadata with many empty objects',
      wide(`T#,gold,${at},,,,,,"{""a"":[${'{},'.repeat(9000)}{}]}"\n`),
      { n: 2 * MIB },
    ),
    row(
      'metadata with one long string',
      wide(`T#,gold,${at},,,,,,"{""a"":""${'a'.repeat(60_000)}""}"\n`),
      { n: 4 * MIB },
    ),
    row(
      'metadata with many keys',
      wide(`T#,gold,${at},,,,,,"{${Array.from({ length: 2000 }, (_, i) => `""k${i}"":0`)}}"\n`),
      { n: 2 * MIB },
    ),
    row('good rows', wide(`T#,gold,${at},u#,1,499,USD,purchased,\n`), { n: 2 * MIB }),
    row('a vendor report with wrong amounts', (size) => {
      const header =
        'Order Number,Order Charged Timestamp,Financial Status,SKU ID,Charged Amount,Currency of Sale'
      return `${header}\n${fillNumbered('GPA.#,never,Charged,none,4.999,US\n', size)}`
    }),
    row(
      'tabs and semicolons',
      (size) => `${HEADER.replaceAll(',', ';')}\n${fill('\t;\t;\t\n', size)}`,
    ),
  ]
}

function lists(): HostileInput[] {
  return [
    {
      name: 'list: all items of a store',
      n: 4_000, // short lists come from the cache
      prepare: (target, size) => target.createItems(`items_${size}`, size),
      attack: ({ token }, size) => ({
        request: rawRequest(`GET /api/v1/items?store_id=items_${size}`, [
          `authorization: Bearer ${token}`,
        ]),
        times: 5,
      }),
    },
    {
      name: 'list: a store of large items',
      n: 200,
      prepare: (target, size) => target.createItems(`large_${size}`, size, 60_000),
      attack: ({ token }, size) => ({
        request: rawRequest(`GET /api/v1/items?store_id=large_${size}`, [
          `authorization: Bearer ${token}`,
        ]),
        times: 3,
      }),
    },
    {
      name: 'list: init of a project with the maximum number of stores',
      n: 124,
      prepare: (target, size) => target.createStores(`stores_${size}`, size),
      attack: (target, size) => ({
        request: rawRequest(
          'POST /api/v1/identity/auth/init',
          [
            `x-public-project-key: ${target.publicKeyOf(`stores_${size}`)}`,
            'content-type: application/json',
          ],
          Buffer.from('{"user_id":"u"}'),
        ),
        times: 20,
      }),
    },
  ]
}

// n is the number of connections.

function crowds(): HostileInput[] {
  const init = ({ public_key }: Target, body: string) =>
    rawRequest(
      'POST /api/v1/identity/auth/init',
      [`x-public-project-key: ${public_key}`, 'content-type: application/json'],
      Buffer.from(body),
    )
  return [
    {
      name: 'crowd: JSON bodies with many empty objects at once',
      n: 250,
      attack: (target, times) => ({
        request: init(target, `{"user_id":"u","x":[${fill('{},', 255 * KIB)}{}]}`),
        times,
        how: 'together',
      }),
    },
    {
      name: 'crowd: JSON bodies with one long string at once',
      n: 250,
      attack: (target, times) => ({
        request: init(target, `{"user_id":"u","x":"${fill('a', 255 * KIB)}"}`),
        times,
        how: 'together',
      }),
    },
    {
      name: 'crowd: requests that never end',
      n: 1_000,
      attack: (_target, times) => ({
        request: Buffer.from('GET /healthz HTTP/1.1\r\nhost: test\r\n\r'),
        times,
        how: 'unread',
      }),
    },
    {
      name: 'crowd: unread answers to a bad file',
      n: 20,
      attack: (target, times) => {
        const padded = `${HEADER},${fill('a', 12 * KIB)}`
        const rows = fill(`never,none,never,\n`, MIB)
        const body = `${STORE_PART}${FILE_PART}${padded}\n${rows}\r\n--x--\r\n`
        return { request: formRequest(target, Buffer.from(body)), times, how: 'unread' }
      },
    },
    {
      name: 'crowd: unread lists of large items',
      n: 50,
      prepare: (target, size) => target.createItems(`unread_${size}`, 400, 60_000),
      attack: ({ token }, size) => ({
        request: rawRequest(`GET /api/v1/items?store_id=unread_${size}`, [
          `authorization: Bearer ${token}`,
        ]),
        times: size,
        how: 'unread',
      }),
    },
    {
      name: 'crowd: pipelined requests without a credential',
      n: 10,
      attack: (_target, times) => ({
        request: Buffer.from('GET /x HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(2_400)),
        times,
        how: 'unread',
      }),
    },
    {
      name: 'crowd: pipelined requests with unread answers',
      n: 2_000,
      attack: ({ token }, size) => {
        const one = `GET /api/v1/items?store_id=main HTTP/1.1\r\nhost: test\r\nauthorization: Bearer ${token}\r\n\r\n`
        return { request: Buffer.from(one.repeat(size)), times: 4, how: 'unread' }
      },
    },
  ]
}
