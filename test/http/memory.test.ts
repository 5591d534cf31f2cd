import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { CatalogPlan } from '../../lib/index.ts'
import { serveProcess } from '../support/cli.ts'
import { testOnEach } from '../support/databases.ts'
import { newPlace } from '../support/place.ts'
import { createShopFile } from '../support/served.ts'
import { connectTo, createClient, importForm, inChunks, rawRequest } from '../support/server.ts'
import { soakOnly } from '../support/soak.ts'
import { openSqlite } from '../support/sqlite.ts'
import { DETAILS, importRows } from '../support/storage/imports.ts'
import { newItem, newRow, newStore } from '../support/storage/records.ts'

const LAST = '0\r\n\r\n'

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
      client.write(head(path, type) + inChunks(body, 1).slice(0, -LAST.length))
      return client
    }),
  )

  for (const client of clients) client.write(LAST)
  for (const client of clients) assert.equal((await client.reply()).status, 400)
})

// Parsed all at once they took 24 times the size of the file: 175 MiB.
test('simultaneous imports of metadata that is large when parsed fit into a small heap', {
  skip: soakOnly,
}, async (t) => {
  const { serve, json, ofProject, token } = await createShopFile(t)
  const { url } = await serve([], { NODE_OPTIONS: '--max-old-space-size=64' })
  const cell = `{""a"":[${Array(20_000).fill('{}').join()}]}`
  const rows = Array.from({ length: 40 }, (_, i) => `T-${i},gold,1700000000,"${cell}"\n`)
  const csv = `transaction_id,sku,purchased_at,metadata\n${rows.join('')}`
  const imports = ['main', 'two', 'three'].map(async (store_id) => {
    if (store_id !== 'main') {
      const gold = ['--name', 'gold', '--display-name', 'Gold', '--price', '1']
      await json('store', 'create', ...ofProject, '--type', 'web', '--store', store_id)
      await json('item', 'create', '--store', store_id, ...gold, '--type', 'consumable')
    }
    const body = importForm(csv, { store_id })
    return (await createClient(url)('POST /api/v1/purchases/import', { token, body })).text
  })

  assert.deepEqual(await Promise.all(imports), Array(3).fill('{"ok":true}'))
})

/** JSON that takes 24 times its size when it is parsed. */
const CELLS = { cells: Array(20_000).fill({}) }

// A page of all purchases took 24 times 24 MB, and the server ended. So did a page of imports of an
// earlier version, with a total for each of 70,304 groups.
testOnEach(
  'pages of large purchases and imports, and exports, fit into a small heap',
  async (t) => {
    if (soakOnly) return t.skip(soakOnly)
    const place = newPlace(t)
    const { till, account_id, account_key, project_id } = await place.shop()
    const storage = await place.storage()
    const store = { account_id, store_id: 'main' }
    const total = { status: 'purchased', currency: 'USD', rows: 1, total: '1' } as const
    const details = { ...DETAILS, totals: Array.from({ length: 70_304 }, () => total) }
    const rows = Array.from({ length: 400 }, (_, i) =>
      newRow(i + 1, { user_id: 'ann', metadata: CELLS }),
    )
    for (let i = 0; i < rows.length; i += 50) {
      await importRows(storage, store, `imp_${i}`, rows.slice(i, i + 50), details)
    }
    await till.close()
    const args = ['--db', await place.db(), '--port', '0', '--log', 'errors', '--no-webhooks']
    const { url } = await serveProcess(t, [...args, '--console'], {
      NODE_OPTIONS: '--max-old-space-size=256',
    })
    const send = createClient(url)
    const get = async (path: string) => (await send(`GET ${path}`, { account_key })).status

    const paths = [
      '/purchases?store_id=main&limit=1000',
      '/stores/main/imports?limit=1000',
      `/projects/${project_id}/users/ann`,
    ]
    for (const path of paths) {
      const found = await Promise.all([path, path].map((each) => get(`/manage/v1${each}`)))
      assert.deepEqual(found, [200, 200])
    }
    assert.equal(await get('/healthz'), 200)
  },
)

/** A heap and a resident set of a machine with 512 MiB. */
const SMALL = { NODE_OPTIONS: '--max-old-space-size=300' }
const MOST_RESIDENT_KIB = 512 * 1024

/** The most memory that a process has had so far; undefined where there is no /proc. */
function mostResident({ pid }: { readonly pid?: number | undefined }): number | undefined {
  try {
    const [, kib] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return Number(kib)
  } catch {
    return undefined
  }
}

// A plan held the parsed metadata and configurations of all records: 600 items took 900 MiB.
test('plans of 600 large items and 200 large stores fit into 512 MiB', {
  skip: soakOnly,
}, async (t) => {
  const { serve, db, account_id, account_key, project_id } = await createShopFile(t)
  const storage = await openSqlite(db)
  const ids = { account_id, project_id }
  for (let i = 0; i < 600; i++) {
    await storage.insertItem(newItem(`item_${i}`, { ...ids, metadata: CELLS }))
  }
  for (let i = 0; i < 200; i++) {
    await storage.insertStore(newStore(`store_${i}`, { ...ids, store_config: CELLS }))
  }
  await storage.close()
  const { url, child } = await serve(['--console'], SMALL)
  const send = createClient(url)
  const change = async (path: string, stores: readonly object[]) => {
    const json = { catalog: { stores }, archive_missing: true }
    const line = `POST /manage/v1/projects/${project_id}/catalog/${path}`
    const reply = await send(line, { account_key, json })
    assert.equal(reply.status, 200, reply.text.slice(0, 500))
    return reply.json<CatalogPlan>()
  }
  const changed = Array.from({ length: 200 }, (_, i) => {
    return { store_id: `store_${i}`, is_sandbox: true, store_config: {} }
  })

  for (const path of ['plan', 'apply']) {
    assert.equal((await change(path, [{ store_id: 'main', items: [] }])).archived, 601)
    assert.equal((await change(path, changed)).updated, 200)
  }
  assert.equal((await send('GET /healthz')).status, 200)
  const resident = mostResident(child) ?? 0
  assert.ok(resident < MOST_RESIDENT_KIB, `${resident} KiB`)
})
