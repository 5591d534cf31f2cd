import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openSqliteStorage, TillError } from '../../lib/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import {
  assertProblem,
  importForm,
  serveShop,
  startServer,
  type TestServerOptions,
} from '../support/server.ts'

const LIST = 'GET /api/v1/items?store_id=main'

test('the server is ready while its storage answers, and alive without it', async (t) => {
  const { send, storage } = await startServer(t, { options: { metrics: true } })
  assert.deepEqual((await send('GET /readyz')).json(), { status: 'ok' })
  assert.equal((await send('HEAD /readyz')).text, '')

  const { ping } = storage
  storage.ping = async () => {
    throw new Error('secret name of a host')
  }
  const refused = await send('GET /readyz')
  assertProblem(refused, 503, 'storage_unavailable')
  assert.equal(refused.headers.get('retry-after'), '1')
  assert.ok(!refused.text.includes('secret'))
  assert.equal((await send('GET /healthz')).status, 200)

  const { text } = await send('GET /metrics')
  assert.match(text, /^tillkit_storage_up 0$/m)
  assert.match(text, /^tillkit_storage_answer_seconds [\d.e-]+$/m)

  storage.ping = ping
  assert.equal((await send('GET /readyz')).status, 200)
  assert.match((await send('GET /metrics')).text, /^tillkit_storage_up 1$/m)
})

/** The values of a Prometheus text by name and labels; fails at an invalid line. */
function parseMetrics(text: string): Map<string, number> {
  const metrics = new Map<string, number>()
  let family = ''
  for (const line of text.trimEnd().split('\n')) {
    if (line.startsWith('# HELP ')) continue
    if (line.startsWith('# TYPE ')) {
      assert.match(line, /^# TYPE [a-z_]+ (counter|gauge|histogram)$/)
      family = line.split(' ')[2] ?? ''
      continue
    }
    const [, name = '', value] =
      /^([a-z_]+(?:\{(?:[a-z]+="[^"\\\n]*",?)+\})?) ([\d.e+-]+)$/.exec(line) ?? []
    assert.ok(name.startsWith(family), line)
    assert.ok(Number.isFinite(Number(value)), line)
    assert.ok(!metrics.has(name), `${name} twice`)
    metrics.set(name, Number(value))
  }
  assert.ok(text.endsWith('\n'))
  return metrics
}

/** Starts a shop with metrics. */
async function serveMetered(t: TestContext, { options, ...more }: TestServerOptions = {}) {
  const shop = await serveShop(t, { ...more, options: { metrics: true, ...options } })
  return { ...shop, metrics: async () => parseMetrics((await shop.send('GET /metrics')).text) }
}

test('without the option there are no metrics', async (t) => {
  const { send } = await startServer(t)
  assertProblem(await send('GET /metrics'), 404, 'route_not_found')
})

test('metrics count requests, durations, refused requests and imports', async (t) => {
  const shop = await serveMetered(t, { options: { rateLimit: 8 } })
  const { send, sendRaw, storage, item, token, account_key, account_id, project_id } = shop
  const HEADER = 'transaction_id,sku,purchased_at,status\n'
  const upload = async (status: number, rows: string, fields = {}) => {
    const lines = rows.split(' ').map((row) => `${row.replace(',', ',gold,1700000000,')}\n`)
    const body = importForm(HEADER + lines.join(''), fields)
    assert.equal((await send('POST /api/v1/purchases/import', { token, body })).status, status)
  }

  await send(LIST, { token })
  await send(`GET /api/v1/items/${item.id}`, { token })
  await send('HEAD /api/v1/items/nobody', { token })
  await upload(200, 'T-1,pending T-2,pending', { dry_run: 'true' })
  await upload(200, 'T-1,pending T-2,pending')
  await upload(200, 'T-1,purchased T-2,pending T-3,pending')
  await upload(400, 'T-4,lost')
  storage.openImport = async () => {
    throw new TillError('storage_unavailable', 'The disk is full')
  }
  await upload(503, 'T-5,pending')
  assert.equal((await send(LIST, { token })).status, 429)
  assert.equal((await send('GET /api/v1/items', { token: 'x' })).status, 401)
  for (let i = 0; i < 20; i++) await send(`GET /nowhere-${i}/${token}`)
  await sendRaw('what is this?\r\n\r\n')

  const reply = await send('GET /metrics')
  assert.equal(reply.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  const metrics = parseMetrics(reply.text)
  const requests = [...metrics].filter(([name]) => name.startsWith('tillkit_http_requests_total'))
  const labels = (method: string, route: string, status: number) =>
    `tillkit_http_requests_total{method="${method}",route="${route}",status="${status}"}`
  const IMPORT = '/api/v1/purchases/import'
  assert.deepEqual(Object.fromEntries(requests), {
    [labels('GET', '/api/v1/items', 200)]: 1,
    [labels('GET', '/api/v1/items/:item_id', 200)]: 1,
    [labels('HEAD', '/api/v1/items/:item_id', 404)]: 1,
    [labels('POST', IMPORT, 200)]: 3,
    [labels('POST', IMPORT, 400)]: 1,
    [labels('POST', IMPORT, 503)]: 1,
    [labels('GET', '/api/v1/items', 429)]: 1,
    [labels('GET', '/api/v1/items', 401)]: 1,
    [labels('GET', 'none', 404)]: 20,
    [labels('none', 'none', 400)]: 1,
  })
  const duration = 'tillkit_http_request_duration_seconds'
  const buckets = [...metrics].filter(([name]) => name.includes(`_bucket{route="${IMPORT}"`))
  assert.ok(buckets.every(([, value], index) => value >= (buckets[index - 1]?.[1] ?? 0)))
  assert.deepEqual(buckets.at(-1), [`${duration}_bucket{route="${IMPORT}",le="+Inf"}`, 5])
  assert.equal(metrics.get(`${duration}_count{route="${IMPORT}"}`), 5)
  assert.ok((metrics.get(`${duration}_sum{route="${IMPORT}"}`) ?? 0) > 0)
  const expected = {
    'tillkit_http_requests_in_flight{kind="reads"}': 0,
    'tillkit_http_overloaded_total{kind="uploads"}': 0,
    'tillkit_http_rate_limited_total{by="key"}': 1,
    tillkit_imports_total: 2,
    'tillkit_imports_failed_total{cause="client"}': 1,
    'tillkit_imports_failed_total{cause="server"}': 1,
    'tillkit_import_rows_total{result="added"}': 3,
    'tillkit_import_rows_total{result="skipped"}': 1,
    'tillkit_import_rows_total{result="updated"}': 1,
  }
  for (const [name, value] of Object.entries(expected)) assert.equal(metrics.get(name), value, name)
  const ids = [account_id, project_id, 'gold', 'player']
  for (const secret of [token, account_key, shop.public_key, ...ids]) {
    assert.ok(!reply.text.includes(secret), secret)
  }
})

test('metrics show the version, the open files and the event loop delay', async (t) => {
  const { metrics: read } = await serveMetered(t)
  await read()
  await new Promise((resolve) => setTimeout(resolve, 100))
  const until = performance.now() + 300
  while (performance.now() < until); // blocks the event loop
  await new Promise((resolve) => setTimeout(resolve, 100))

  const metrics = await read()

  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  const build = `tillkit_build_info{version="${version}",node="${process.version}"}`
  assert.equal(metrics.get(build), 1)
  const delay = (percentile: number) =>
    metrics.get(`tillkit_event_loop_delay_seconds{percentile="${percentile}"}`) ?? Number.NaN
  assert.ok(delay(100) > 0.2, `${delay(100)} s`)
  assert.ok(delay(50) <= delay(99) && delay(99) <= delay(100))
  if (process.platform === 'linux') {
    const open = metrics.get('process_open_fds') ?? 0
    assert.ok(open > 3 && open < (metrics.get('process_max_fds') ?? 0), String(open))
  }
})

test('metrics show the size of a database file and its log, and the free disk space', async (t) => {
  const path = join(temporaryFolder(t), 'till.db')
  const server = await serveMetered(t, { storage: await openSqliteStorage(path) })

  const metrics = await server.metrics()

  assert.equal(metrics.get('tillkit_database_bytes'), statSync(path).size)
  assert.equal(metrics.get('tillkit_database_wal_bytes'), statSync(`${path}-wal`).size)
  assert.ok((metrics.get('tillkit_database_free_bytes') ?? 0) > 0)
  for (const name of ['pool_waiting', 'clock_offset_seconds']) {
    assert.ok(!metrics.has(`tillkit_${name}`), name)
  }
})

test('a log line has the client, its account and its project, and no user', async (t) => {
  const shop = await serveShop(t, { options: { trustProxy: true } })
  const { send, log, entryOf, token, account_id, account_key, public_key, project_id } = shop
  const client = '2001:db8::7'
  const json = { user_id: 'player-one' }
  const sent = (id: string) => ({ headers: { 'x-request-id': id, 'x-forwarded-for': client } })

  await send(LIST, { token, ...sent('token') })
  await send('POST /api/v1/identity/auth/init', { public_key, json, ...sent('public') })
  await send('POST /api/v1/items', { account_key, json: {}, ...sent('account') })
  await send(LIST, { token: 'x', ...sent('unknown') })
  await send('GET /healthz', sent('open'))
  const malformed = await shop.sendRaw('what is this?\r\n\r\n')
  const { request_id } = assertProblem(malformed, 400, 'malformed_request')

  const rows: [id: string, expected: object][] = [
    ['token', { client, account_id, project_id }],
    ['public', { client, account_id, project_id }],
    ['account', { client, account_id }],
    ['unknown', { client }],
    ['open', { client }],
    [request_id, { client: '127.0.0.1' }],
  ]
  for (const [id, expected] of rows) {
    const { time, level, method, route, status, ms, request_id, ...rest } = await entryOf(id)
    assert.deepEqual(rest, expected, `${method} ${route} ${status} ${level} ${ms} ${time}`)
    assert.equal(request_id, id)
  }
  const text = JSON.stringify(log)
  for (const secret of [token, account_key, public_key, 'player', 'gold']) {
    assert.ok(!text.includes(secret), secret)
  }
})

test('a list that fails during its answer is cut off and logged as an error', async (t) => {
  const options = { logOnlyErrors: true }
  const { send, entryOf, token, item, storage } = await serveShop(t, { options })
  storage.listItems = async (_store, { after }) => {
    if (after !== undefined) throw new Error('for the log')
    return { items: [item], next: item.id, revision: '' }
  }

  await assert.rejects(send(LIST, { token, headers: { 'x-request-id': 'fails' } }))

  const { status, level, error } = await entryOf('fails')
  assert.deepEqual([status, level], [500, 'error'])
  assert.match(error ?? '', /for the log/)
})
