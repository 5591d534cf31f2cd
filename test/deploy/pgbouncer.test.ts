// Puts two servers behind pgbouncer in transaction mode under load: reads, creates, imports and
// probes. Backends of the database are terminated every 7 s.
import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { createTill, openPostgresStorage } from '../../lib/index.ts'
import { serveProcess } from '../support/cli.ts'
import { ask, assertWhole, itemNamed, type ShownItem } from '../support/load.ts'
import { pgbouncerPath, startPgbouncer } from '../support/pgbouncer.ts'
import { PATIENT, rawPostgres, startPostgres } from '../support/postgres.ts'
import { importForm } from '../support/server.ts'
import { soakOnly } from '../support/soak.ts'
import { createShop } from '../support/till.ts'

const SECONDS = Number(process.env.TILLKIT_TEST_SECONDS ?? 15)
const PROBE_MS = 2_000
const FAULT_MS = 7_000
/** A fault explains failed requests that were in flight, or that began this long after it. */
const FAULT_LASTS_MS = 1_000
const SLOW_MS = 5_000
const ROWS_OF_IMPORT = 20

interface Sent {
  readonly path: string
  readonly from: number
  readonly to: number
  /** 0 if the connection broke. */
  readonly status: number
  readonly text: string
}

const skip = soakOnly || (pgbouncerPath === undefined && 'pgbouncer is not installed')

test('behind pgbouncer, only terminated backends fail requests, and no record is lost or mixed up', {
  skip,
}, async (t) => {
  const postgres = await startPostgres()
  const database = await postgres.createDatabase(t)
  const pgbouncer = await startPgbouncer(database, { size: 8 })
  t.after(() => pgbouncer.stop())
  const till = createTill({ storage: await openPostgresStorage(pgbouncer.url, PATIENT) })
  const { account, item, token } = await createShop(till)
  await till.close()
  const args = ['--db', pgbouncer.url, '--port', '0', '--log', 'errors']
  const servers = [await serveProcess(t, args), await serveProcess(t, args)]
  const sql = rawPostgres(t, database)

  const load = startLoad(
    servers.map(({ url }) => url),
    { key: account.account_key, token, item_id: item.id },
  )
  const faults = await terminateBackends(sql)
  const { sent, created, imported } = await load.stop()

  const isExplained = ({ status, from, to }: Sent) =>
    status === 200 ||
    (status === 503 && faults.some((at) => from <= at + FAULT_LASTS_MS && to >= at))
  const unexplained = sent.filter((each) => !isExplained(each))
  assert.deepEqual(unexplained.slice(0, 10), [])
  const slow = sent.filter(({ from, to }) => to - from > SLOW_MS)
  assert.deepEqual(slow.slice(0, 10), [])

  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${servers[0]?.url}/api/v1/items?store_id=main`, { headers })
  const { items } = (await answer.json()) as { items: ShownItem[] }
  for (const each of items) if (each.name !== 'gold') assertWhole(each)
  const kept = new Set(items.map(({ name }) => name))
  assert.deepEqual(
    [...created].filter((name) => !kept.has(name)),
    [],
  )
  assert.ok(created.size > 0)
  const [row] = await sql`SELECT count(*)::int AS rows FROM purchases`
  assert.ok(row?.rows % ROWS_OF_IMPORT === 0, `${row?.rows} rows`)
  assert.ok(row?.rows >= imported * ROWS_OF_IMPORT, `${row?.rows} rows of ${imported} imports`)
  // An error packet ('E') without a client is normal: its idle backend was terminated.
  assert.doesNotMatch(pgbouncer.log(), /got packet '[^E]'.* when not linked/)
})

// After a failed login, pgbouncer waits for server_login_retry: 15 s by default.
test('a restart of PostgreSQL behind pgbouncer is an outage of a few seconds', {
  skip,
}, async (t) => {
  const postgres = await startPostgres({ restarts: true })
  if (postgres.isForeign) return t.skip(postgres.isForeign)
  const pgbouncer = await startPgbouncer(await postgres.createDatabase(t))
  t.after(() => pgbouncer.stop())
  const till = createTill({ storage: await openPostgresStorage(pgbouncer.url, PATIENT) })
  const { account } = await createShop(till)
  await till.close()
  const { url } = await serveProcess(t, ['--db', pgbouncer.url, '--port', '0', '--log', 'errors'])
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  const create = async (name: string) => {
    const headers = { 'x-account-key': account.account_key }
    return (await ask(agent, `${url}/api/v1/items`, headers, itemNamed(name))).status
  }
  assert.equal(await create('before'), 200)

  await postgres.stop()
  assert.equal(await create('meanwhile'), 503)
  await setTimeout(700)
  await postgres.start()
  const back = Date.now()
  for (let n = 0; (await create(`after_${n}`)) !== 200; n++) await setTimeout(100)

  const seconds = (Date.now() - back) / 1_000
  assert.ok(seconds < 8, `${seconds} s`)
})

/** Terminates a third of tillkit's backends repeatedly; returns the times. */
async function terminateBackends(sql: Sql): Promise<number[]> {
  const faults: number[] = []
  const until = Date.now() + SECONDS * 1_000
  // No fault in the last seconds.
  while (until - Date.now() > FAULT_MS + FAULT_LASTS_MS) {
    await setTimeout(FAULT_MS)
    const at = Date.now()
    const ended = await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name = 'tillkit' AND datname = current_database() AND random() < 0.34`
    if (ended.length > 0) faults.push(at)
  }
  await setTimeout(Math.max(0, until - Date.now()))
  return faults
}

function startLoad(
  servers: readonly string[],
  { key, token, item_id }: { key: string; token: string; item_id: string },
) {
  const agent = new Agent({ keepAlive: true })
  const sent: Sent[] = []
  const created = new Set<string>()
  let imported = 0
  let isStopped = false
  const send = async (url: string, path: string, headers = {}, body?: object) => {
    const from = Date.now()
    const broken = (error: unknown) => ({ status: 0, text: String(error) })
    const { status, text } = await ask(agent, url + path, headers, body).catch(broken)
    sent.push({ path, from, to: Date.now(), status, text: status === 200 ? '' : text })
    return status === 200
  }
  const bearer = { authorization: `Bearer ${token}` }
  const work = {
    read: (url: string) => send(url, `/api/v1/items/${item_id}`, bearer),
    async create(url: string, id: string) {
      const item = itemNamed(`sku_${id}`)
      if (await send(url, '/api/v1/items', { 'x-account-key': key }, item)) created.add(item.name)
    },
    async import(url: string, id: string) {
      const from = Date.now()
      const options = { method: 'POST', headers: bearer, body: formOf(id) }
      const { status, text } = await fetch(`${url}/api/v1/purchases/import`, options).then(
        async (answer) => ({ status: answer.status, text: await answer.text() }),
        (error: unknown) => ({ status: 0, text: String(error) }),
      )
      sent.push({ path: 'import', from, to: Date.now(), status, text })
      if (status === 200) imported++
      await setTimeout(200)
    },
  }
  const client = async (kind: keyof typeof work, id: number) => {
    for (let n = 0; !isStopped; n++) {
      await work[kind](servers[n % servers.length] ?? '', `${id}_${n}`)
      await setTimeout(2 + Math.random() * 6)
    }
  }
  const probe = async (url: string) => {
    while (!isStopped) {
      await send(url, '/readyz')
      await setTimeout(PROBE_MS)
    }
  }
  const clients = [
    ...Array.from({ length: 24 }, (_, i) => client('read', i)),
    ...Array.from({ length: 12 }, (_, i) => client('create', i)),
    client('import', 0),
    ...servers.map(probe),
  ]
  return {
    async stop() {
      isStopped = true
      await Promise.all(clients)
      agent.destroy()
      return { sent, created, imported }
    },
  }
}

/** A purchase file whose transactions are unique. */
function formOf(id: string): FormData {
  const rowOf = (_: unknown, i: number) => `tx_${id}_${i},gold,2024-03-01T00:00:00Z`
  const rows = Array.from({ length: ROWS_OF_IMPORT }, rowOf)
  return importForm(['transaction_id,sku,purchased_at', ...rows].join('\n'))
}
