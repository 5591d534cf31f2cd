// run: runtime
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { logOfServe, serveHere, serveProcess, tillkit, tillkitJson } from '../support/cli.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { temporaryFolder } from '../support/folder.ts'

const SILENT = ['--port', '0', '--no-webhooks']

test('serve prints its URL when it accepts requests, logs all of them, and ends with 0 after SIGTERM', async (t) => {
  const args = [...SILENT, '--db', 'memory:', '--log', 'debug']
  const { child, url, log, closed } = await serveProcess(t, args)
  const ids = Array.from({ length: 200 }, (_, i) => `id-${i}`)
  const answers = await Promise.all(
    ids.map((id) => fetch(`${url}/healthz`, { headers: { 'x-request-id': id } })),
  )
  for (const { status } of answers) assert.equal(status, 200)
  child.kill('SIGTERM')
  assert.equal(await closed, 0)
  const requests = log.map((line) => JSON.parse(line)).filter(({ method }) => method)
  const [{ method, route, status }] = requests
  assert.deepEqual([method, route, status], ['GET', '/healthz', 200])
  assert.deepEqual(requests.map(({ request_id }) => request_id).sort(), ids.sort())
})

test('a server continues when nobody reads its log', async (t) => {
  const { url, child, closed } = await serveProcess(t, [...SILENT, '--db', 'memory:'])
  child.stderr.destroy()
  for (let i = 0; i < 3; i++) assert.equal((await fetch(`${url}/api/v1/items`)).status, 401)
  child.kill('SIGTERM')
  assert.equal(await closed, 0)
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

test('the demo prints working commands, has sales of a year, and prints its keys only once', async (t) => {
  const db = join(temporaryFolder(t), 'till.db')
  const { lines, child, closed } = await serveProcess(t, ['--port', '0', '--demo', '--db', db])
  while (!lines.some((line) => line.includes('filename=purchases.csv'))) {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const isProse = (line: string) => line.endsWith(':')
  const script = lines.slice(lines.indexOf('Start a session:')).filter((each) => !isProse(each))
  const shell = spawn('bash', ['-euc', script.join('\n')])
  let answers = ''
  shell.stdout.on('data', (chunk) => (answers += chunk))
  assert.deepEqual(await once(shell, 'close'), [0, null])
  assert.match(answers, /"items":\[.*gold_100.*"name":"shield".*\{"ok":true\}$/)
  child.kill('SIGINT')
  assert.equal(await closed, 0)
  const { summaries } = await tillkitJson(['purchases', 'summary', '--by', 'month', '--db', db])
  assert.ok(new Set(summaries.map(({ month }: { month: string }) => month)).size >= 12)

  const again = await serveHere(t, [...SILENT, '--demo', '--db', db])
  await eventuallyHolds(() => assert.equal(again.lines.length, 2))
  assert.deepEqual(again.lines, [
    'The database has accounts already: no demo was created',
    `To make another account key: tillkit account keys add --db ${db}`,
  ])
})

test('messages tell of a new database, and of one that other users of the machine may use', async (t) => {
  const db = join(temporaryFolder(t), 'typo.db')
  const create = ['account', 'create', '--name', 'Studio', '--json', '--db']
  assert.equal((await tillkit([...create, db])).stderr, `tillkit: created a new database ${db}\n`)
  assert.equal((await tillkit([...create, db])).stderr, '')

  const said = async (path: string) =>
    (await logOfServe(t, [...SILENT, '--db', path])).map(({ message }) => message)
  assert.ok((await said(`${db}2`)).includes(`Created a new database ${db}2`))
  const open = `Other users of this machine may use ${db}, mode 0640: chmod 600 ${db}`
  assert.ok(!(await said(db)).includes(open))
  if (process.platform === 'win32') return // modes there do not describe other users
  chmodSync(db, 0o640)
  assert.ok((await said(db)).includes(open))
})
