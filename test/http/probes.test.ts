import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createMemoryStorage, openSqliteStorage, TillError } from '../../lib/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { createGatedStorage } from '../support/gated.ts'
import { assertProblem, importForm, rawRequest, serveShop, startServer } from '../support/server.ts'

const LIST = 'GET /api/v1/items?store_id=main'

test('the server is ready while its storage answers, and alive without it', async (t) => {
  const storage = createMemoryStorage()
  const { send } = await startServer(t, { storage, options: { metrics: true } })
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

test('a stopping server is first not ready and still serves, then accepts no more connections', {
  timeout: 20_000,
}, async (t) => {
  const limits = { drainDelay: 2_000, keepAliveTimeout: 60_000 }
  const storage = createMemoryStorage()
  const { connect, send, stop, withToken } = await serveShop(t, { storage, limits })
  const client = await connect()

  const stopping = stop()
  const refused = await send('GET /readyz')
  assertProblem(refused, 503, 'stopping')
  assert.equal((await send('GET /healthz')).status, 200)
  client.write(rawRequest(LIST, [withToken]))
  const reply = await client.reply()
  assert.deepEqual([reply.status, reply.headers.get('connection')], [200, 'keep-alive'])
  await stopping

  assert.equal(await client.ended, '')
  await assert.rejects(send('GET /healthz'), TypeError)
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

test('without the option there are no metrics', async (t) => {
  const { send } = await startServer(t, { storage: createMemoryStorage() })
  assertProblem(await send('GET /metrics'), 404, 'route_not_found')
})

test('metrics count requests, durations, refused requests and imports', async (t) => {
  const options = { metrics: true, rateLimit: 8 }
  const storage = createMemoryStorage()
  const shop = await serveShop(t, { storage, options })
  const { send, connect, item, token, account_key, account_id, project_id, public_key } = shop
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
  const client = await connect()
  client.write('what is this?\r\n\r\n')
  await client.reply()

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
  for (const secret of [token, account_key, account_id, public_key, project_id, 'gold', 'player']) {
    assert.ok(!reply.text.includes(secret), secret)
  }
})

test('metrics show the version, the open files and the event loop delay', async (t) => {
  const { send } = await startServer(t, {
    storage: createMemoryStorage(),
    options: { metrics: true },
  })
  await send('GET /metrics')
  await new Promise((resolve) => setTimeout(resolve, 100))
  const until = performance.now() + 300
  while (performance.now() < until); // blocks the event loop
  await new Promise((resolve) => setTimeout(resolve, 100))

  const metrics = parseMetrics((await send('GET /metrics')).text)

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
  const storage = await openSqliteStorage(path)
  const { send } = await serveShop(t, { storage, options: { metrics: true } })

  const metrics = parseMetrics((await send('GET /metrics')).text)

  assert.equal(metrics.get('tillkit_database_bytes'), statSync(path).size)
  assert.equal(metrics.get('tillkit_database_wal_bytes'), statSync(`${path}-wal`).size)
  assert.ok((metrics.get('tillkit_database_free_bytes') ?? 0) > 0)
  for (const name of ['pool_waiting', 'clock_offset_seconds']) {
    assert.ok(!metrics.has(`tillkit_${name}`), name)
  }
})

test('metrics show the requests in flight', async (t) => {
  const { storage, entered, open } = createGatedStorage()
  const { send, token } = await serveShop(t, { storage, options: { metrics: true } })
  const reading = send(LIST, { token })
  await entered

  const metrics = parseMetrics((await send('GET /metrics')).text)
  open()
  await reading

  assert.equal(metrics.get('tillkit_http_requests_in_flight{kind="reads"}'), 1)
  assert.equal(metrics.get('tillkit_http_requests_in_flight{kind="writes"}'), 0)
})

test('a log line has the client, its account and its project, and no user', async (t) => {
  const storage = createMemoryStorage()
  const { send, log, entryOf, connect, token, account_id, account_key, public_key, project_id } =
    await serveShop(t, {
      storage,
      options: { trustProxy: true },
    })
  const client = '2001:db8::7'
  const json = { user_id: 'player-one' }
  const sent = (id: string) => ({ headers: { 'x-request-id': id, 'x-forwarded-for': client } })

  await send(LIST, { token, ...sent('token') })
  await send('POST /api/v1/identity/auth/init', { public_key, json, ...sent('public') })
  await send('POST /api/v1/items', { account_key, json: {}, ...sent('account') })
  await send(LIST, { token: 'x', ...sent('unknown') })
  await send('GET /healthz', sent('open'))
  const raw = await connect()
  raw.write('what is this?\r\n\r\n')
  const { request_id } = assertProblem(await raw.reply(), 400, 'malformed_request')

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

test('the cause of an unavailable storage is logged and not sent to the client', async (t) => {
  const storage = createMemoryStorage()
  const { send, entryOf, token } = await serveShop(t, { storage })
  storage.listItems = async () => {
    const fault = new TillError('storage_unavailable', 'The database can not be used right now')
    throw Object.assign(fault, { cause: new Error('connect ECONNREFUSED 192.0.2.7:5432') })
  }

  const reply = await send(LIST, { token, headers: { 'x-request-id': 'away' } })

  assertProblem(reply, 503, 'storage_unavailable')
  assert.doesNotMatch(reply.text, /192/)
  const { status, level, error } = await entryOf('away')
  assert.deepEqual([status, level], [503, 'error'])
  assert.match(error ?? '', /caused by Error: connect ECONNREFUSED 192/)
})

test('a list that fails during its answer is cut off and logged as an error', async (t) => {
  const storage = createMemoryStorage()
  const { send, entryOf, token, item } = await serveShop(t, {
    storage,
    options: { logOnlyErrors: true },
  })
  storage.listItems = async (_store, { after }) => {
    if (after !== undefined) throw new Error('for the log')
    return { items: [item], next: item.id, revision: '' }
  }

  await assert.rejects(send(LIST, { token, headers: { 'x-request-id': 'fails' } }))

  const { status, level, error } = await entryOf('fails')
  assert.deepEqual([status, level], [500, 'error'])
  assert.match(error ?? '', /for the log/)
})
