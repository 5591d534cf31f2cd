import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { serveHere, tillkit } from './support/cli.ts'
import { temporaryFolder } from './support/folder.ts'
import { blocksOf, shell } from './support/pages.ts'

const page = readFileSync('docs/backend.md', 'utf8')

test('the commands of docs/backend.md take a shop from nothing to a reconciliation', async (t) => {
  const folder = temporaryFolder(t)
  const [start = '', settings = '', ...steps] = blocksOf(page, 'sh')
  const [make = '', keep = '', create = '', serve = '', ...more] = start.trim().split('\n')
  assert.deepEqual(more, [])
  const twice = `${make}\n${make}\n${keep}\necho $TILLKIT_MASTER_KEY`
  const env = { TILLKIT_MASTER_KEY: (await shell(twice, folder, {})).trim() }
  assert.match(env.TILLKIT_MASTER_KEY, /^[0-9a-f]{64}$/)
  assert.equal(statSync(join(folder, 'master.key')).mode & 0o777, 0o600)
  const wordsOf = (command: string) =>
    command
      .replace('shop.db', join(folder, 'shop.db'))
      .replace('--port 8080', '--port 0 --log errors')
      .split(' ')
      .slice(1)
  const created = await tillkit(wordsOf(create), { env })
  const account_key = /ak_[\w-]+/.exec(created.stdout)?.[0] ?? assert.fail(created.stderr)
  const [, ...options] = wordsOf(serve)
  const { url } = await serveHere(t, options, env)
  const set = settings
    .replace('SERVER=http://127.0.0.1:8080', `SERVER=${url}`)
    .replace('ACCOUNT_KEY=ak_…', `ACCOUNT_KEY=${account_key}`)

  const script = [set, ...steps].join('\n')
  // Curl ends with 0 after an error of the server.
  const output = await shell(script.replaceAll('curl ', 'curl --fail-with-body '), folder, {})

  const answers = [
    '"store_id":"main"',
    '"gold_100"',
    '"sword"',
    '"outcome":"added"',
    '"outcome":"delivered"',
    '"owned":\\[.*"gold_100"',
    '"items":\\[.*"gold_100".*"sword"',
    '"owned":\\[.*"gold_100"',
    '"outcome":"refunded"',
    '"added":1.*"skipped":1',
    '"purchases":\\[.*"pi_2"',
    '"transaction_id":"pi_2".*"outcome":"delivered"',
    '"differences":\\[\\]',
  ]
  assert.match(output, new RegExp(answers.join('.*'), 's'))
})

test('the verification of docs/backend.md accepts a signed body for five minutes', async () => {
  const [code = ''] = blocksOf(page, 'js')
  const { isFromPaymentService } = await import(`data:text/javascript,${encodeURIComponent(code)}`)
  const SECRET = 'whsec_example'
  const BODY = '{"id":"pi_1"}'
  const sign = (time: number) =>
    `t=${time},v1=${createHmac('sha256', SECRET).update(`${time}.${BODY}`).digest('hex')}`
  const now = Math.floor(Date.now() / 1000)
  const accepts = (header: string, body = BODY) => isFromPaymentService(header, body, SECRET)
  assert.deepEqual(
    [sign(now), sign(now - 301), 't=1,v1=00', ''].map((header) => accepts(header)),
    [true, false, false, false],
  )
  assert.equal(accepts(sign(now), `${BODY} `), false)
})
