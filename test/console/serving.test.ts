// run: early
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { formatMoney, toDecimal, toMinor } from '../../console/format.ts'
import { serveConsole } from '../support/console/browser.ts'
import { assertProblem, createClient, startServer } from '../support/server.ts'

test('without the option, neither the console nor its API exists', async (t) => {
  const { send } = await startServer(t)
  for (const path of ['/console', '/console/', '/console/main.js', '/manage/v1/account']) {
    assertProblem(await send(`GET ${path}`), 404, 'route_not_found')
  }
})

test('the page allows no script, style or request outside its own files', async (t) => {
  const { url } = await serveConsole(t)
  const send = createClient(url)
  const page = await send('GET /console')
  assert.equal(page.status, 200)
  assert.doesNotMatch(page.text, /https?:|<script>|<style>|style=|\bon\w+=/)
  const policy = page.headers.get('content-security-policy') ?? ''
  assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/)
  assert.doesNotMatch(policy, /unsafe|\*|data:|https?:/)
  assert.match(policy, /frame-ancestors 'none'/)
  const headers = ['x-content-type-options', 'referrer-policy', 'cross-origin-opener-policy']
  assert.deepEqual(
    headers.map((name) => page.headers.get(name)),
    ['nosniff', 'no-referrer', 'same-origin'],
  )
})

test('files have an ETag, and only files of the console are served', async (t) => {
  const { url } = await serveConsole(t, { basePath: '/shop' })
  const send = createClient(`${url}/shop`)
  for (const path of ['/console', '/console/', '/console/main.js', '/console/main.css']) {
    const answer = await send(`GET ${path}`)
    const headers = { 'if-none-match': answer.headers.get('etag') ?? '' }
    assert.equal(answer.headers.get('cache-control'), 'private, no-cache')
    assert.equal((await send(`GET ${path}`, { headers })).status, 304)
  }
  for (const file of ['index.html', 'LICENSES.txt', '..%2fopenapi.json', '%', 'constructor']) {
    assertProblem(await send(`GET /console/${file}`), 404, 'route_not_found')
  }
})

test('the console has at most 120 KiB compressed, and the licences of its libraries', () => {
  const files = readdirSync('dist/console')
  const bytes = files.map((file) => gzipSync(readFileSync(`dist/console/${file}`)).length)
  assert.ok(bytes.reduce((sum, each) => sum + each, 0) <= 120 * 1024)
  assert.match(readFileSync('dist/console/LICENSES.txt', 'utf8'), /preact/)
})

test('amounts have the decimals of ISO 4217, and are exact', () => {
  assert.equal(formatMoney('900719925474099199', 'USD'), '$9,007,199,254,740,991.99')
  assert.equal(formatMoney(5, 'KWD').replace(/\s/, ' '), 'KWD 0.005')
  assert.equal(toDecimal('5', 'JPY'), '5')
  const typed = ['4.99', '4', '0.5', '0.05', '4.999', '4,99', '-1', '', '1e3', '1.2.3']
  assert.deepEqual(
    typed.map((text) => toMinor(text, 'USD')),
    ['499', '400', '50', '5', ...Array(6).fill(undefined)],
  )
})
