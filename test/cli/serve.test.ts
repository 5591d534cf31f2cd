import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readdirSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  mayRun,
  serveHere,
  serveProcess,
  tillkit,
  tillkitJson,
  tillkitProcess,
} from '../support/cli.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { temporaryFolder } from '../support/folder.ts'

test('serve prints its URL when it accepts requests, and ends with 0 after SIGTERM', async (t) => {
  const args = ['--port', '0', '--db', 'memory:', '--log', 'debug']
  const { child, url, log, closed } = await serveProcess(t, args)
  const answer = await fetch(`${url}/healthz`)
  assert.deepEqual([answer.status, await answer.json()], [200, { status: 'ok' }])
  child.kill('SIGTERM')
  assert.equal(await closed, 0)
  const entries = log.map((line) => JSON.parse(line))
  const { method, route, status, request_id } = entries.find((entry) => entry.method)
  const sent = answer.headers.get('x-request-id')
  assert.deepEqual([method, route, status, request_id], ['GET', '/healthz', 200, sent])
})

test('host and port come from the environment, and an option wins', async (t) => {
  const env = { PORT: '0', HOST: '127.0.0.2', TILLKIT_DB: 'memory:' }
  const { url } = await serveHere(t, ['--no-webhooks'], env)
  assert.match(url, /^http:\/\/127\.0\.0\.2:\d+$/)
  const other = await serveHere(t, ['--no-webhooks', '--host', '127.0.0.1'], env)
  assert.match(other.url, /^http:\/\/127\.0\.0\.1:\d+$/)
})

const SOON = { timeout: 120_000 }

test('npm start ends when the shell of npm ends', SOON, async (t) => {
  // With two commands, no shell replaces itself with the first one. Dash never does.
  const shell = spawn('sh', ['-c', 'node scripts/start.mjs; exit'], {
    detached: true, // its own process group, to end it as a whole
    env: { ...process.env, PORT: '0', TILLKIT_DB: 'memory:' },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  t.after(() => {
    try {
      if (shell.pid) process.kill(-shell.pid, 'SIGKILL')
    } catch {} // the group has ended already
  })
  let printed = ''
  shell.stdout.on('data', (chunk) => (printed += chunk))
  const closed = once(shell.stdout, 'close') // the server inherits it, and has ended when it closes
  while (!printed.includes('filename=purchases.csv')) await once(shell.stdout, 'data')
  const url = /http:\/\/[\w.:]+/.exec(printed)?.[0]
  assert.equal((await fetch(`${url}/healthz`)).status, 200)
  shell.kill('SIGTERM')
  await closed
  await assert.rejects(fetch(`${url}/healthz`))
})

test('a port in use is an error of one line, and creates no demo whose keys nobody sees', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  t.after(() => taken.close())
  await once(taken, 'listening')
  const port = String((taken.address() as AddressInfo).port)
  const db = join(temporaryFolder(t), 'till.db')
  const { code, stdout, stderr } = await tillkit(['serve', '--port', port, '--demo', '--db', db])
  assert.deepEqual([code, stdout], [1, ''])
  assert.deepEqual(await tillkitJson(['account', 'list', '--db', db]), [])
  assert.match(stderr, /^tillkit: .*:\d+: another program uses this address \(EADDRINUSE\)\n$/)
})

test('the CLI and a running server see each other’s changes at once', async (t) => {
  const db = join(temporaryFolder(t), 'till.db')
  const { url } = await serveProcess(t, ['--port', '0', '--db', db])
  const run = (...args: string[]) => tillkitJson([...args, '--db', db])
  const { account_id, account_key } = await run('account', 'create', '--name', 'Studio')
  const headers = { 'x-account-key': account_key, 'content-type': 'application/json' }
  const post = (path: string, body: object) =>
    fetch(`${url}/api/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  const game = { name: 'Game', bundle_id: 'com.example.game', platform: 'web' }
  const made = await post('projects', { account_id, ...game })
  assert.equal(made.status, 200)
  const { id } = (await made.json()) as { id: string }
  const [listed] = await run('project', 'list', '--account', account_id)
  assert.equal(listed.id, id)
  const store = ['--account', account_id, '--store', 'main']
  await run('store', 'create', ...store, '--project', id, '--type', 'web')
  const gold = { store_id: 'main', name: 'gold', display_name: 'Gold', price: '1' }
  assert.equal((await post('items', { ...gold, type: 'consumable' })).status, 200)
  assert.equal((await run('item', 'list', ...store)).length, 1)
})

test('a read-only database is rejected, and no other file is left beside it', async (t) => {
  const folder = temporaryFolder(t)
  const db = join(folder, 'till.db')
  await tillkitJson(['account', 'create', '--name', 'Studio', '--db', db])
  chmodSync(folder, 0o777)
  chmodSync(db, 0o444)
  const uid = process.getuid?.() === 0 ? 65_534 : undefined // root may write any file
  if (uid !== undefined && !mayRun(uid)) return t.skip('another user may not run this program')

  // Not `serve`, which would keep running without the error.
  const refused = await tillkitProcess(['account', 'list', '--db', db], { uid })

  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /this user may not write the file; .* has mode 0444/)
  assert.deepEqual(readdirSync(folder), ['till.db'])
})

test('the demo prints working commands, has sales of a year, and prints its keys only once', async (t) => {
  const db = join(temporaryFolder(t), 'till.db')
  const { lines, child, closed } = await serveProcess(t, ['--port', '0', '--demo', '--db', db])
  while (!lines.some((line) => line.includes('filename=purchases.csv'))) {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const script = lines.slice(lines.indexOf('# start a session')).join('\n')
  const shell = spawn('bash', ['-euc', script])
  let answers = ''
  shell.stdout.on('data', (chunk) => (answers += chunk))
  assert.deepEqual(await once(shell, 'close'), [0, null])
  assert.match(answers, /"items":\[.*gold_100.*"name":"shield".*\{"ok":true\}$/)
  child.kill('SIGINT')
  assert.equal(await closed, 0)
  const months = await tillkitJson(['purchases', 'summary', '--by', 'month', '--db', db])
  assert.ok(new Set(months.map(({ month }: { month: string }) => month)).size >= 12)

  const again = await serveProcess(t, ['--port', '0', '--demo', '--db', db])
  await eventuallyHolds(() => assert.equal(again.lines.length, 2))
  assert.deepEqual(again.lines, [
    'The database has accounts already: no demo was created',
    'tillkit account keys add makes another account key',
  ])
})

const SILENT = ['--port', '0', '--no-webhooks']

test('serve warns of a database that other users of the machine may use', async (t) => {
  if (process.platform === 'win32') return t.skip('modes there do not describe other users')
  const db = join(temporaryFolder(t), 'till.db')
  await tillkitJson(['account', 'create', '--name', 'Studio', '--db', db])
  const warned = async () => {
    const { stop, log, closed } = await serveHere(t, [...SILENT, '--db', db])
    stop('SIGTERM')
    await closed
    const messages = log.map((line) => JSON.parse(line).message)
    return messages.filter((message) => message.includes('chmod'))
  }
  assert.deepEqual(await warned(), [])
  chmodSync(db, 0o640)
  const message = `Other users of this machine may use ${db}, mode 0640: chmod 600 ${db}`
  assert.deepEqual(await warned(), [message])
})

test('a message tells of a new database', async (t) => {
  const db = join(temporaryFolder(t), 'typo.db')
  const create = ['account', 'create', '--name', 'Studio', '--json', '--db']
  assert.equal((await tillkit([...create, db])).stderr, `tillkit: created a new database ${db}\n`)
  assert.equal((await tillkit([...create, db])).stderr, '')

  for (const [path, times] of [
    [`${db}2`, 1],
    [db, 0],
  ] as const) {
    const { stop, log, closed } = await serveHere(t, [...SILENT, '--db', path])
    stop('SIGTERM')
    await closed
    const messages = log.map((line) => JSON.parse(line).message)
    assert.equal(messages.filter((each) => each === `Created a new database ${path}`).length, times)
  }
})
