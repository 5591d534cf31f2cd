// run: runtime
import assert from 'node:assert/strict'
import { readdirSync, readlinkSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { collect } from '../support/collect.ts'
import {
  assertProblem,
  FORM_TYPE,
  importForm,
  inChunks,
  rawForm,
  rawRequest,
  serveShop,
  type TestServerOptions,
} from '../support/server.ts'

const IMPORT = 'POST /api/v1/purchases/import'
const HEADER = 'transaction_id,sku,purchased_at,user_id,price'

/** A server with a shop and a token for imports. */
async function start(t: TestContext, options?: TestServerOptions) {
  const shop = await serveShop(t, { storage: 'file', ...options })
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

const KEY = 'idempotency-key: a'

test('an import answers only ok, and its record has the file name of the form part', async (t) => {
  const { till, account, load, purchases } = await start(t)

  const { status, text, headers } = await load(fileOf(3))

  assert.deepEqual([status, text], [200, '{"ok":true}'])
  const stored = (await purchases()).map(({ transaction_id, user_id }) => [transaction_id, user_id])
  assert.deepEqual(stored, [
    ['T-1', 'player-0'],
    ['T-2', 'player-1'],
    ['T-3', 'player-2'],
  ])
  const record = await till.imports.get(account, headers.get('import-id') ?? '')
  assert.equal(record.file_name, 'purchases.csv')
  assert.match(record.actor ?? '', /^token:/)
})

test('an answer has the id of an import only if one was stored', async (t) => {
  const { load } = await start(t)
  const dry = await load(fileOf(3), { dry_run: 'true' })
  const empty = await load(fileOf(0))
  const stored = await load(fileOf(3))
  const ids = [dry, empty, stored].map(({ headers }) => headers.has('import-id'))
  assert.deepEqual(ids, [false, false, true])
})

test('a file in a part of another name is refused with the name of the right part', async (t) => {
  const { send } = await start(t)
  const sendAs = (name: string, bytes: Uint8Array<ArrayBuffer>) => {
    const form = importForm(fileOf(1))
    form.append(name, new Blob([bytes]), 'report.csv')
    return send(form)
  }
  const latin1 = new Uint8Array([0x65, 0xe9])
  const hint = ': send the purchase file as the part file'

  const large = await sendAs('report', new Uint8Array(4097))
  const misread = await sendAs('report', latin1)
  const map = await sendAs('skus', latin1)

  const tooLarge = 'The part report may have at most 4096 bytes'
  assert.equal(assertProblem(large, 413, 'body_too_large').detail, `${tooLarge}${hint}`)
  const notText = (name: string) => `The part ${name} must be text in UTF-8`
  const refused = assertProblem(misread, 400, 'invalid_request')
  assert.equal(refused.detail, `${notText('report')}${hint}`)
  assert.equal(assertProblem(map, 400, 'invalid_request').detail, notText('skus'))
})

test('the parts may have any order, and unknown parts are ignored', async (t) => {
  const { send, purchases } = await start(t)
  const form = importForm(fileOf(2))
  const [store_id, file] = [form.get('store_id') as string, form.get('file') as File]
  for (const order of [
    ['file', 'store_id'],
    ['note', 'file', 'dry_run', 'store_id', 'other'],
  ]) {
    const values: { [name: string]: string | File } = { store_id, file, dry_run: 'false' }
    const ordered = new FormData()
    for (const name of order) ordered.append(name, values[name] ?? 'x')
    const reply = await send(ordered, { accept: 'application/json' })
    assert.equal(reply.status, 200, `${order}: ${reply.text}`)
  }
  assert.equal((await purchases()).length, 2)
})

const file = ['file', fileOf(2)] as const
const store = ['store_id', 'main'] as const
const good = rawForm(store, file)

type Refusal = readonly [
  what: string,
  body: string | Uint8Array,
  status: number,
  code: string,
  fields?: readonly string[],
  head?: string,
]

/** A form with these further parts, which must be refused because of a field. */
const refusedParts = (
  what: string,
  parts: { readonly [name: string]: string },
  field: string,
): Refusal => {
  const body = rawForm(store, file, ...Object.entries(parts))
  return [what, body, 400, 'invalid_request', [field]]
}

const layout = JSON.stringify({
  columns: { transaction_id: 'Order', sku: 'Article', purchased_at: 'When' },
  date_format: 'DD.MM.YYYY',
  zone: 'Europe/Berlin',
  skip: { Article: [''] },
})

const refused: readonly Refusal[] = [
  ['no part at all', '--cut--\r\n', 400, 'invalid_request', ['file', 'store_id']],
  ['two files', rawForm(file, store, file), 400, 'invalid_request', ['file']],
  ['store_id twice', rawForm(store, file, store), 400, 'invalid_request', ['store_id']],
  [
    'a store_id that is not UTF-8',
    Buffer.from(good.replace('main', 'm\xe4in'), 'latin1'),
    400,
    'invalid_request',
    ['store_id'],
  ],
  ...['dryrun', 'Dry-Run', 'storeId', 'File'].map((name) =>
    refusedParts(`the misspelled part ${name}`, { [name]: 'true' }, name),
  ),
  ...['TRUE', ''].map((dry_run) =>
    refusedParts(`dry_run=${JSON.stringify(dry_run)}`, { dry_run }, 'dry_run'),
  ),
  refusedParts('a flag that is no flag', { refunds_only: 'yes' }, 'refunds_only'),
  refusedParts('a layout that is no JSON', { layout: '{' }, 'layout'),
  refusedParts('a layout and a preset', { layout, preset: 'stripe_payments' }, 'preset'),
  refusedParts('a SKU map with an unknown item', { skus: 'vendor_sku,item\na,silver\n' }, 'skus'),
  ['a truncated body', good.slice(0, -30), 400, 'malformed_request'],
  ['another boundary', good, 400, 'malformed_request', [], FORM_TYPE.replace('=cut', '=other')],
  ['no boundary', good, 400, 'malformed_request', [], 'content-type: multipart/form-data'],
  ['a part without a name', good.replace('; name="store_id"', ''), 400, 'malformed_request'],
  ['two idempotency keys', good, 400, 'malformed_request', [], `${FORM_TYPE}\r\n${KEY}\r\n${KEY}`],
  ...Object.entries({ store_id: 4, layout: 64, skus: 256 }).map(
    ([name, kib]): Refusal => [
      `a part ${name} of more than ${kib} KiB`,
      rawForm([name, ' '.repeat(kib * 1024 + 1)], file),
      413,
      'body_too_large',
    ],
  ),
  ['an empty file', rawForm(store, ['file', '']), 400, 'invalid_purchases', ['line 1']],
  [
    'a bad row',
    rawForm(store, ['file', `${fileOf(2)}T-3,silver-coin,1709294400,,\n`]),
    400,
    'invalid_purchases',
    ['line 4 sku'],
  ],
]

test('an invalid body is refused, and nothing is stored', async (t) => {
  const shop = await start(t)
  for (const [what, body, status, code, fields = [], head = FORM_TYPE] of refused) {
    await t.test(what, async () => {
      const length = `content-length: ${Buffer.byteLength(body)}`
      const client = await shop.connect(rawRequest(IMPORT, [shop.withToken, head, length]))
      client.write(body)

      const reply = await client.reply()
      const { errors = [] } = assertProblem(reply, status, code)
      const named = errors.map(
        ({ field, line, column = '' }) => field ?? `line ${line} ${column}`.trim(),
      )
      assert.deepEqual(named.sort(), [...fields].sort())
      for (const text of [shop.token, 'player-', 'silver-coin', 'MultipartError', '--cut']) {
        assert.ok(!reply.text.includes(text), `shows ${text}`)
      }
      assert.deepEqual(await shop.purchases(), [])
      assert.equal(openUploads(), 0)
    })
  }
  await assertNothingLeft(shop)
})

test('a client that disconnects during its upload leaves nothing', async (t) => {
  const shop = await start(t)
  const body = rawForm(store, ['file', fileOf(20_000)])
  // Also after the required parts are complete: the request is not.
  const cuts = [40, 1_000, body.length >> 1, body.length - 5]

  for (const [index, cut] of cuts.entries()) {
    const id = `cut-${index}`
    const head = [
      shop.withToken,
      FORM_TYPE,
      `x-request-id: ${id}`,
      `content-length: ${body.length}`,
    ]
    const client = await shop.connect(rawRequest(IMPORT, head))
    await new Promise((resolve) => client.socket.write(body.slice(0, cut), resolve))
    assert.equal((await shop.request('GET /healthz')).status, 200)
    client.socket.resetAndDestroy()

    const { status, level } = await shop.entryOf(id)
    assert.deepEqual([status, level], [499, 'info'])
  }
  await assertNothingLeft(shop)
})

test('an upload over the limit is 413, with or without Content-Length', async (t) => {
  const shop = await start(t, { limits: { uploadBytes: 10_000 } })
  const body = rawForm(store, ['file', fileOf(1_000)])
  const headOf = (length: string) => rawRequest(IMPORT, [shop.withToken, FORM_TYPE, length])
  const announced = await shop.connect(headOf(`content-length: ${body.length}`))

  assertProblem(await announced.reply(), 413, 'body_too_large')
  const chunked = await shop.sendRaw(headOf('transfer-encoding: chunked') + inChunks(body))
  assertProblem(chunked, 413, 'body_too_large')

  announced.socket.destroy()
  await assertNothingLeft(shop)
})

test('the parts layout and skus say how to read a file, and a header counts the rows passed over', async (t) => {
  const { load, purchases } = await start(t)
  const row = '1,gold.1,31.01.2024 10:00\n'
  const orders = `Order,Article,When\n${row}2,,31.01.2024 10:00\n${row}`

  const reply = await load(orders, { layout, skus: 'vendor_sku,item\ngold.1,gold\n' })

  assert.deepEqual([reply.status, reply.text], [200, '{"ok":true}'])
  const counts = ['import-rows', 'import-passed-over', 'import-repeated']
  assert.deepEqual(
    counts.map((name) => reply.headers.get(name)),
    ['1', '1', '1'],
  )
  const [purchase] = await purchases()
  assert.deepEqual([purchase?.sku, purchase?.purchased_at], ['gold', '2024-01-31T09:00:00.000Z'])
})
