import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'
import type { HandlerOptions } from '../../http/index.ts'
import { operations } from '../openapi/document.ts'
import { temporaryFolder } from '../support/folder.ts'
import { assertProblem, createClient } from '../support/server.ts'

/** Serves from `dist`, where the build puts the files of the reference page and the console. */
async function serveBuilt(t: TestContext, options: HandlerOptions = {}): Promise<string> {
  const load = (path: string) => import(pathToFileURL(resolve(path)).href)
  const { createTill, openSqliteStorage } = await load('dist/lib/index.js')
  const { serve } = await load('dist/http/index.js')
  const path = join(temporaryFolder(t), 'till.db')
  const till = createTill({ storage: await openSqliteStorage(path) })
  const server = await serve(till, {
    port: 0,
    docs: true,
    manage: true,
    limits: { stopIdleTimeout: 10 },
    ...options,
  })
  t.after(async () => {
    await server.stop()
    await till.close()
  })
  return server.url
}

test('the page has only its own files, and a policy that allows no other origin', async (t) => {
  const send = createClient(await serveBuilt(t))
  const page = await send('GET /docs')
  assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
  assert.match(
    page.headers.get('content-security-policy') ?? '',
    /^default-src 'none'; script-src 'self';/,
  )
  assert.doesNotMatch(page.text, /https?:|<script>|<style>|\bon\w+=/)
  for (const file of ['LICENSE', '..%2fopenapi.json', '%2e%2e', '%', 'constructor']) {
    assertProblem(await send(`GET /docs/${file}`), 404, 'route_not_found')
  }
})

const PROBES = ['/healthz', '/readyz', '/metrics']
const DOCUMENTS = ['/openapi.json', '/docs', '/docs/start.js', '/console', '/console/main.css']

test('public routes ignore credentials, malformed ones too', async (t) => {
  const send = createClient(await serveBuilt(t, { console: true, metrics: true }))
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
  const rateLimitAddress = counted.length
  const send = createClient(await serveBuilt(t, { console: true, metrics: true, rateLimitAddress }))
  for (const path of counted) assert.ok((await send(`GET ${path}`)).status < 429, path)
  for (const path of counted) {
    assertProblem(await send(`GET ${path}`), 429, 'rate_limited')
  }
  for (const path of PROBES) assert.equal((await send(`GET ${path}`)).status, 200, path)
})

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync)

test('below a base path, Chromium shows every operation, calls one, and reports no violation', {
  skip: executablePath === undefined && 'there is no Chromium',
}, async (t) => {
  const url = await serveBuilt(t, { basePath: '/shop' })
  const browser = await chromium.launch({
    ...(executablePath !== undefined && { executablePath }),
    args: ['--no-sandbox'], // root needs it
  })
  t.after(() => browser.close())
  const page = await browser.newPage()
  const requested: string[] = []
  const complaints: string[] = []
  page.on('request', (request) => void requested.push(new URL(request.url()).origin))
  page.on('console', (message) => void complaints.push(message.text()))
  page.on('pageerror', (error) => void complaints.push(error.message))

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
