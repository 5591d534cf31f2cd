import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { formatLogLine } from '../../cli/serve/log-format.ts'
import type { LogEntry } from '../../http/index.ts'
import { serveHere, startTillkit } from '../support/cli.ts'
import { character, fc } from '../support/seeds.ts'

// The thread that sends webhooks takes a third of the CPU time of a start.
const FREE = ['--port', '0', '--db', 'memory:', '--no-webhooks']

test('--trust-proxy takes a number, and means 1 without one; CORS origins come from the environment', async (t) => {
  const forwarded = '192.0.2.1, 192.0.2.2, 192.0.2.3'
  for (const [args, client] of [
    [['--trust-proxy', ...FREE], '192.0.2.3'],
    [[...FREE, '--trust-proxy', '2'], '192.0.2.2'],
  ] as const) {
    const env = { TILLKIT_CORS_ORIGIN: 'https://a.example, https://b.example' }
    const { url, log, stop, closed } = await serveHere(t, args, env)
    const origin = 'https://b.example'
    await fetch(`${url}/openapi.json`, { headers: { 'x-forwarded-for': forwarded } })
    const { headers } = await fetch(`${url}/api/v1/items`, { headers: { origin } })
    assert.equal(headers.get('access-control-allow-origin'), origin)
    assert.equal(headers.get('ratelimit'), null)
    stop('SIGTERM')
    await closed
    const line = log.find((each) => each.includes('/openapi.json')) ?? '{}'
    assert.equal(JSON.parse(line).client, client, args.join(' '))
  }
})

test('every setting of serve has its effect', async (t) => {
  const { url, log, stop, closed } = await serveHere(
    t,
    [
      ...FREE,
      ...['--rate-limit', '5', '--rate-limit-address', '7', '--trust-proxy', '--metrics'],
      '--console',
      ...['--cors-origin', 'https://a.example', '--cors-origin', 'https://b.example'],
      ...['--log', 'errors', '--drain-delay', '2', '--keep-alive', '42'],
    ],
    { TILLKIT_CORS_ORIGIN: 'https://c.example' },
  )
  const ask = (origin: string, address: string) =>
    fetch(`${url}/api/v1/items`, { headers: { origin, 'x-forwarded-for': address } })

  for (const letter of ['a', 'b']) {
    const { headers } = await ask(`https://${letter}.example`, '192.0.2.1')
    assert.equal(headers.get('access-control-allow-origin'), `https://${letter}.example`)
  }
  const other = await ask('https://c.example', '192.0.2.2')
  assert.equal(other.headers.get('access-control-allow-origin'), null)
  assert.match(other.headers.get('ratelimit') ?? '', /^"address";r=6;/)
  assert.equal(other.headers.get('keep-alive'), 'timeout=42')
  assert.equal((await fetch(`${url}/metrics`)).status, 200)
  assert.equal((await fetch(`${url}/manage/v1/account`)).status, 401)

  stop('SIGTERM')
  for (let i = 0; i < 200; i++) {
    const { status } = await fetch(`${url}/readyz`)
    if (status === 503) break
    assert.ok(i < 199, 'was ready after SIGTERM')
  }
  assert.equal((await fetch(`${url}/healthz`)).status, 200)
  assert.equal(await closed, 0)
  const statuses = requestsIn(log).map(({ status }) => status)
  assert.deepEqual([...new Set(statuses)], [503])
})

test('--log-format text prints warnings and requests as lines for people', async (t) => {
  const { url, log, stop, closed } = await serveHere(t, [...FREE, '--log-format', 'text'])
  await fetch(`${url}/openapi.json`)
  await fetch(`${url}/nowhere`, { method: 'DELETE' })
  stop('SIGTERM')
  await closed
  const shape = (line: string) =>
    line.replace(/^\d\d:\d\d:\d\d/, 'TIME').replace(/ [\d.]+ ms/, ' N ms')
  const lines = log.map(shape)
  assert.ok(lines.includes('TIME  warn: Secrets are stored unencrypted: see TILLKIT_MASTER_KEY'))
  assert.deepEqual(lines.slice(-3), [
    'TIME  200  GET  /openapi.json  N ms  127.0.0.1',
    'TIME  404  DELETE (unknown path)  N ms  127.0.0.1',
    'TIME  info: tillkit stopped',
  ])
})

test('the log is text on a terminal', async (t) => {
  const { io, finished, stop } = startTillkit(['serve', ...FREE], { columns: 80 })
  t.after(() => stop('SIGTERM'))
  await once(io.stdout, 'data')
  stop('SIGTERM')
  assert.match((await finished).stderr, /^\d\d:\d\d:\d\d {2}info: /)
})

test('a logged fault is indented under its request', () => {
  const entry: LogEntry = {
    time: '2026-01-31T12:00:00.000Z',
    level: 'error',
    method: 'GET',
    route: '/x',
    status: 500,
    ms: 1.5,
    request_id: 'r',
    client: '::1',
    error: 'Error: no\x1b\n    at f',
  }
  assert.deepEqual(formatLogLine(entry, 'text').split('\n'), [
    '12:00:00  500  GET  /x  1.5 ms  ::1',
    '  Error: no\\u001b',
    '      at f',
  ])
})

/** The logged requests, without messages. */
function requestsIn(log: readonly string[]): { status: number; request_id: string }[] {
  return log.map((line) => JSON.parse(line)).filter(({ message }) => message === undefined)
}

test('a JSON line of the log is what JSON.stringify gives', () => {
  const text = fc.string({ unit: character })
  const entries = fc.record(
    {
      time: fc.constant('2026-01-31T23:59:59.999Z'),
      level: fc.constantFrom('debug' as const, 'info' as const, 'error' as const),
      method: fc.constantFrom('GET', 'POST', ''),
      route: fc.option(fc.constant('/api/v1/items/:item_id')),
      status: fc.integer({ min: 200, max: 599 }),
      ms: fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
      request_id: fc.uuid(),
      // Repeated values test the cached parts of a line.
      client: fc.oneof(fc.constant('192.0.2.7'), text),
      account_id: fc.oneof(fc.constantFrom('acc_1', 'acc_2'), text),
      project_id: fc.oneof(fc.constantFrom('prj_1', 'prj_2'), text),
      error: text,
    },
    { requiredKeys: ['time', 'level', 'method', 'route', 'status', 'ms', 'request_id', 'client'] },
  )
  fc.assert(
    fc.property(entries, ({ error, project_id, account_id, ...entry }) => {
      // In the order of `LogEntry`.
      const ordered = {
        ...entry,
        ...(account_id === undefined ? {} : { account_id }),
        ...(project_id === undefined ? {} : { project_id }),
        ...(error === undefined ? {} : { error }),
      }
      assert.equal(formatLogLine(ordered, 'json'), JSON.stringify(ordered))
    }),
  )
})
