import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openSqliteStorage } from '../../lib/index.ts'
import { createShopFile } from '../support/served.ts'
import { connectTo, rawRequest } from '../support/server.ts'
import { soakOnly } from '../support/soak.ts'

const ITEMS = 350
const META = 60_000

/** A server with a heap smaller than its store, which has items of the maximum size. */
async function serveLargeStore(t: TestContext) {
  const shop = await createShopFile(t)
  const storage = await openSqliteStorage(shop.db)
  const items = Array.from({ length: ITEMS }, (_, i) => ({
    id: `itm_large_${i}`,
    account_id: shop.account_id,
    project_id: shop.project.id,
    store_id: 'main',
    name: `large_${i}`,
    display_name: 'Large',
    description: '',
    price: 1,
    type: 'consumable' as const,
    metadata: { text: 'x'.repeat(META) },
    created_at: '2024-03-01T12:34:56.789Z',
    version: 1,
  }))
  for (const item of items) await storage.insertItem(item)
  await storage.close()
  const server = await shop.serve([], { NODE_OPTIONS: '--max-old-space-size=64' })
  const read = async (query: string) => {
    const headers = { authorization: `Bearer ${shop.token}` }
    const reply = await fetch(`${server.api}/items?store_id=main${query}`, { headers })
    // Counts without parsing 21 MiB.
    const count = (await reply.text()).split('"display_name":').length - 1
    return { status: reply.status, link: reply.headers.get('link'), count }
  }
  return { ...server, token: shop.token, read }
}

test('many simultaneous pages and whole lists of the largest items fit into a small heap', {
  skip: soakOnly,
}, async (t) => {
  const { read, child, ended } = await serveLargeStore(t)
  const cursors = Array.from({ length: 16 }, (_, i) => `&limit=1000&cursor=itm_large_${i * 12}`)

  const [pages, lists] = await Promise.all([
    Promise.all(cursors.map(read)),
    Promise.all(['', '', '', ''].map(read)),
  ])

  for (const { status, link, count } of pages) {
    assert.equal(status, 200)
    assert.ok(count >= 1 && count < 20, String(count))
    assert.match(link ?? '', /rel="next"$/)
  }
  for (const { status, link, count } of lists) {
    assert.deepEqual({ status, link, count }, { status: 200, link: null, count: ITEMS + 1 })
  }
  child.kill('SIGTERM')
  assert.deepEqual(await ended, { code: 0, signal: null })
})

/** A chunked body in which each byte but the last ones is its own chunk. */
function inChunksOfOne(text: string): string {
  return [...text].map((byte) => `1\r\n${byte}\r\n`).join('')
}

test('bodies in chunks of one byte use no more memory than others', async (t) => {
  const shop = await createShopFile(t)
  const server = await shop.serve([], { NODE_OPTIONS: '--max-old-space-size=40' })
  const head = (path: string, type: string) =>
    rawRequest(`POST /api/v1${path}`, [
      `authorization: Bearer ${shop.token}`,
      `x-account-key: ${shop.account_key}`,
      `content-type: ${type}`,
      'transfer-encoding: chunked',
    ])
  const spaces = ' '.repeat(200_000)
  const part = (name: string) => `--x\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n`
  const form = `${part('store_id')}main\r\n${part('file')}transaction_id,sku,purchased_at\n`
  const bodies = [
    ...Array(2).fill(['/items', 'application/json', spaces]),
    ['/purchases/import', 'multipart/form-data; boundary=x', `${form}${spaces}\r\n--x--`],
  ]
  const clients = await Promise.all(
    bodies.map(async ([path, type, body]) => {
      const client = await connectTo(server.url)
      t.after(() => client.socket.destroy())
      client.write(head(path, type) + inChunksOfOne(body))
      return client
    }),
  )

  for (const client of clients) client.write('0\r\n\r\n')
  for (const client of clients) assert.equal((await client.reply()).status, 400)
})
