import assert from 'node:assert/strict'
import { performance } from 'node:perf_hooks'
import { type TestContext, test } from 'node:test'
import { createFetchHandler } from '../../http/index.ts'
import { serveShop } from '../support/server.ts'

const KIB = 1024
const ITEM_KIB = 32

interface ReadPage {
  /** The iteration of the event loop. */
  readonly loop: number
  readonly isFirst: boolean
  readonly items: number
}

/** A server with 64 items of 32 KiB, which notes each page of items that it reads. */
async function startWatched(t: TestContext) {
  const limits = { accountShare: 100 } // twelve exports at once are within the limit
  const shop = await serveShop(t, { limits, options: { manage: true } })
  const { till, account, storage } = shop
  const { listItems } = storage
  const pages: ReadPage[] = []
  storage.listItems = async (...query) => {
    const loop = performance.nodeTiming.uvMetricsInfo.loopCount
    const page = await listItems(...query)
    const [, { after }] = query
    pages.push({ loop, isFirst: after === undefined, items: page.items.length })
    return page
  }
  for (let i = 0; i < 64; i++) {
    const item = { store_id: 'main', name: `n${i}`, display_name: 'N', price: '1' } as const
    const meta = { text: 'x'.repeat(ITEM_KIB * KIB) }
    await till.items.create(account, { ...item, type: 'consumable', meta })
  }
  pages.length = 0
  return { ...shop, pages }
}

const CASES: readonly {
  readonly line: string
  /** The most items of a page after the first one. */
  readonly most: number
  readonly isListOfItems?: boolean
}[] = [
  {
    line: 'GET /manage/v1/projects/PROJECT/catalog',
    most: 64 / ITEM_KIB + 1,
  },
  {
    line: 'GET /api/v1/items?store_id=main',
    most: 128 / ITEM_KIB + 1, // an eighth of the first page
    isListOfItems: true,
  },
]

for (const { line, most, isListOfItems } of CASES) {
  test(`twelve times ${line} reads small pages, and others are served in between`, async (t) => {
    const { send, pages, project_id, token, account_key } = await startWatched(t)
    const credential = isListOfItems ? { token } : { account_key }
    const target = line.replace('PROJECT', project_id)
    const replies = await Promise.all(Array.from({ length: 12 }, () => send(target, credential)))

    for (const { status } of replies) assert.equal(status, 200)
    const later = pages.filter(({ isFirst }) => !isFirst)
    assert.ok(later.length >= 8, `${later.length} pages`)
    const largest = Math.max(...later.map(({ items }) => items))
    assert.ok(largest <= most, `${largest} items in a page`)
    assertSpread(later)
  })
}

test('large pages of the management API are read in turns of the event loop of their own', async (t) => {
  const { send, pages, account_key } = await startWatched(t)
  const line = 'GET /manage/v1/stores/main/items?limit=1000'
  await Promise.all([1, 2, 3, 4, 5, 6].map(() => send(line, { account_key })))
  assert.equal(pages.length, 6)
  assertSpread(pages)
})

test('a page after a cursor is read in a turn of the event loop of its own', async (t) => {
  const { till, account, token, pages } = await startWatched(t)
  const { items } = await till.items.list(account, { store_id: 'main', limit: 12 })
  const handler = createFetchHandler(till) // without sockets, all requests begin in one turn
  const headers = { authorization: `Bearer ${token}` }
  pages.length = 0
  const path = 'http://shop.example/api/v1/items?store_id=main&limit=1000&cursor='
  const requests = items.map(({ id }) => handler(new Request(path + id, { headers })))
  for (const { status } of await Promise.all(requests)) assert.equal(status, 200)
  assert.equal(pages.length, 12)
  assertSpread(pages)
})

/** At most three pages are read in one iteration of the event loop. */
function assertSpread(pages: readonly ReadPage[]): void {
  const counts = new Map<number, number>()
  for (const { loop } of pages) counts.set(loop, (counts.get(loop) ?? 0) + 1)
  assert.ok(Math.max(...counts.values()) <= 3, JSON.stringify([...counts]))
}
