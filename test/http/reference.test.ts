import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ServeOptions } from '../../http/index.ts'
import { openTab, serveConsole, skip } from '../support/console/browser.ts'
import { operations } from '../support/openapi/document.ts'
import { assertProblem, createClient } from '../support/server.ts'

/** Serves the built reference page, and returns a client. */
async function serveBuilt(t: TestContext, options: ServeOptions = {}) {
  const { url } = await serveConsole(t, { console: false, docs: true, manage: true, ...options })
  return { url, send: createClient(url) }
}

test('the page has only its own files, and a policy that allows no other origin', async (t) => {
  const { send } = await serveBuilt(t)
  const page = await send('GET /docs')
  assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
  assert.match(
    page.headers.get('content-security-policy') ?? '',
    /^default-src 'none'; script-src 'self';/,
  )
  assert.doesNotMatch(page.text, /https?:|<script>|<style>|\bon\w+=/)
  for (const file of ['LICENSE', '..%2fopenapi.json', '%', 'constructor']) {
    assertProblem(await send(`GET /docs/${file}`), 404, 'route_not_found')
  }
})

const PROBES = ['/healthz', '/readyz', '/metrics']
const DOCUMENTS = ['/openapi.json', '/docs', '/docs/start.js', '/console', '/console/main.css']

test('public routes ignore credentials, malformed ones too', async (t) => {
  const { send } = await serveBuilt(t, { console: true, metrics: true })
  const odd = [
    ...['', 'Bearer', 'Bearer ', 'Bearer x', 'Bearer e.e.e', 'Basic eDp5', 'x'].map(
      (authorization) => ({ authorization }),
    ),
    { 'x-account-key': 'ak_x' },
    { 'x-public-project-key': 'pk_x' },
  ]
  for (const path of [...PROBES, ...DOCUMENTS]) {
    for (const headers of odd) {
      for (const method of ['GET', 'GET', 'HEAD']) {
        const { status } = await send(`${method} ${path}`, { headers })
        assert.equal(status, 200, `${method} ${path} with ${JSON.stringify(headers)}`)
      }
    }
  }
})

test('the address limit counts public documents and unknown paths, but no probes', async (t) => {
  const counted = [...DOCUMENTS, '/unknown', '/console/unknown']
  const options = { console: true, metrics: true, rateLimitAddress: counted.length }
  const { send } = await serveBuilt(t, options)
  for (const path of counted) assert.ok((await send(`GET ${path}`)).status < 429, path)
  for (const path of counted) {
    assertProblem(await send(`GET ${path}`), 429, 'rate_limited')
  }
  for (const path of PROBES) assert.equal((await send(`GET ${path}`)).status, 200, path)
})

test('below a base path, Chromium shows every operation, calls one, and reports no violation', {
  skip,
}, async (t) => {
  const { url } = await serveBuilt(t, { basePath: '/shop' })
  const { page, complaints } = await openTab(t)
  const requested: string[] = []
  page.on('request', (request) => void requested.push(new URL(request.url()).origin))

  await page.goto(`${url}/shop/docs`)
  await page.waitForSelector('.opblock')
  const shown = await page.locator('.opblock-summary-path').allTextContents()
  await page.locator('#operations-operation-getHealth').click()
  await page.getByRole('button', { name: 'Try it out' }).click()
  await page.getByRole('button', { name: 'Execute' }).click()
  const status = page.locator('.live-responses-table tbody .response-col_status').first()

  assert.match((await status.textContent()) ?? '', /^200/)
  assert.deepEqual(shown.sort(), operations.map(({ path }) => path).sort())
  assert.deepEqual([[...new Set(requested)], complaints], [[url], []])
})
