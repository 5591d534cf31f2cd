import assert from 'node:assert/strict'
import { readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openSqliteStorage } from '../../lib/index.ts'
import { collect } from '../support/collect.ts'
import { temporaryFolder } from '../support/folder.ts'
import {
  assertProblem,
  createSignal,
  importForm,
  rawRequest,
  serveShop,
  type TestServerOptions,
} from '../support/server.ts'

const IMPORT = 'POST /api/v1/purchases/import'
const HEADER = 'transaction_id,sku,purchased_at,user_id,price'

/** A server with a shop and a token for imports. */
async function start(t: TestContext, options?: TestServerOptions) {
  const shop = await serveShop(t, options)
  const { till, account, token } = shop
  const send = (body: FormData, headers = {}) => shop.send(IMPORT, { token, body, headers })
  return {
    ...shop,
    load: (csv: string, fields = {}) => send(importForm(csv, fields)),
    send,
    request: shop.send,
    purchases: () => collect(till.purchases.all(account, { store_id: 'main' })),
  }
}

type Shop = Awaited<ReturnType<typeof start>>

/** A file of valid rows `T-1`, `T-2` and so on. */
function fileOf(count: number, prefix = 'T'): string {
  const rows = Array.from(
    { length: count },
    (_, i) => `${prefix}-${i + 1},gold,2024-03-01T12:00:00Z,player-${i},499\n`,
  )
  return `${HEADER}\n${rows.join('')}`
}

/** Asserts that nothing is left, not even a temporary file, and that the store accepts an import. */
async function assertNothingLeft({ load, purchases }: Shop): Promise<void> {
  assert.deepEqual(await purchases(), [])
  assert.equal(openUploads(), 0)
  const { status, text } = await load(fileOf(1, 'AFTER'))
  assert.equal(status, 200, text)
  assert.equal((await purchases()).length, 1)
}

/** How many uploaded files this process has open; Linux only. */
function openUploads(): number {
  if (process.platform !== 'linux') return 0
  const targets = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return '' // the descriptor of the folder itself
    }
  })
  return targets.filter((target) => /tillkit-[\da-f-]{36}/.test(target)).length
}

/** A multipart body of these parts: name, value and whether it is a file. */
function multipart(parts: readonly (readonly [name: string, value: string])[]): string {
  const written = parts.map(([name, value]) => {
    const file = name === 'file' ? '; filename="p.csv"\r\ncontent-type: text/csv' : ''
    return `--cut\r\ncontent-disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`
  })
  return `${written.join('')}--cut--\r\n`
}

const CUT = 'content-type: multipart/form-data; boundary=cut'

test('an import answers only ok, and all its rows are stored', async (t) => {
  const { load, purchases } = await start(t)

  const { status, text } = await load(fileOf(3))

  assert.deepEqual([status, text], [200, '{"ok":true}'])
  assert.deepEqual(
    (await purchases()).map(({ import_id: _, ...purchase }) => purchase),
    [1, 2, 3].map((number) => ({
      store_id: 'main',
      transaction_id: `T-${number}`,
      sku: 'gold',
      purchased_at: '2024-03-01T12:00:00.000Z',
      user_id: `player-${number - 1}`,
      quantity: 1,
      price: 499,
      currency: 'USD',
      status: 'purchased',
      metadata: {},
    })),
  )
})

test('the parts may have any order, and unknown parts are ignored', async (t) => {
  const orders = [
    ['store_id', 'file'],
    ['file', 'store_id'],
    ['note', 'file', 'dry_run', 'store_id', 'other'],
  ]
  const values: { readonly [name: string]: string } = { store_id: 'main', dry_run: 'false' }
  for (const order of orders) {
    const { send, purchases } = await start(t)
    const form = new FormData()
    for (const name of order) {
      if (name === 'file') form.append('file', new Blob([fileOf(2)]), 'p.csv')
      else form.append(name, values[name] ?? 'x')
    }

    const reply = await send(form, { accept: 'application/json' })

    assert.equal(reply.status, 200, `${order}: ${reply.text}`)
    assert.equal((await purchases()).length, 2)
  }
})

test('a body in chunks of one byte is one upload', async (t) => {
  const { connect, token, purchases } = await start(t)
  const body = multipart([
    ['file', fileOf(2)],
    ['store_id', 'main'],
  ])
  const client = await connect()
  client.socket.setNoDelay(true)

  const length = `content-length: ${body.length}`
  client.write(rawRequest(IMPORT, [`authorization: Bearer ${token}`, CUT, length]))
  for (const byte of body) await new Promise((resolve) => client.socket.write(byte, resolve))

  assert.equal((await client.reply()).text, '{"ok":true}')
  assert.equal((await purchases()).length, 2)
})

test('a UTF-16 file arrives unchanged', async (t) => {
  const { send, purchases } = await start(t)
  const form = new FormData()
  form.append('store_id', 'main')
  form.append('file', new Blob([Buffer.from(`\ufeff${fileOf(2)}`, 'utf16le')]), 'p.csv')

  assert.equal((await send(form)).status, 200)
  assert.equal((await purchases()).length, 2)
})

test('dry_run checks everything and stores nothing', async (t) => {
  const shop = await start(t)
  const good = await shop.load(fileOf(2), { dry_run: 'true' })
  const bad = await shop.load(`${fileOf(2)}T-3,silver,1709294400,,\nT-4,gold,now,,\n`, {
    dry_run: 'true',
  })

  assert.deepEqual([good.status, good.text], [200, '{"ok":true}'])
  assert.equal(assertProblem(bad, 400, 'invalid_purchases').errors?.length, 2)
  await assertNothingLeft(shop)
})

for (const [sent, meant] of [
  ['dryrun', 'dry_run'],
  ['Dry-Run', 'dry_run'],
  ['storeId', 'store_id'],
  ['PRESET', 'preset'],
  ['File', 'file'],
]) {
  test(`a misspelled part ${sent} is refused with the correct name, not ignored`, async (t) => {
    const shop = await start(t)
    const problem = assertProblem(
      await shop.load(fileOf(2), { [sent as string]: 'true' }),
      400,
      'invalid_request',
    )
    assert.deepEqual(problem.errors, [
      { field: sent, code: 'unknown', message: `must be spelled ${meant}` },
    ])
    await assertNothingLeft(shop)
  })
}

for (const dry_run of ['1', 'yes', 'TRUE', '', 'true ']) {
  test(`dry_run=${JSON.stringify(dry_run)} is refused and stores nothing`, async (t) => {
    const shop = await start(t)

    const { errors } = assertProblem(
      await shop.load(fileOf(2), { dry_run }),
      400,
      'invalid_request',
    )

    assert.deepEqual(
      errors?.map(({ field }) => field),
      ['dry_run'],
    )
    await assertNothingLeft(shop)
  })
}

const good = multipart([
  ['store_id', 'main'],
  ['file', fileOf(2)],
])

/** Refused bodies: the reason, the body, its headers, the status and code, the named fields. */
const refused: readonly (readonly [
  what: string,
  body: string | Uint8Array,
  head: string,
  status: number,
  code: string,
  fields?: readonly string[],
])[] = [
  ['no file', multipart([['store_id', 'main']]), CUT, 400, 'invalid_request', ['file']],
  ['no store_id', multipart([['file', fileOf(2)]]), CUT, 400, 'invalid_request', ['store_id']],
  ['no part at all', '--cut--\r\n', CUT, 400, 'invalid_request', ['file', 'store_id']],
  [
    'two files',
    multipart([
      ['file', fileOf(2)],
      ['store_id', 'main'],
      ['file', fileOf(2, 'U')],
    ]),
    CUT,
    400,
    'invalid_request',
    ['file'],
  ],
  [
    'store_id twice',
    multipart([
      ['store_id', 'main'],
      ['file', fileOf(2)],
      ['store_id', 'main'],
    ]),
    CUT,
    400,
    'invalid_request',
    ['store_id'],
  ],
  [
    'a store_id that is not UTF-8',
    Buffer.from(good.replace('main', 'm\xe4in'), 'latin1'),
    CUT,
    400,
    'invalid_request',
    ['store_id'],
  ],
  ['no body', '', CUT, 400, 'malformed_request'],
  ['a truncated body', good.slice(0, -30), CUT, 400, 'malformed_request'],
  ['a body without its last delimiter', good.slice(0, -9), CUT, 400, 'malformed_request'],
  ['another boundary', good, CUT.replace('=cut', '=other'), 400, 'malformed_request'],
  ['no boundary', good, 'content-type: multipart/form-data', 400, 'malformed_request'],
  ['a part without a name', good.replace('; name="store_id"', ''), CUT, 400, 'malformed_request'],
  ['bare line feeds', good.replaceAll('\r\n', '\n'), CUT, 400, 'malformed_request'],
  [
    'JSON instead of a form',
    '{"store_id":"main"}',
    'content-type: application/json',
    415,
    'unsupported_media_type',
  ],
  ['a compressed body', good, `${CUT}\r\ncontent-encoding: gzip`, 415, 'unsupported_media_type'],
  [
    '21 parts',
    multipart(Array.from({ length: 21 }, (_, i) => [`p${i}`, 'x'] as const)),
    CUT,
    400,
    'malformed_request',
  ],
  [
    'a part of 5 KiB that is not the file',
    multipart([
      ['store_id', 'x'.repeat(5 * 1024)],
      ['file', fileOf(2)],
    ]),
    CUT,
    413,
    'body_too_large',
  ],
  [
    'an empty file',
    multipart([
      ['store_id', 'main'],
      ['file', ''],
    ]),
    CUT,
    400,
    'invalid_purchases',
    ['line 1'],
  ],
]

test('an invalid body is refused, and nothing is stored', async (t) => {
  for (const [what, body, head, status, code, fields = []] of refused) {
    await t.test(what, async (t) => {
      const shop = await start(t)
      const client = await shop.connect()
      const length = `content-length: ${Buffer.byteLength(body)}`

      client.write(rawRequest(IMPORT, [`authorization: Bearer ${shop.token}`, head, length]))
      client.write(body)

      const reply = await client.reply()
      const { errors = [] } = assertProblem(reply, status, code)
      const named = errors.map(({ field, line }) => field ?? `line ${line}`)
      assert.deepEqual(named.sort(), [...fields].sort())
      for (const text of [shop.token, 'player-', 'MultipartError', '--cut']) {
        assert.ok(!reply.text.includes(text), `shows ${text}`)
      }
      await assertNothingLeft(shop)
    })
  }
})

test('an upload with two Idempotency-Key headers leaves nothing', async (t) => {
  const shop = await start(t)
  const body = multipart([
    ['store_id', 'main'],
    ['file', fileOf(1)],
  ])
  const client = await shop.connect()
  const twice = ['idempotency-key: a', 'idempotency-key: b']
  const head = [`authorization: Bearer ${shop.token}`, CUT, ...twice]

  client.write(rawRequest(IMPORT, [...head, `content-length: ${body.length}`]) + body)

  assertProblem(await client.reply(), 400, 'malformed_request')
  await assertNothingLeft(shop)
})

test('a client that disconnects during its upload leaves nothing', async (t) => {
  const shop = await start(t)
  const body = multipart([
    ['store_id', 'main'],
    ['file', fileOf(20_000)],
  ])
  // Also after the required parts are complete: the request is not.
  const cuts = [40, 1_000, body.length >> 1, body.length - 5]

  for (const [index, cut] of cuts.entries()) {
    const client = await shop.connect()
    const id = `cut-${index}`
    const head = [`authorization: Bearer ${shop.token}`, CUT, `x-request-id: ${id}`]
    client.write(rawRequest(IMPORT, [...head, `content-length: ${body.length}`]))
    await new Promise((resolve) => client.socket.write(body.slice(0, cut), resolve))
    assert.equal((await shop.request('GET /healthz')).status, 200)
    client.socket.resetAndDestroy()

    const { status, level } = await shop.entryOf(id)
    assert.deepEqual([status, level], [499, 'info'])
  }
  await assertNothingLeft(shop)
})

test('a client that half-closes during its upload leaves nothing', async (t) => {
  const shop = await start(t)
  const client = await shop.connect()
  const head = [`authorization: Bearer ${shop.token}`, CUT, 'x-request-id: ended']

  client.socket.end(rawRequest(IMPORT, [...head, `content-length: ${good.length + 1}`]) + good)

  const { level } = await shop.entryOf('ended')
  assert.equal(level, 'info')
  await assertNothingLeft(shop)
})

test('an upload over the limit is 413, with or without Content-Length', async (t) => {
  const shop = await start(t, { limits: { uploadBytes: 10_000 } })
  const body = multipart([
    ['store_id', 'main'],
    ['file', fileOf(1_000)],
  ])
  const head = [`authorization: Bearer ${shop.token}`, CUT]
  const announced = await shop.connect()
  const chunked = await shop.connect()

  announced.write(rawRequest(IMPORT, [...head, `content-length: ${body.length}`]))
  assertProblem(await announced.reply(), 413, 'body_too_large')
  chunked.write(rawRequest(IMPORT, [...head, 'transfer-encoding: chunked']))
  chunked.write(`${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`)
  assertProblem(await chunked.reply(), 413, 'body_too_large')

  announced.socket.destroy()
  await assertNothingLeft(shop)
})

test('a large file is imported completely', async (t) => {
  const { load, purchases } = await start(t)
  const count = 5_000

  const reply = await load(fileOf(count))

  assert.deepEqual([reply.status, reply.text], [200, '{"ok":true}'])
  const ids = (await purchases()).map(({ transaction_id }) => transaction_id)
  assert.equal(ids.length, count)
  assert.deepEqual([ids[0], ids.at(-1), new Set(ids).size], ['T-1', `T-${count}`, count])
})

test('all bad rows are named at once by line and column, and nothing is stored', async (t) => {
  const shop = await start(t)
  const csv = [
    'Transaction_ID;item;Date;user_id;quantity;price;currency;status;metadata;comment',
    'T-1;gold;2024-03-01T12:00:00Z;u;1;499;USD;purchased;{};fine',
    ';gold;1709294400;u;;;;;;',
    'T-3;silver;1709294400000;u;;;;;;',
    'T-4;gold;2024-03-01 12:00;u;;;;;;',
    'T-5;gold;1709294400;u;0;7.35;usd;paid;[];',
    'T-6;gold;1709294400',
    '"T-7;gold";"17"09294400;u;;;;;;',
    'T-1;gold;2024-03-01T12:00:00Z;other;1;499;USD;;;',
  ]

  const reply = await shop.load(csv.join('\r\n'))

  const { errors = [], detail } = assertProblem(reply, 400, 'invalid_purchases')
  assert.deepEqual(
    errors.map(({ line, column, code }) => [line, column, code]),
    [
      [3, 'Transaction_ID', 'required'],
      [4, 'item', 'unknown_sku'],
      [5, 'Date', 'invalid'],
      [6, 'quantity', 'invalid'],
      [6, 'price', 'invalid'],
      [6, 'currency', 'invalid'],
      [6, 'status', 'invalid'],
      [6, 'metadata', 'invalid'],
      [7, undefined, 'wrong_width'],
      [8, undefined, 'misplaced_quote'],
      [9, 'user_id', 'transaction_conflict'],
    ],
  )
  assert.match(detail, /^11 mistakes/)
  assert.match(errors.find(({ column }) => column === 'price')?.message ?? '', /minor units/)
  for (const value of ['silver', '7.35', 'other', 'comment']) {
    assert.ok(!reply.text.includes(value), `shows ${value}`)
  }
  await assertNothingLeft(shop)
})

test('the first hundred of many errors are named, with the total', async (t) => {
  const shop = await start(t)
  const rows = Array.from({ length: 2_500 }, (_, i) => `T-${i},gold,yesterday,,\n`)

  const reply = await shop.load(`${HEADER}\n${rows.join('')}`)

  const { errors = [], detail } = assertProblem(reply, 400, 'invalid_purchases')
  assert.deepEqual(
    errors.map(({ line }) => line),
    Array.from({ length: 100 }, (_, i) => i + 2),
  )
  assert.match(detail, /2500/)
  await assertNothingLeft(shop)
})

test('each missing part is named', async (t) => {
  const { send } = await start(t)
  const form = new FormData()
  form.append('dry_run', 'true')

  const both = assertProblem(await send(form), 400, 'invalid_request')
  form.append('store_id', 'main')
  const one = assertProblem(await send(form), 400, 'invalid_request')

  assert.equal(both.detail, 'The form has no part file and no part store_id')
  assert.equal(one.detail, 'The form has no part file')
})

test('a file with an unusable header line gets one clear error', async (t) => {
  const shop = await start(t)
  const headers: [header: string, errors: [column: string | undefined, code: string][]][] = [
    [
      'sku,price',
      [
        ['transaction_id', 'missing_column'],
        ['purchased_at', 'missing_column'],
      ],
    ],
    ['order_id,transaction_id,sku,date', [['transaction_id', 'duplicate_column']]],
  ]
  for (const [header, expected] of headers) {
    const reply = await shop.load(`${header}\n${header}\n`)

    const { errors = [] } = assertProblem(reply, 400, 'invalid_purchases')
    assert.deepEqual(
      errors.map(({ line, column, code }) => [line, column, code]),
      expected.map((each) => [1, ...each]),
    )
  }
  await assertNothingLeft(shop)
})

test('a file may be repeated, and a later file may change a status', async (t) => {
  const { load, purchases } = await start(t)
  const row = (status: string, price = 499) =>
    `transaction_id,sku,purchased_at,price,status\nT-1,gold,1709294400,${price},${status}\n`
  const statusOf = async () => (await purchases()).map(({ status }) => status)

  for (const status of ['pending', 'pending', 'purchased', 'pending', 'refunded', 'refunded']) {
    assert.equal((await load(row(status))).status, 200, status)
  }
  assert.deepEqual(await statusOf(), ['refunded'])

  for (const conflict of [row('cancelled'), row('refunded', 500)]) {
    const { errors } = assertProblem(await load(conflict), 400, 'invalid_purchases')
    assert.deepEqual(
      errors?.map(({ line, code }) => [line, code]),
      [[2, 'transaction_conflict']],
    )
  }
  assert.deepEqual(await statusOf(), ['refunded'])
})

/** A storage whose imports report begin and end, and wait for `gate` before each slice. */
async function createWatchedStorage(t: TestContext) {
  const storage = await openSqliteStorage(join(temporaryFolder(t), 'till.db'))
  const { openImport } = storage
  const events: string[] = []
  const gate = { stage: async (_slice: number) => {} }
  storage.openImport = async (store, id) => {
    const opened = await openImport(store, id)
    if (!opened) return undefined
    events.push('begin')
    let slices = 0
    return {
      async stage(rows) {
        await gate.stage(++slices)
        return opened.stage(rows)
      },
      advance: (rows) => opened.advance(rows),
      finish: () => opened.finish(),
      async commit() {
        events.push('end')
        await opened.commit()
      },
      async abort() {
        events.push('end')
        await opened.abort()
      },
      erase: (erasure) => opened.erase(erasure),
    }
  }
  return { storage, events, gate }
}

test('imports into one store run one after another, and all succeed', async (t) => {
  const { storage, events } = await createWatchedStorage(t)
  const { load, purchases } = await start(t, { storage })

  const replies = await Promise.all(['A', 'B', 'C', 'D'].map((prefix) => load(fileOf(500, prefix))))

  assert.deepEqual(
    replies.map(({ text }) => text),
    Array(4).fill('{"ok":true}'),
  )
  assert.deepEqual(events, Array(4).fill(['begin', 'end']).flat())
  const all = await purchases()
  assert.equal(all.length, 2_000)
  assert.equal(new Set(all.map(({ transaction_id }) => transaction_id)).size, 2_000)
})

for (const end of ['succeeds', 'fails'] as const) {
  test(`items are read and created during an import that ${end}`, async (t) => {
    const { storage, gate } = await createWatchedStorage(t)
    const { load, purchases, request, account_key, token } = await start(t, { storage })
    const reached = createSignal()
    const released = createSignal()
    gate.stage = async (slice) => {
      if (slice !== 2) return
      reached.give()
      await released.given
    }
    const importing = load(`${fileOf(5_000)}${end === 'fails' ? 'T-x,gold,never,,\n' : ''}`)
    await reached.given

    const json = {
      store_id: 'main',
      name: 'silver',
      display_name: 'Silver',
      price: '1',
      type: 'consumable',
    }
    const created = await request('POST /api/v1/items', { account_key, json })
    const listed = await request('GET /api/v1/items?store_id=main', { token })
    const seen = await purchases()
    released.give()
    const reply = await importing

    assert.equal(created.status, 200)
    const names = listed.json<{ items: { name: string }[] }>().items.map(({ name }) => name)
    assert.deepEqual(names, ['gold', 'silver'])
    assert.deepEqual(seen, [])
    assert.equal(reply.status, end === 'fails' ? 400 : 200)
    assert.equal((await purchases()).length, end === 'fails' ? 0 : 5_000)
    const after = await request('GET /api/v1/items?store_id=main', { token })
    assert.equal(after.text, listed.text)
  })
}

test('a stopping server finishes an import in flight', async (t) => {
  const { storage, gate } = await createWatchedStorage(t)
  const { load, purchases, stop } = await start(t, { storage })
  const reached = createSignal()
  const released = createSignal()
  gate.stage = async () => {
    reached.give()
    await released.given
  }
  const importing = load(fileOf(2_000))
  await reached.given

  const stopping = stop()
  released.give()
  const reply = await importing
  await stopping

  assert.equal(reply.text, '{"ok":true}')
  assert.equal((await purchases()).length, 2_000)
})

const LAYOUT = {
  columns: { transaction_id: 'Order', sku: 'Article', purchased_at: 'When' },
  date_format: 'DD.MM.YYYY',
  zone: 'Europe/Berlin',
  skip: { Article: [''] },
}
const ORDERS = 'Order,Article,When\n1,gold.1,31.01.2024 10:00\n2,,31.01.2024 10:00\n'
const SKUS = 'vendor_sku,item\ngold.1,gold\n'

test('the parts layout and skus say how to read a file, and a header counts the rows passed over', async (t) => {
  const { load, purchases } = await start(t)
  const layout = JSON.stringify(LAYOUT)

  const { status, text, headers } = await load(ORDERS, { layout, skus: SKUS })

  assert.deepEqual([status, text], [200, '{"ok":true}'])
  assert.equal(headers.get('import-passed-over'), '1')
  const [purchase] = await purchases()
  assert.deepEqual([purchase?.sku, purchase?.purchased_at], ['gold', '2024-01-31T09:00:00.000Z'])
})

test('the part refunds_only advances statuses by the ids alone, and the header counts the other rows', async (t) => {
  const { load, purchases } = await start(t)
  await load(fileOf(2))
  const refunds = 'order_id,status\nT-1,refunded\nT-9,refunded\nT-2,purchased\n'

  const { status, text, headers } = await load(refunds, { refunds_only: 'true' })

  assert.deepEqual([status, text], [200, '{"ok":true}'])
  const counts = ['rows', 'updated', 'passed-over'].map((name) => headers.get(`import-${name}`))
  assert.deepEqual(counts, ['1', '1', '2'])
  const statuses = (await purchases()).map((purchase) => purchase.status)
  assert.deepEqual(statuses, ['refunded', 'purchased'])
})

const reading: readonly [what: string, parts: { [name: string]: string }, string][] = [
  ['a layout that is no JSON', { layout: '{' }, 'layout'],
  ['a layout with a mistake', { layout: '{"columns":{"sku":1}}' }, 'layout.columns.transaction_id'],
  [
    'a layout and a preset',
    { layout: JSON.stringify(LAYOUT), preset: 'stripe_payments' },
    'preset',
  ],
  ['a SKU map with an unknown item', { skus: 'vendor_sku,item\na,silver\n' }, 'skus'],
  ['a misspelled part', { Layout: '{}' }, 'Layout'],
  ['a flag that is no flag', { refunds_only: 'yes' }, 'refunds_only'],
]
for (const [what, parts, field] of reading) {
  test(`${what} is refused, and its part is named`, async (t) => {
    const { load, purchases } = await start(t)

    const reply = await load(fileOf(1), parts)

    const { errors } = assertProblem(reply, 400, 'invalid_request')
    assert.equal(errors?.[0]?.field, field)
    assert.deepEqual(await purchases(), [])
  })
}

test('a layout may have 64 KiB, a SKU map 256 KiB, and any other part 4 KiB', async (t) => {
  const { load } = await start(t)
  const limits = { layout: 64 * 1024, skus: 256 * 1024, other: 4 * 1024 }
  for (const [name, bytes] of Object.entries(limits)) {
    const tooLarge = await load(fileOf(1), { [name]: ' '.repeat(bytes + 1) })
    assertProblem(tooLarge, 413, 'body_too_large')
    const { status } = await load(fileOf(1), { [name]: ' '.repeat(bytes) })
    assert.notEqual(status, 413, name)
  }
})

test('the record of an import has the file name of the form part', async (t) => {
  const { till, account, load } = await start(t)

  const { headers } = await load(fileOf(2))

  const record = await till.imports.get(account, headers.get('import-id') ?? '')
  assert.equal(record.file_name, 'purchases.csv')
  assert.match(record.actor ?? '', /^token:/)
})
