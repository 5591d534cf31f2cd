import assert from 'node:assert/strict'
import { createReadStream, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { start } from '../support/client/shop.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { temporaryFolder } from '../support/folder.ts'

const HEADER = 'transaction_id,sku,purchased_at'
const row = (id: number) => `T-${id},gold,2026-01-31T12:00:00Z`
const CSV = [HEADER, row(1), row(2), ''].join('\n')
const bytes = new TextEncoder().encode(CSV)

async function* chunks() {
  yield bytes.subarray(0, 40)
  yield bytes.subarray(40)
}

test('a file may be a text, bytes, a Blob, a stream or a function', async (t) => {
  const { client, shop } = await start(t)
  const till = client()
  const path = join(temporaryFolder(t), 'file.csv')
  writeFileSync(path, CSV)
  const files = [CSV, bytes, new Blob([CSV]), new File([CSV], 'a "b".csv'), chunks(), chunks]

  const dry = await till.purchases.import({ store_id: 'main', file: CSV, dryRun: true })
  assert.deepEqual([dry.rows, dry.skipped], [2, 0])
  for (const [i, file] of [...files, createReadStream(path)].entries()) {
    const { rows, skipped } = await till.purchases.import({ store_id: 'main', file })
    assert.deepEqual([rows, skipped], [2, i === 0 ? 0 : 2])
  }
  const named = { store_id: 'main', file: CSV, fileName: 'named.csv' }
  await till.purchases.import(named)

  const { imports } = await shop.till.imports.list(shop.account, { store_id: 'main' })
  const names = imports.map(({ file_name }) => file_name)
  assert.deepEqual(new Set(names), new Set(['purchases.csv', 'a "b".csv', 'named.csv']))
})

test('progress counts the bytes of the file', async (t) => {
  const { client } = await start(t)
  const till = client()
  const csv = [HEADER, ...Array.from({ length: 7_000 }, (_, i) => row(i))].join('\n')
  const size = Buffer.byteLength(csv)
  const progress: { bytes: number; total: number | undefined }[] = []
  const onProgress = (each: (typeof progress)[number]) => void progress.push(each)

  await till.purchases.import({ store_id: 'main', file: new Blob([csv]), onProgress })

  assert.ok(progress.length > 3)
  assert.deepEqual(progress.at(-1), { bytes: size, total: size })
  assert.ok(progress.every(({ bytes }, i) => bytes >= (progress[i - 1]?.bytes ?? 0)))

  progress.length = 0
  await till.purchases.import({ store_id: 'main', file: chunks(), onProgress })
  assert.deepEqual(progress, [
    { bytes: 40, total: undefined },
    { bytes: bytes.length, total: undefined },
  ])
})

test('a stream is sent once, and a function is called for each attempt', async (t) => {
  const { client, proxy } = await start(t)
  const till = client()
  const open = t.mock.fn(chunks)
  const expired = { status: 401, body: '{"code":"token_required","detail":"Expired"}' }
  for (const refusal of [{ status: 503 }, expired]) {
    proxy.fail('POST /purchases', refusal, refusal)
    await assert.rejects(till.purchases.import({ store_id: 'main', file: chunks() }), {
      status: refusal.status,
    })
    await till.purchases.import({ store_id: 'main', file: open })
  }
  assert.equal(open.mock.callCount(), 4)
})

test('an error of the file is the cause, and nothing is imported', async (t) => {
  const { client, proxy, shop } = await start(t)
  const till = client()
  const failure = new Error('the disk failed')
  const broken = t.mock.fn(async function* () {
    yield bytes.subarray(0, 40)
    throw failure
  })
  const texts = async function* () {
    yield CSV as unknown as Uint8Array
  }

  const failed = till.purchases.import({ store_id: 'main', file: broken })
  await assert.rejects(failed, { code: 'unreadable_file', cause: failure })
  const wrong = till.purchases.import({ store_id: 'main', file: texts })
  await assert.rejects(wrong, {
    code: 'unreadable_file',
    cause: new TypeError('The stream must yield Uint8Arrays'),
  })

  assert.equal(broken.mock.callCount(), 1)
  proxy.requests.length = 0
  for (const change of [{ dry_run: true }, { file: 1 }]) {
    const request = { store_id: 'main', file: CSV, ...change } as never
    await assert.rejects(till.purchases.import(request), TypeError)
  }
  assert.deepEqual(proxy.requests, [])
  const { purchases } = await shop.till.purchases.list(shop.account, { store_id: 'main' })
  assert.deepEqual(purchases, [])
})

test('a signal ends an upload', async (t) => {
  const { client, shop } = await start(t)
  const controller = new AbortController()
  let isClosed = false
  const endless = async function* () {
    try {
      for (;;) yield new Uint8Array(65_536).fill(10)
    } finally {
      isClosed = true
    }
  }
  const upload = client().purchases.import(
    {
      store_id: 'main',
      file: endless,
      onProgress: ({ bytes }) => bytes > 1e6 && controller.abort(),
    },
    { signal: controller.signal },
  )

  await assert.rejects(upload, { name: 'AbortError' })
  await eventuallyHolds(() => assert.ok(isClosed))
  const { purchases } = await shop.till.purchases.list(shop.account, { store_id: 'main' })
  assert.deepEqual(purchases, [])
})
