import assert from 'node:assert/strict'
import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { tillkit } from '../support/cli.ts'
import { smallDisk, unsizedDisk } from '../support/disk.ts'
import { temporaryFolder } from '../support/folder.ts'
import { assertWhole, itemNamed } from '../support/load.ts'
import { createShopFile } from '../support/served.ts'
import { assertProblem, createClient, importForm, type Reply } from '../support/server.ts'

const ROWS = 20_000

const csv = `transaction_id,sku,purchased_at\n${Array.from(
  { length: ROWS },
  (_, i) => `T-${(i * 7919) % ROWS},gold,2024-01-15T10:00:00Z\n`,
).join('')}`

/** Fills a disk until this many bytes are left. Returns the file to delete. */
function fill(disk: string, left: number): string {
  const ballast = join(disk, 'ballast')
  const { bavail, bsize } = statfsSync(disk)
  writeFileSync(ballast, Buffer.alloc(bavail * bsize - left))
  return ballast
}

async function start(t: TestContext, { folder, TMPDIR }: { folder?: string; TMPDIR?: string }) {
  const shop = await createShopFile(t, folder === undefined ? {} : { folder })
  const server = await shop.serve([], TMPDIR === undefined ? {} : { TMPDIR })
  const send = createClient(server.url)
  const { account_key, token, json, ofStore } = shop
  return {
    ...shop,
    ...server,
    send,
    create: (name: string) => send('POST /api/v1/items', { account_key, json: itemNamed(name) }),
    load: (text: string) =>
      send('POST /api/v1/purchases/import', { token, body: importForm(text) }),
    purchases: async () => {
      const { summaries } = await json('purchases', 'summary', ...ofStore)
      const counts = summaries.map(({ purchased }: { purchased: number }) => purchased)
      return counts.reduce((sum: number, count: number) => sum + count, 0)
    },
  }
}

function assertNoRoom(reply: Reply): void {
  const { detail } = assertProblem(reply, 503, 'storage_unavailable')
  assert.match(detail, /^The disk of the database is full$|^There is no room for the upload/)
  assert.match(reply.headers.get('retry-after') ?? '', /^\d+$/)
}

test('a command on a full disk says that it may be full, and not only that an I/O error occurred', async (t) => {
  const folder = smallDisk(t, 12)
  if (!folder) return
  const { run, ofStore } = await createShopFile(t, { folder })
  const ballast = fill(folder, 0)

  const { code, stderr } = await run('item', 'list', ...ofStore)

  assert.equal(code, 1)
  assert.match(stderr, /^tillkit: Cannot open the database \S+: the disk may be full: /)
  rmSync(ballast)
  assert.equal((await run('item', 'list', ...ofStore)).code, 0)
})

test('the rows of an import that filled a small disk are deleted, in slices that its reserve has room for', async (t) => {
  const folder = smallDisk(t, 24)
  if (!folder) return
  const { run, json, ofStore } = await createShopFile(t, { folder })
  const rowsOf = (count: number) =>
    `transaction_id,sku,purchased_at\n${Array.from(
      { length: count },
      (_, i) => `T-${(i * 7919) % count},gold,2024-01-15T10:00:00Z\n`,
    ).join('')}`
  const large = join(temporaryFolder(t), 'large.csv')
  const small = join(temporaryFolder(t), 'small.csv')
  writeFileSync(large, rowsOf(600_000))
  writeFileSync(small, rowsOf(ROWS))

  const refused = await run('purchases', 'import', large, ...ofStore)

  assert.match(refused.stderr, /The disk of the database is full/)
  const { added } = await json('purchases', 'import', small, ...ofStore)
  assert.equal(added, ROWS)
})

test('on a full disk writes are 503 and reads work; with free space all works again', async (t) => {
  const folder = smallDisk(t, 12)
  if (!folder) return
  const shop = await start(t, { folder })
  const { create, load, items, send, token } = shop
  const ballast = fill(folder, 300_000)
  const kept: string[] = []

  let refused = 0
  for (let i = 0; refused < 5; i++) {
    const reply = await create(`item_${i}`)
    if (reply.status === 200) kept.push(`item_${i}`)
    else assertNoRoom(reply)
    if (reply.status !== 200) refused++
  }
  assertNoRoom(await load(csv))
  assertNoRoom(await create('one_more'))
  assert.deepEqual(
    (await items()).map(({ name }) => name),
    kept,
  )
  const [first] = await items()
  assert.equal((await send(`GET /api/v1/items/${first?.id}`, { token })).status, 200)
  assert.equal((await send('GET /readyz')).status, 200)
  const { public_key } = shop.project
  const json = { user_id: 'player', public_key }
  assert.equal((await send('POST /api/v1/identity/auth/token', { public_key, json })).status, 200)

  rmSync(ballast)
  assert.equal((await create('after')).status, 200)
  assert.equal(await shop.purchases(), 0)
  const imported = await load(csv)
  assert.equal(imported.status, 200, imported.text)
  assert.equal(imported.headers.get('import-skipped'), '0')
  assert.equal(await shop.purchases(), ROWS)
  const now = await items()
  assert.deepEqual(
    now.map(({ name }) => name),
    [...kept, 'after'],
  )
  now.forEach(assertWhole)
  assert.equal((await tillkit(['check', '--db', shop.db])).stdout, 'The database is sound\n')
  shop.child.kill('SIGTERM')
  assert.deepEqual(await shop.ended, { code: 0, signal: null })
  assert.deepEqual(
    shop.log.filter((line) => line.includes('"status":500')),
    [],
  )
})

test('uploads without disk space for temporary files are 503, and leave no file', async (t) => {
  const TMPDIR = smallDisk(t, 1)
  if (!TMPDIR) return
  const { load, create, purchases } = await start(t, { TMPDIR })
  const free = () => statfsSync(TMPDIR).bfree
  const before = free()
  const large = csv + csv.replace(/^.*\n/, '').replaceAll('T-', 'U-')

  for (let i = 0; i < 3; i++) assertNoRoom(await load(large))
  assert.equal((await create('meanwhile')).status, 200)
  assert.equal(free(), before)
  assert.equal((await load('transaction_id,sku,purchased_at\nT-0,gold,1700000000\n')).status, 200)
  const ballast = fill(TMPDIR, 0)
  assertNoRoom(await load('transaction_id,sku,purchased_at\nT-1,gold,1700000000\n'))
  rmSync(ballast)
  assert.equal((await load(csv)).status, 200)
  assert.equal(await purchases(), ROWS)
})

test('an upload leaves the reserve of the disk free, which the database may need', async (t) => {
  const TMPDIR = smallDisk(t, 8) // an eighth of it is the reserve
  if (!TMPDIR) return
  const { load } = await start(t, { TMPDIR })

  assertNoRoom(await load('x'.repeat(7.5 * 2 ** 20)))
  assertProblem(await load('x'.repeat(6 * 2 ** 20)), 400, 'invalid_purchases')
})

test('an upload works on a file system that reports no size, such as ramfs', async (t) => {
  const TMPDIR = unsizedDisk(t)
  if (!TMPDIR) return
  const { load } = await start(t, { TMPDIR })

  assertProblem(await load('x'.repeat(2 ** 20)), 400, 'invalid_purchases')
})
