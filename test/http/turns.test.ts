import assert from 'node:assert/strict'
import { performance } from 'node:perf_hooks'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createFetchHandler } from '../../http/index.ts'
import {
  createSignal,
  eventually,
  FORM_TYPE,
  overFetch,
  rawForm,
  rawRequest,
  serveShop,
} from '../support/server.ts'
import { createShop } from '../support/till.ts'

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
    pages.push({ loop, isFirst: !after, items: page.items.length })
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

const READS = [
  { method: 'listProjects', line: 'GET /manage/v1/projects?limit=100', isManage: true },
  { method: 'findEndpoint', line: 'GET /manage/v1/webhooks/PROJECT', isManage: true },
  {
    method: 'listOwned',
    line: 'GET /manage/v1/stores/main/owned?user_id=ann',
    isManage: true,
  },
  { method: 'listOwned', line: 'GET /api/v1/purchases/owned?store_id=main', isManage: false },
] as const

for (const { method, line, isManage } of READS) {
  test(`an account reads one after the other, and another one in between: ${line}`, async (t) => {
    const { send, till, storage, account_key, account, project_id } = await serveShop(t, {
      options: { manage: true },
    })
    const other = await createShop(till, 'Other')
    const readers: string[] = []
    const { given: isReleased, give: release } = createSignal()
    const read = storage[method] as (...args: unknown[]) => Promise<unknown>
    Object.assign(storage, {
      async [method](...args: unknown[]) {
        const isOwn = !JSON.stringify(args).includes(other.account_id)
        readers.push(isOwn ? 'own' : 'other')
        if (isOwn) await isReleased
        return read(...args)
      },
    })
    const issued = await till.sessions.issue(account, { project_id, user_id: 'ann' })
    const credential = isManage ? { account_key } : { token: issued.token }
    const target = line.replace('PROJECT', project_id)
    const owns = Array.from({ length: 12 }, () => send(target, credential))
    const theirs = { account_key: other.account_key }
    assert.equal((await send('GET /manage/v1/projects', theirs)).status, 200)
    assert.equal(readers.filter((each) => each === 'own').length, 1)

    release()
    for (const own of owns) assert.notEqual((await own).status, 503)
    assert.ok(readers.length >= 12)
  })
}

test('a read that waits for its turn is dropped when its client has gone', async (t) => {
  if (overFetch) return t.skip('the adapter decides when the signal of a Request is aborted')
  const { storage, withKey, connect, entryOf } = await serveShop(t, {
    options: { manage: true },
  })
  const { listOwned } = storage
  const { given: isReleased, give: release } = createSignal()
  let reads = 0
  storage.listOwned = async (...query) => {
    reads++
    await isReleased
    return listOwned(...query)
  }
  const line = 'GET /manage/v1/stores/main/owned?user_id=ann HTTP/1.1'
  const clients = await Promise.all(
    ['first', 'second', 'third'].map((id) =>
      connect(`${line}\r\nhost: shop\r\n${withKey}\r\nx-request-id: ${id}\r\n\r\n`),
    ),
  )
  await eventually(() => (reads === 1 ? true : undefined), 'a read')
  clients[1]?.socket.destroy()
  await setTimeout(50)
  release()

  assert.equal((await entryOf('second')).status, 499)
  assert.equal((await entryOf('third')).status, 200)
  assert.equal(reads, 2)
})

test('a report whose client has gone while it waits ends at once', async (t) => {
  if (overFetch) return t.skip('the adapter decides when the signal of a Request is aborted')
  const { storage, withKey, connect, entryOf } = await serveShop(t, { options: { manage: true } })
  const { readTotals } = storage
  const { given: isReleased, give: release } = createSignal()
  let reads = 0
  storage.readTotals = async (...query) => {
    reads++
    await isReleased
    return readTotals(...query)
  }
  const line = 'GET /manage/v1/overview?store_id=main&by=day HTTP/1.1'
  const ask = (id: string) =>
    connect(`${line}\r\nhost: shop\r\n${withKey}\r\nx-request-id: ${id}\r\n\r\n`)
  for (const id of ['first', 'second', 'third']) await ask(id)
  await eventually(() => (reads === 3 ? true : undefined), 'three reads')
  const client = await ask('fourth')
  await setTimeout(50)

  client.socket.destroy()

  assert.equal((await entryOf('fourth')).status, 499)
  release()
  for (const id of ['first', 'second', 'third']) assert.equal((await entryOf(id)).status, 200)
  assert.equal(reads, 3)
})

/** A shop whose running imports and comparisons wait at their first rows. */
async function startHeld(t: TestContext, count = 1) {
  const shop = await serveShop(t, { options: { manage: true } })
  const { storage, withKey, connect } = shop
  const { openImport, matchRows } = storage
  const { given: isReleased, give: release } = createSignal()
  const calls = { held: 0, waiting: 0 }
  const hold = async () => {
    calls.held++
    await isReleased
  }
  storage.openImport = async (...args) => {
    const running = await openImport(...args)
    if (!running) {
      calls.waiting++
      return undefined
    }
    const add: typeof running.add = async (...rows) => {
      await hold()
      return running.add(...rows)
    }
    return { ...running, add }
  }
  storage.matchRows = async (...args) => {
    await hold()
    return matchRows(...args)
  }
  const upload = (id: string, path: string, ...parts: [string, string][]) => {
    const row = `${id},gold,2024-03-01T12:00:00Z,499`
    const rows = Array.from({ length: count }, (_, n) => (n === 0 ? row : `${n}-${row}`))
    const csv = ['transaction_id,sku,purchased_at,price', ...rows].join('\n')
    const headers = [withKey, FORM_TYPE, `x-request-id: ${id}`]
    const target = `POST /manage/v1/stores/main/${path}`
    return connect(rawRequest(target, headers, rawForm(...parts, ['file', csv])))
  }
  const has = (name: keyof typeof calls) =>
    eventually(() => (calls[name] > 0 ? true : undefined), name)
  return { ...shop, calls, release, upload, has }
}

test('a dry run whose client has gone while it waits ends at once', async (t) => {
  if (overFetch) return t.skip('the adapter decides when the signal of a Request is aborted')
  const { release, upload, has, entryOf } = await startHeld(t)
  await upload('first', 'imports')
  await has('held')
  const second = await upload('second', 'imports', ['dry_run', 'true'])
  await has('waiting')
  second.socket.destroy()
  assert.equal((await entryOf('second')).status, 499)
  release()
  assert.equal((await entryOf('first')).status, 200)
})

test('a comparison whose client has gone ends before its next rows', async (t) => {
  if (overFetch) return t.skip('the adapter decides when the signal of a Request is aborted')
  const { calls, release, upload, has, entryOf, send } = await startHeld(t, 2_000)
  const client = await upload(
    'only',
    'reconciliations',
    ['from', '2024-01-01'],
    ['to', '2025-01-01'],
  )
  await has('held')
  client.socket.resetAndDestroy()
  assert.equal((await send('GET /healthz')).status, 200) // the server has read the reset
  release()
  assert.equal((await entryOf('only')).status, 499)
  assert.equal(calls.held, 1)
})

test('an import whose client has gone is dropped while it waits, and goes on once it has begun', async (t) => {
  if (overFetch) return t.skip('the adapter decides when the signal of a Request is aborted')
  const { till, account, release, upload, has, entryOf, send } = await startHeld(t)
  const first = await upload('first', 'imports')
  await has('held')
  const second = await upload('second', 'imports')
  await has('waiting')
  for (const { socket } of [first, second]) socket.resetAndDestroy()
  assert.equal((await send('GET /healthz')).status, 200) // the server has read the resets

  release()

  for (const id of ['first', 'second']) assert.equal((await entryOf(id)).status, 499)
  const { purchases } = await till.purchases.list(account, { store_id: 'main' })
  assert.deepEqual(
    purchases.map(({ transaction_id }) => transaction_id),
    ['first'],
  )
})
