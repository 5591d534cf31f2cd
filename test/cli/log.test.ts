import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Duplex, Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { createLogWriter } from '../../cli/log-writer.ts'
import { createIo } from '../support/cli.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { temporaryFolder } from '../support/folder.ts'

const SERVE = ['dist/cli/main.js', 'serve', '--port', '0', '--db', 'memory:']

/** Starts `serve` with its log in a file. `script` is the shell script that runs the command. */
async function serveInto(t: TestContext, log: string, script = 'exec "$0" "$@"') {
  const stderr = openSync(log, 'a')
  const child = spawn('sh', ['-c', script, process.execPath, ...SERVE], {
    stdio: ['ignore', 'pipe', stderr],
  })
  t.after(() => child.kill('SIGKILL'))
  const closed = once(child, 'close').then(([code]) => code as number | null)
  const [line] = await once(createInterface({ input: child.stdout as Readable }), 'line')
  const url = /http:\/\/\S+/.exec(line)?.[0]
  const send = async (id: string) => {
    const answer = await fetch(`${url}/healthz`, { headers: { 'x-request-id': id } })
    assert.equal(answer.status, 200)
  }
  const stop = () => {
    child.kill('SIGTERM')
    return closed
  }
  return { send, stop }
}

test('a server continues when its log cannot be written', async (t) => {
  const { send, stop } = await serveInto(t, '/dev/full')
  for (const id of ['a', 'b', 'c']) await send(id)
  assert.equal(await stop(), 0)
})

test('a log file that was full is continued, with the number of missing lines', async (t) => {
  const log = join(temporaryFolder(t), 'log')
  const { send, stop } = await serveInto(t, log, 'ulimit -f 2; exec "$0" "$@"')
  for (let i = 0; i < 20; i++) await send(`before-${i}`)
  assert.ok(statSync(log).size <= 2048)
  truncateSync(log)
  await send('after')
  await eventuallyHolds(() => assert.match(readFileSync(log, 'utf8'), /"after"/))
  assert.equal(await stop(), 0)

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

test('short and long lines reach a file whole', async (t) => {
  const log = join(temporaryFolder(t), 'log')
  const io = createIo()
  Object.assign(io.stderr, { fd: openSync(log, 'a') })
  const write = createLogWriter(io, String)
  const lines = ['Щ', 'Щ'.repeat(100_000), 'x'.repeat(300_000), 'end']
  for (const line of lines) {
    write(line)
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.equal(readFileSync(log, 'utf8'), lines.map((line) => `${line}\n`).join(''))
})
