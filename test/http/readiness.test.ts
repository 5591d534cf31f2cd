import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openPostgresStorage } from '../../lib/index.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { rawPostgres, startPostgres } from '../support/postgres.ts'
import { childrenOf } from '../support/served.ts'
import { assertProblem, serveShop, startServer } from '../support/server.ts'

const server = await startPostgres()

/** Suspends all processes of the PostgreSQL server until the returned function is called. */
async function freeze(t: TestContext, url: string): Promise<() => void> {
  const sql = rawPostgres(t, url)
  const [row] = await sql<{ file: string }[]>`SELECT pg_read_file('postmaster.pid') AS file`
  await sql.end()
  const postmaster = Number.parseInt(row?.file ?? '', 10)
  const pids = [postmaster, ...childrenOf(postmaster)]
  const signal = (name: NodeJS.Signals) => {
    for (const pid of pids) {
      try {
        process.kill(pid, name)
      } catch {} // it has ended: other tests disconnect meanwhile
    }
  }
  signal('SIGSTOP')
  let isFrozen = true
  const thaw = () => {
    if (isFrozen) signal('SIGCONT')
    isFrozen = false
  }
  t.after(thaw)
  return thaw
}

test('a frozen PostgreSQL server makes /readyz fail before its statements time out', {
  skip: server.isForeign,
}, async (t) => {
  const url = await server.createDatabase(t)
  const storage = await openPostgresStorage(url, { max: 1 })
  const { send } = await startServer(t, { storage, options: { metrics: true } })
  assert.equal((await send('GET /readyz')).status, 200)
  const thaw = await freeze(t, url)
  let isAnswered = false
  const read = storage.listAccounts({ limit: 1 }).finally(() => {
    isAnswered = true
  })

  const [refused, metrics] = await Promise.all([send('GET /readyz'), send('GET /metrics')])

  assertProblem(refused, 503, 'storage_unavailable')
  assert.match(metrics.text, /^tillkit_storage_up 0$/m)
  assert.ok(!isAnswered, '/readyz waited for a statement to time out')
  thaw()
  assert.deepEqual((await read).records, [])
  assert.equal((await send('GET /readyz')).status, 200)
})

test('a server whose connections are all busy is ready: PostgreSQL answers', async (t) => {
  const url = await server.createDatabase(t)
  const storage = await openPostgresStorage(url, { max: 2 })
  const { till, send, account, account_key } = await serveShop(t, { storage })
  const session = await rawPostgres(t, url).reserve()
  await session`BEGIN`
  await session`LOCK TABLE items IN ACCESS EXCLUSIVE MODE`
  const json = {
    store_id: 'main',
    name: 'gem',
    display_name: 'Gem',
    price: '1',
    type: 'consumable',
  }
  const writing = send('POST /api/v1/items', { account_key, json })
  const reading = till.items.list(account, { store_id: 'main' })
  await eventuallyHolds(() => assert.equal(storage.poolState?.().inUse, 2))

  const { status, text } = await send('GET /readyz')

  assert.equal(status, 200, text)
  await session`ROLLBACK`
  assert.equal((await writing).status, 200)
  await reading
})

test('metrics show the PostgreSQL connections in use, the waiting statements, and a clock that differs', async (t) => {
  const url = await server.createDatabase(t)
  const storage = await openPostgresStorage(url, { max: 2 })
  const options = { metrics: true }
  const now = () => Date.now() - 60_000
  const { till, send, account, account_key } = await serveShop(t, { storage, options, now })
  // Concurrent new items of one key would share a connection.
  const others = [await till.accounts.addKey(account), await till.accounts.addKey(account)]
  const keys = [account_key, ...others.map((key) => key.account_key)]
  const poolOf = (text: string) => {
    const figures = [...text.matchAll(/^tillkit_pool_(\w+) (\d+)$/gm)]
    return Object.fromEntries(figures.map(([, name, value]) => [name, Number(value)]))
  }
  const insert = (account_key: string) => {
    const name = account_key.slice(-8).toLowerCase().replaceAll('-', '_')
    const json = { store_id: 'main', name, display_name: name, price: '1', type: 'consumable' }
    return send('POST /api/v1/items', { account_key, json })
  }
  const sql = rawPostgres(t, url)

  const expected = { connections_max: 2, connections_open: 2, connections_in_use: 1, waiting: 2 }

  const { inserts } = await sql.begin(async (tx) => {
    await tx.unsafe('LOCK TABLE items IN EXCLUSIVE MODE') // does not block reads
    const inserts = keys.map(insert)
    await eventuallyHolds(async () => {
      assert.deepEqual(poolOf((await send('GET /metrics')).text), expected)
    })
    return { inserts }
  })

  for (const { status, text } of await Promise.all(inserts)) assert.equal(status, 200, text)
  const { text } = await send('GET /metrics')
  assert.equal(poolOf(text).waiting, 0)
  assert.ok(Number(/^tillkit_database_bytes (\d+)$/m.exec(text)?.[1]) > 1_000_000)
  const offset = Number(/^tillkit_clock_offset_seconds (\S+)$/m.exec(text)?.[1])
  assert.ok(offset < -50 && offset > -70, String(offset))
})
