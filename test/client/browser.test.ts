import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import type { Client, createClient, TillError } from '../../client/index.ts'
import { openTab, skip } from '../support/console/browser.ts'
import { listenOn } from '../support/listen.ts'
import { serveShop } from '../support/server.ts'

/** The global variables of the page that a test uses. */
interface PageGlobals {
  readonly createClient: typeof createClient
  readonly till: Client
}

test('the client works in Chromium, on a page of another origin', { skip }, async (t) => {
  const origin = await servePage(t)
  const { item, url, public_key, log } = await serveShop(t, {
    options: { corsOrigins: [origin] },
  })
  const { page } = await openTab(t)
  await page.goto(origin)
  await page.waitForFunction(() => 'createClient' in globalThis)
  const options = { url, publicKey: public_key, userId: 'player' }
  await page.evaluate((options) => {
    const page = globalThis as unknown as PageGlobals
    Object.assign(page, { till: page.createClient(options) })
  }, options)
  const statuses = (method: string) =>
    log.filter((entry) => entry.method === method).map(({ status }) => status)

  await t.test('it opens one session and reads from the cache', async () => {
    const read = (id: string) =>
      page.evaluate(async (id) => {
        const { till } = globalThis as unknown as PageGlobals
        const reads = [till.items.get(id), till.items.list({ store_id: 'main' })] as const
        const [item, { items }] = await Promise.all(reads)
        return [item.name, items[0]?.name, (await till.items.get(id)).name]
      }, id)

    assert.deepEqual(await read(item.id), ['gold', 'gold', 'gold'])
    assert.deepEqual(statuses('GET'), [200, 200, 304])
    assert.deepEqual(statuses('POST'), [200])
  })

  await t.test('it uploads a file and reports progress', async () => {
    const { result, last } = await page.evaluate(async () => {
      const { till } = globalThis as unknown as PageGlobals
      const rows = Array.from({ length: 5000 }, (_, i) => `T-${i},gold,2026-01-31T12:00:00Z`)
      const file = new Blob([['transaction_id,sku,purchased_at', ...rows].join('\n')])
      let last: object = {}
      const onProgress = (progress: object) => {
        last = { ...progress, size: file.size }
      }
      const result = await till.purchases.import({ store_id: 'main', file, onProgress })
      return { result, last: last as { bytes: number; total: number; size: number } }
    })
    assert.deepEqual([result.rows, result.skipped], [5000, 0])
    assert.match(result.import_id, /^imp_/)
    assert.deepEqual([last.bytes, last.total], [last.size, last.size])
  })

  await t.test('it throws the errors of the server, of the network and of a timeout', async () => {
    const codes = await page.evaluate(async () => {
      const { till, createClient } = globalThis as unknown as PageGlobals
      const codeOf = (call: Promise<unknown>) =>
        call.then(
          () => 'none',
          (error: TillError) => `${error.name} ${error.code} ${error.details?.[0]?.line ?? ''}`,
        )
      const store_id = 'main'
      const file = 'transaction_id,sku,purchased_at\nT-9,unknown,2026-01-31T12:00:00Z\n'
      const big = new Blob(['x'.repeat(2 ** 24)])
      const nowhere = createClient({ url: 'http://127.0.0.1:1', publicKey: 'pk_1', attempts: 1 })
      return [
        await codeOf(till.items.get('itm_unknown')),
        await codeOf(till.purchases.import({ store_id, file })),
        await codeOf(nowhere.items.list({ store_id })),
        await codeOf(till.purchases.import({ store_id, file: big }, { timeout: 1 })),
      ].map((each) => each.trim())
    })
    assert.deepEqual(codes, [
      'TillError item_not_found',
      'TillError invalid_purchases 2',
      'TillError network_error',
      'TillError timeout',
    ])
  })
})

/** Serves a page that loads the client from the package. Returns its origin. */
async function servePage(t: TestContext): Promise<string> {
  const script = "import * as client from '/client.js'; Object.assign(globalThis, client)"
  const page = `<!doctype html><link rel=icon href=data:,><script type=module>${script}</script>`
  const server = createServer((request, response) => {
    const isScript = request.url === '/client.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    response.end(isScript ? readFileSync('dist/client/index.js') : page)
  })
  return listenOn(t, server)
}
