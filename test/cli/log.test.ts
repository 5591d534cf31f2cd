import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync, renameSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Duplex, Readable } from 'node:stream'
import { test } from 'node:test'
import { createLogWriter } from '../../cli/serve/log-writer.ts'
import { createEndpointLog } from '../../http/webhooks/endpoint-log.ts'
import { createTill, openSqliteStorage } from '../../lib/index.ts'
import { createIo, serveHere } from '../support/cli.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { temporaryFolder } from '../support/folder.ts'
import { openPostgres, rawPostgres, startPostgres } from '../support/postgres.ts'
import { startReceiver } from '../support/receiver.ts'
import { createShopFile } from '../support/served.ts'
import { insertShops, MAIN, newRow } from '../support/storage/records.ts'
import { createShop } from '../support/till.ts'

const SERVE = ['dist/cli/main.js', 'serve', '--port', '0', '--db', 'memory:', '--log', 'debug']

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const FREE = ['--port', '0', '--no-webhooks']

const entriesOf = (lines: readonly string[]) => lines.map((line) => JSON.parse(line))
const messagesOf = (log: readonly string[]): string[] =>
  entriesOf(log).flatMap(({ message }) => message ?? [])

test('with --log-format json, the start-up lines on stdout are JSON too', async (t) => {
  const args = [...FREE, '--db', 'memory:', '--demo', '--log-format', 'json']
  const { first, lines, stop, closed } = await serveHere(t, args)
  stop('SIGTERM')
  await closed
  const messages = messagesOf([first, ...lines])
  assert.match(messages[0] ?? '', /^tillkit listens on http/)
  assert.match(messages[1] ?? '', /account key +ak_/)
})

test('health checks and scrapes are logged only with --log debug, each start with its version', async (t) => {
  for (const [choice, expected] of [
    ['all', ['/openapi.json']],
    ['debug', ['/healthz', '/readyz', '/metrics', '/openapi.json']],
  ] as const) {
    const args = [...FREE, '--db', 'memory:', '--metrics', '--log', choice]
    const { url, log, stop, closed } = await serveHere(t, args)
    for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json']) {
      assert.equal((await fetch(url + path)).status, 200)
    }
    stop('SIGTERM')
    await closed
    const routes = entriesOf(log).flatMap(({ route }) => route ?? [])
    assert.deepEqual(routes, expected)
    assert.equal(messagesOf(log)[0], `tillkit ${version} started on ${url}`)
    assert.equal(messagesOf(log).at(-1), 'tillkit stopped')
  }
})

test('a repair of the database at the start is logged as a warning', async (t) => {
  const db = await (await startPostgres()).emptySchema(t)
  const storage = await openPostgres(t, db)
  await insertShops(storage)
  await storage.recordPurchase(MAIN, 'rec_1', newRow(2))
  await rawPostgres(t, db)`UPDATE stores SET last_purchase = 0`

  const { log, stop, closed } = await serveHere(t, [...FREE, '--db', db])
  stop('SIGTERM')
  await closed

  const repairs = entriesOf(log).filter(({ message }) => message?.includes('hid purchases'))
  assert.deepEqual(
    repairs.map(({ level }) => level),
    ['warn'],
  )
})

test('an outage of the database is two lines, and its requests are logged without a stack', async (t) => {
  const { db, ...shop } = await createShopFile(t)
  const server = await shop.serveHere()
  const ask = async () => (await fetch(`${server.url}/readyz`)).status
  assert.equal(await ask(), 200)

  renameSync(db, `${db}.away`)
  for (let i = 0; i < 5; i++) assert.equal(await ask(), 503)
  await eventuallyHolds(() => assert.ok(messagesOf(server.log).some(isLost)))
  renameSync(`${db}.away`, db)
  await eventuallyHolds(() => assert.ok(messagesOf(server.log).some(isBack)))

  assert.equal(await ask(), 200)
  const errors = entriesOf(server.log).filter(({ error }) => error !== undefined)
  assert.equal(errors.length, 5)
  for (const { level, error } of errors) {
    assert.equal(level, 'error')
    assert.match(error, /^TillError: .*\ncaused by /)
    assert.doesNotMatch(error, /\n {4}at /)
  }
  assert.equal(messagesOf(server.log).filter((each) => isLost(each) || isBack(each)).length, 2)
})

const isLost = (message: string) => /^The database is lost: .*moved/.test(message)
const isBack = (message: string) => /^The database is back after \d+ s$/.test(message)

test('a webhook that was not delivered is a line, also with the sender in a thread', async (t) => {
  const receiver = await startReceiver(t)
  receiver.answer = (response) => response.writeHead(500).end()
  const db = join(temporaryFolder(t), 'till.db')
  await using till = createTill({ storage: await openSqliteStorage(db) })
  const { account, project } = await createShop(till)
  const config = { webhook_url: `${receiver.url}/secret-path` }
  const { id } = project
  await till.projects.update(account, { id, config })
  const { log } = await serveHere(t, ['--port', '0', '--db', db, '--webhook-allow-private'])

  await till.webhooks.test(account, id)

  await eventuallyHolds(() => assert.ok(log.some((line) => line.includes('failed: status 500'))))
  const { level, message } = entriesOf(log).find((entry) => entry.message?.includes('status 500'))
  const sent = receiver.received[0]?.headers['webhook-id']
  const [endpoint] = (await till.webhooks.list(account)).endpoints
  assert.equal(level, 'warn')
  assert.equal(message, `Attempt 1 to send ${sent} to ${endpoint?.endpoint_id} failed: status 500`)
})

test('a dead host is one warning a minute with a count, and one line when it works again', () => {
  const lines: string[] = []
  let now = 0
  const log = createEndpointLog(
    (level, message) => lines.push(`${level}: ${message}`),
    () => now,
  )
  const messageTo = (endpoint_id: string) => ({
    ...{ account_id: 'acc_1', endpoint_id, sequence: 1, part: 0, attempt: 2 },
    ...{ url: 'https://dead.example/', headers: { 'webhook-id': 'msg_1' }, body: '{}' },
  })
  const failing = messageTo('prj_1')
  log.delivered(failing)
  for (let i = 0; i < 100; i++) log.failed(failing, 'status 500')
  now += 60_000
  for (let i = 0; i < 5; i++) log.failed(failing, 'status 502')
  log.failed(messageTo('prj_2'), 'timeout')
  for (let i = 0; i < 3; i++) log.delivered(failing)
  // It fails again within the minute.
  log.failed(failing, 'status 500')
  log.delivered(failing)
  now += 60_000
  log.failed(failing, 'status 500')

  const failed = 'to prj_1 failed: status'
  assert.deepEqual(lines, [
    `warn: Attempt 2 to send msg_1 ${failed} 500`,
    `warn: Attempt 2 to send msg_1 ${failed} 502; since the last warning, 99 others failed`,
    'warn: Attempt 2 to send msg_1 to prj_2 failed: timeout',
    'info: The endpoint prj_1 works again',
    `warn: Attempt 2 to send msg_1 ${failed} 500; since the last warning, 5 others failed`,
  ])
})

test('a sender with another master key logs that it disables an endpoint, and a restart resumes it', async (t) => {
  const receiver = await startReceiver(t)
  const db = join(temporaryFolder(t), 'till.db')
  const keyOf = (byte: number) => Buffer.alloc(32, byte)
  await using till = createTill({
    storage: await openSqliteStorage(db),
    masterKeys: [keyOf(1), keyOf(2)],
  })
  const { account, project_id: id } = await createShop(till)
  const serveWith = (key: Buffer) => {
    const env = { TILLKIT_MASTER_KEY: key.toString('hex') }
    return serveHere(t, ['--port', '0', '--db', db, '--webhook-allow-private'], env)
  }
  const first = await serveWith(keyOf(2))
  await till.operator.sealSecrets()
  const config = { webhook_url: `${receiver.url}/`, webhook_secret: 'a secret' }
  await till.projects.update(account, { id, config })
  await till.webhooks.test(account, id)
  const reason = `The endpoint ${id} is disabled: no master key decrypts its secret. Its events wait`
  await eventuallyHolds(() => assert.ok(messagesOf(first.log).includes(reason)))
  first.stop('SIGTERM')
  await first.closed
  assert.deepEqual(receiver.received, [])

  const second = await serveWith(keyOf(1))

  await eventuallyHolds(() => assert.ok(receiver.received.length > 0))
  const resumed = `The endpoint ${id} is active again: a master key decrypts its secret`
  await eventuallyHolds(() => assert.ok(messagesOf(second.log).includes(resumed)))
  for (const { headers } of receiver.received) assert.ok(headers['webhook-signature'])
})

test('a log file that was full is continued, with the number of missing lines', async (t) => {
  const log = join(temporaryFolder(t), 'log')
  const script = 'ulimit -f 2; exec "$0" "$@"'
  const child = spawn('sh', ['-c', script, process.execPath, ...SERVE], {
    stdio: ['ignore', 'pipe', openSync(log, 'a')],
  })
  t.after(() => child.kill('SIGKILL'))
  const closed = once(child, 'close')
  const [line] = await once(createInterface({ input: child.stdout as Readable }), 'line')
  const url = /http:\/\/\S+/.exec(line)?.[0]
  const send = (id: string) => fetch(`${url}/healthz`, { headers: { 'x-request-id': id } })
  for (let i = 0; i < 20; i++) await send(`before-${i}`)
  assert.ok(statSync(log).size <= 2048)
  truncateSync(log)
  await send('after')
  await eventuallyHolds(() => assert.match(readFileSync(log, 'utf8'), /"after"/))
  child.kill('SIGTERM')
  assert.deepEqual(await closed, [0, null])

  const [empty, missing, ...rest] = readFileSync(log, 'utf8').trimEnd().split('\n')
  assert.equal(empty, '') // ends the line that was cut
  assert.match(JSON.parse(missing ?? '').message, /^Log lines that may be missing: \d+$/)
  assert.ok(!rest.some((line) => JSON.parse(line).request_id === 'before-15'))
})

test('lines are dropped and counted while the reader of a log is far behind', async () => {
  const io = createIo()
  const write = createLogWriter(io, (lines) => `lost ${lines}`)
  const line = 'x'.repeat(2 ** 20)
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve))
  for (let i = 0; i < 20; i++) {
    write(line)
    await nextTurn()
  }
  assert.ok(io.stderr.writableLength < 12 * 2 ** 20, `${io.stderr.writableLength}`)

  const read: string[] = []
  createInterface({ input: io.stderr as Duplex }).on('line', (each) => read.push(each))
  await eventuallyHolds(() => assert.equal(io.stderr.writableLength, 0))
  write('later')
  await eventuallyHolds(() => assert.equal(read.at(-1), 'later'))
  const whole = read.filter((each) => each === line).length
  assert.equal(read.at(-2), `lost ${20 - whole}`)
})
