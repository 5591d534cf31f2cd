import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { tillkit } from '../support/cli.ts'
import { ANSWER, type Change, check, checkText, onSuccess, start } from '../support/conformance.ts'
import { TLS_CERTIFICATE, TLS_KEY } from '../support/tls.ts'

test('after a request without an answer, the other checks of the endpoint are not run', async (t) => {
  // Long enough for the other endpoints on a busy machine.
  const { report, titles } = await check(t, { silent: 3 }, ['--only', '3', '--timeout', '5'])
  assert.deepEqual(titles('failed'), [`3: ${ANSWER}`])
  assert.deepEqual(titles('passed'), [])
  const [first, second] = report.checks
  assert.equal(first?.got, 'no answer in 5 s')
  assert.equal(second?.reason, 'endpoint 3 does not answer')
})

test('an answer is read only up to 8 MiB', async (t) => {
  const change = onSuccess((reply) => {
    reply.text = 'x'.repeat(9 * 1024 ** 2)
  }, 1)
  const { report } = await check(t, change, ['--only', '1'])
  assert.equal(report.checks[0]?.got, 'an answer of more than 8388608 bytes')
})

test('checks that need a record of a broken endpoint are not run', async (t) => {
  const change = onSuccess(({ json }) => void delete json.store_id, 10)
  const { report, titles } = await check(t, change, ['--only', '5,10'])
  assert.ok(titles('failed').every((title) => title.startsWith('10: ')))
  assert.ok(titles('not_run').includes(`5: ${ANSWER}`))
  const { reason } = report.checks.find(({ outcome }) => outcome === 'not_run') ?? {}
  assert.equal(reason, 'needs store_id of endpoint 10, which answered 200')
  assert.equal(report.conforms, false)
})

test('nonsense from a server is a failure, not an error of the suite', async (t) => {
  const nonsense = ['null', '[]', '"text"', '5', '', '{"id":"/../?\\ud800","items":[null]}']
  let replies = 0
  const { code, report } = await check(t, {
    reply(reply, { number }) {
      if (reply.status !== 200) return
      if (number === 1) reply.json.access_token = 'a\u2603\nb'
      if (number === 4) reply.json.id = '/../?\ud800'
      else if (number > 1) reply.text = nonsense[++replies % nonsense.length] ?? ''
    },
  })
  assert.equal(code, 1)
  const reasons = report.checks.flatMap(({ reason = [] }) => reason)
  assert.ok(reasons.includes('the token has characters that no header can carry'))
})

test('recommended behaviour gives notes, and the server still conforms', async (t) => {
  const change: Change = {
    reply(reply, { number, json }) {
      if (number === 2 && reply.status === 200 && json?.public_key === undefined) reply.status = 400
    },
  }
  const { code, stdout } = await checkText(t, change, ['--only', '2'])
  assert.equal(code, 0, stdout)
  assert.match(
    stdout,
    /Note: accepts the public key in the header alone\n +clause: Endpoint 2: pub/,
  )
  assert.match(stdout, /recommended: status 2XX\n +got: 400 \{/)
  assert.match(stdout, /^\d+ checks: \d+ passed, 1 noted$/m)
})

test('the report fits a terminal', async (t) => {
  const change: Change = {
    reply(reply, { number }) {
      const text = '<p>\u001b[31m</p>'.repeat(40)
      if (number === 7) Object.assign(reply, { status: 200, text })
    },
  }
  const { code, stdout } = await checkText(t, change, ['--only', '1,7'], 80)
  assert.equal(code, 1)
  assert.match(stdout, /^ 1 {2}GET \/api\/v1\/identity\/auth\/access-token {5}\d passed$/m)
  assert.match(stdout, /^ 7 {2}POST \/api\/v1\/purchases\/import .* FAILED/m)
  assert.match(stdout, /-H "authorization: Bearer \$TOKEN"/)
  assert.ok(!stdout.includes('\u001b'))
  // The text of a command is not broken: it has to work when it is pasted.
  const isText = (line: string) => !/^ +(printf|-F|--data-binary) /.test(line)
  const long = stdout.split('\n').filter((line) => line.length > 80 && isText(line))
  assert.deepEqual(long, [])
})

test('a shell repeats a request of the report', async (t) => {
  const change = onSuccess(({ json }) => void delete json.token, 3)
  const { report, env } = await check(t, change, ['--only', '3'])
  const { request = '' } = report.checks.find(({ outcome }) => outcome === 'failed') ?? {}
  const shell = { PUBLIC_KEY: env.TILLKIT_PUBLIC_KEY, PATH: process.env.PATH }
  const { stdout } = await promisify(execFile)('sh', ['-c', request], { env: shell })
  assert.deepEqual(Object.keys(JSON.parse(stdout)), ['expires_at', 'expires_in_seconds'])
})

const KEYS = { TILLKIT_PUBLIC_KEY: 'pk_unknown', TILLKIT_ACCOUNT_KEY: 'ak_unknown' }

test('a refused key is named', async (t) => {
  const { url, env } = await start(t)
  for (const [wrong, said] of [
    [{ TILLKIT_PUBLIC_KEY: 'pk_x' }, /opens no session: endpoints 1 to 3 answer 400, 400, 400/],
    [{ TILLKIT_ACCOUNT_KEY: 'ak_x' }, /refuses the account key: .* 401/],
  ] as const) {
    const done = await tillkit(['conformance', '--url', url], { env: { ...env, ...wrong } })
    assert.deepEqual([done.code, said.test(done.stderr)], [1, true], done.stderr)
  }
})

test('a server that does not answer is one error, with --json a document', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const place = `127.0.0.1:${(server.address() as AddressInfo).port}`
  await promisify(server.close).call(server)
  const url = `http://${place}`
  const { code, stdout, stderr } = await tillkit(['conformance', '--url', url, '--json'], {
    env: KEYS,
  })
  const detail = `${url} does not answer: connect ECONNREFUSED ${place}`
  assert.equal(code, 1)
  assert.deepEqual(JSON.parse(stdout), { url, conforms: false, detail })
  assert.equal(stderr, `tillkit: ${detail}\n`)
})

test('an untrusted certificate is named', async (t) => {
  const server = createServer({ key: TLS_KEY, cert: TLS_CERTIFICATE })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { code, stderr } = await tillkit(['conformance', '--url', url], { env: KEYS })
  assert.equal(code, 1)
  assert.match(stderr, /does not answer: TLS failed: self-signed certificate/)
})
