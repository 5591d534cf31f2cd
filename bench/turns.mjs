// What the requests of one account cost the others: node bench/turns.mjs [TREE] [URL of an empty
// PostgreSQL database]. An attacker has an account key, or only a public key. The server has the heap
// of a machine with 512 MiB. For each attack, prints two CPU times of the main thread, which do not
// depend on other programs: the longest one between two timers, and the longest one from a request
// of another account to its answer. Then the latencies of that account, and the greatest resident
// memory so far.
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { startServer } from './servers.mjs'
import { percentile, printTable } from './table.mjs'

const PURCHASES = Number(process.env.BENCH_PURCHASES ?? 100_000)
const ITEMS = Number(process.env.BENCH_ITEMS ?? 20_000)
const [tree = '.', url] = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'tillkit-turns-'))
const db = url ?? join(folder, 'till.db')

/** Runs in the server. Writes the longest CPU time between two timers into a file on SIGUSR2. */
const PROBE = `
import { readFileSync, writeFileSync } from 'node:fs'
import { Server } from 'node:http'
import { isMainThread } from 'node:worker_threads'
if (isMainThread && process.argv[2] === 'serve') {
  const file = '/proc/self/task/' + process.pid + '/schedstat'
  const cpu = () => Number(readFileSync(file, 'latin1').split(' ')[0]) / 1e6
  let before = cpu()
  let gaps = []
  let waits = []
  const { emit } = Server.prototype
  Server.prototype.emit = function (name, request, response) {
    if (name === 'request' && request.headers['x-victim']) {
      const begun = cpu()
      response.on('finish', () => waits.push(cpu() - begun))
    }
    return emit.apply(this, arguments)
  }
  setInterval(() => {
    const now = cpu()
    gaps.push(now - before)
    before = now
  }, 1).unref()
  process.on('SIGUSR2', () => {
    const longest = [Math.max(...gaps), Math.max(0, ...waits)]
    writeFileSync(process.env.TURNS_FILE, JSON.stringify(longest))
    gaps = []
    waits = []
  })
}`

const { createTill, openPostgresStorage, openSqliteStorage } = await import(
  pathToFileURL(resolve(tree, 'dist/lib/index.js')).href
)

/** An account with much data, and another one. */
async function fill() {
  const storage = url === undefined ? await openSqliteStorage(db) : await openPostgresStorage(url)
  const till = createTill({ storage, quotas: { projects: 1000, items: 1e9, configBytes: 1e9 } })
  const shopOf = async (name) => {
    const account = await till.accounts.create({ name })
    const { account_id } = account
    const about = { account_id, name, bundle_id: 'com.example.game', platform: 'web' }
    const config = { webhook_url: 'https://127.0.0.1:9/hooks', webhook_secret: 'x'.repeat(32) }
    const project = await till.projects.create(account, { ...about, config })
    const store = { project_id: project.id, store_type: 'web' }
    await till.stores.create(account, { ...store, store_id: `main-${name}` })
    return { account, about, project, store, store_id: `main-${name}` }
  }
  const item = { name: 'gems', display_name: 'Gems', price: '499', type: 'consumable' }
  const heavy = await shopOf('heavy')
  const light = await shopOf('light')
  await till.items.create(light.account, { ...item, store_id: light.store_id })
  await till.items.create(heavy.account, { ...item, store_id: heavy.store_id })
  const values = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`k${i}`, i]))
  for (let i = 0; i < 40; i++) {
    await till.projects.create(heavy.account, { ...heavy.about, config: values })
  }
  const meta = Object.fromEntries(Array.from({ length: 800 }, (_, i) => [`k${i}`, i]))
  for (let i = 0; i < 200; i++) {
    const { store_id } = heavy
    await till.items.create(heavy.account, { ...item, store_id, name: `meta${i}`, meta })
  }
  const pay = async (name, user) => {
    const lines = ['transaction_id,sku,purchased_at,user_id,price,currency']
    for (let i = 0; i < PURCHASES; i++) {
      const currency = String.fromCharCode(
        65 + (i % 26),
        65 + ((i / 26) % 26),
        65 + ((i / 676) % 26),
      )
      lines.push(`${name}${i},gems,2024-05-01T00:00:${10 + (i % 50)}Z,${user},499,${currency}`)
    }
    const file = [Buffer.from(`${lines.join('\n')}\n`)]
    const { import_id } = await till.purchases.import(heavy.account, {
      store_id: heavy.store_id,
      file,
    })
    return import_id
  }
  await pay('a', 'whale')
  const undone = await pay('b', 'other')
  // Project B: many items, which a catalog archives.
  const many = await till.projects.create(heavy.account, { ...heavy.about, name: 'Many' })
  await till.stores.create(heavy.account, {
    project_id: many.id,
    store_id: 'many',
    store_type: 'web',
  })
  const items = Array.from({ length: ITEMS }, (_, i) => ({ ...item, name: `n${i}` }))
  const catalog = { project: {}, stores: [{ store_id: 'many', items }] }
  await till.catalog.apply(heavy.account, { project_id: many.id, catalog })
  const stores = Array.from({ length: 16 }, (_, i) => `side${i}`)
  for (const store_id of stores) {
    await till.stores.create(heavy.account, { ...heavy.store, store_id })
    await till.items.create(heavy.account, { ...item, store_id })
  }
  const { key_id: spare } = await till.accounts.addKey(heavy.account)
  const user = { user_id: 'whale' }
  const session = await till.sessions.issue(heavy.account, {
    project_id: heavy.project.id,
    ...user,
  })
  const tokenOf = async ({ project: { public_key } }) =>
    (await till.sessions.token(public_key, { user_id: 'someone' })).token
  const tokens = { light: await tokenOf(light), heavy: await tokenOf(heavy) }
  const ofMany = await tokenOf({ project: many })
  await till.close()
  const all = { ...tokens, many: ofMany, owner: session.token }
  return { heavy, light, undone, many, stores, spare, tokens: all }
}

const agent = new Agent({ keepAlive: true, maxSockets: 400 })
let place
function send(path, headers = {}, method = 'GET', body = undefined, signal = undefined) {
  return new Promise((resolve, reject) => {
    const begun = performance.now()
    const type = body && !headers['content-type'] && { 'content-type': 'application/json' }
    const outgoing = request(new URL(path, place), {
      agent,
      method,
      signal,
      headers: { ...headers, ...type },
    })
    outgoing.on('error', (error) => (signal?.aborted ? resolve({}) : reject(error)))
    outgoing.on('response', (response) => {
      let text = ''
      response.on('error', reject)
      response.on('data', (chunk) => {
        if (text.length < 1000) text += chunk
      })
      response.on('end', () =>
        resolve({ ms: performance.now() - begun, status: response.statusCode, text }),
      )
    })
    outgoing.end(typeof body === 'object' ? JSON.stringify(body) : body)
  })
}

console.error('fill')
const seeded = await fill()
console.error('filled', performance.now())
const { heavy, light, undone, many, stores, spare, tokens } = seeded
const probe = join(folder, 'probe.mjs')
writeFileSync(probe, PROBE)
process.env.TURNS_FILE = join(folder, 'gaps.json')
process.env.NODE_OPTIONS = `--import ${pathToFileURL(probe).href} --max-old-space-size=300`
const main = resolve(tree, 'dist/cli/main.js')
const server = await startServer(main, [
  'serve',
  '--port',
  '0',
  '--db',
  db,
  '--log',
  'off',
  '--console',
  '--no-webhooks',
])
place = server.url

const key = { 'x-account-key': heavy.account.account_key }
/** 64 KiB of short values, which take 24 times as much memory when parsed. */
const wide = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`k${i}`, i]))
const times = (n, work) => Promise.all(Array.from({ length: n }, work))
const manage = (path, method, body) => send(`/manage/v1${path}`, key, method, body)
const PERIOD = { from: '2024-01-01', to: '2025-01-01' }
const empty = { project: {}, stores: [{ store_id: 'many', items: [] }] }
const attacks = {
  nothing: () => setTimeout(2_000),
  '100 × projects?limit=100': () => times(100, () => manage('/projects?limit=100')),
  '100 × items?limit=100': () =>
    times(100, () => manage(`/stores/${heavy.store_id}/items?limit=100`)),
  '20 × owned (key)': () =>
    times(20, () => manage(`/stores/${heavy.store_id}/owned?user_id=whale`)),
  '20 × owned (token)': () =>
    times(20, () =>
      send(`/api/v1/purchases/owned?store_id=${heavy.store_id}`, {
        authorization: `Bearer ${tokens.owner}`,
      }),
    ),
  '20 × webhooks.get': () => times(20, () => manage(`/webhooks/${heavy.project.id}`)),
  'webhooks.list': () => manage('/webhooks'),
  '6 × summary, ungrouped': () => times(6, () => manage('/summary?by=currency&top=1')),
  '6 × summary by currency': () => times(6, () => manage('/summary?by=currency')),
  '6 × buyers': () => times(6, () => manage(`/stores/${heavy.store_id}/buyers`)),
  '6 × overview': () => times(6, () => manage(`/overview?store_id=${heavy.store_id}&by=day`)),
  '6 × catalog export': () => times(6, () => manage(`/projects/${many.id}/catalog`)),
  '6 × user export': () => times(6, () => manage(`/projects/${heavy.project.id}/users/whale`)),
  'catalog.plan, archives all': () =>
    manage(`/projects/${many.id}/catalog/plan`, 'POST', { catalog: empty, archive_missing: true }),
  'catalog.apply, archives all': () =>
    manage(`/projects/${many.id}/catalog/apply`, 'POST', { catalog: empty, archive_missing: true }),
  'undo of an import': () => manage(`/imports/${undone}/undo`, 'POST', {}),
  '400 × PATCH of a project': () =>
    times(400, (_, n) => manage(`/projects/${heavy.project.id}`, 'PATCH', { name: `n${n}` })),
  '100 × PATCH of 64 KiB': () =>
    times(100, (_, n) =>
      manage(`/projects/${heavy.project.id}`, 'PATCH', { config: { ...wide, n } }),
    ),
  '200 × new item of 64 KiB': () =>
    times(200, (_, n) =>
      send('/api/v1/items', key, 'POST', {
        ...{ store_id: heavy.store_id, name: `large${n}`, display_name: 'L', price: '1' },
        ...{ type: 'consumable', meta: wide },
      }),
    ),
  '60 reports of clients that leave': () =>
    times(60, (_, n) => {
      const signal = AbortSignal.timeout(100 + n * 20)
      return send(
        `/manage/v1/summary?by=day,currency&from=20${10 + (n % 14)}-01-01`,
        key,
        'GET',
        undefined,
        signal,
      )
    }),
  '16 × explain': () => times(16, () => upload('explanations', heavy.store_id, exportOf(10_000))),
  '16 imports into 16 stores': () =>
    times(16, (_, n) => upload('imports', stores[n], salesOf(20_000, `S${n}-`))),
  '16 × reconcile': () =>
    times(16, () => upload('reconciliations', heavy.store_id, salesOf(20_000, 'a'), PERIOD)),
  '40 imports of clients that leave': () =>
    times(40, (_, n) => {
      const signal = AbortSignal.timeout(150 + n * 20)
      return upload('imports', stores[n % 16], salesOf(20_000, `G${n}-`), {}, signal)
    }),
  '16 × overview of all': () => times(16, () => manage('/overview?by=day')),
  '400 × scopes of a key': () =>
    times(400, (_, n) =>
      manage(`/keys/${spare}`, 'PATCH', { scopes: [n % 2 ? 'read' : 'tokens'] }),
    ),
  '200 × user export': () => times(200, (_, n) => manage(`/projects/${many.id}/users/u${n}`)),
  '400 × record': () =>
    times(400, (_, n) =>
      manage(`/stores/${heavy.store_id}/purchases`, 'POST', {
        ...{ transaction_id: `r${n}`, sku: 'gems', purchased_at: '2024-05-01T00:00:00Z' },
      }),
    ),
  ...publicAttacks(),
}

/** The attacks of a client that has only the public key. */
function publicAttacks() {
  const [of, ofMany] = [tokens.heavy, tokens.many].map((token) => ({
    authorization: `Bearer ${token}`,
  }))
  const publicKey = { 'x-public-project-key': heavy.project.public_key }
  const auth = (path, body) => send(`/api/v1/identity/auth/${path}`, publicKey, 'POST', body)
  const put = { id: heavy.project.id, config: { values: wide } }
  const row = 'T-1,gems,2024-05-01T00:00:10Z,{"text":"'
  return {
    'public: 500 × init': () => times(500, (_, n) => auth('init', { user_id: `u${n}` })),
    'public: 200 × body of 256 KiB': () =>
      times(200, () => auth('token', { user_id: 'a', device_info: [wide, wide, wide] })),
    'public: 400 × PUT of 64 KiB': () => times(400, () => send('/api/v1/projects', of, 'PUT', put)),
    'public: 2,000 × unknown item': () =>
      times(2_000, (_, n) => send(`/api/v1/items/itm_${n}`, of)),
    'public: 2,000 × forged token': () =>
      times(2_000, (_, n) =>
        send('/api/v1/items?store_id=many', { authorization: `Bearer ${tokens.heavy}${n}` }),
      ),
    'public: 10 × whole list': () => times(10, () => send('/api/v1/items?store_id=many', ofMany)),
    'public: 20 × large list': () =>
      times(20, () => send(`/api/v1/items?store_id=${heavy.store_id}`, of)),
    'public: 50 × page of items': () =>
      times(50, (_, n) => send(`/api/v1/items?store_id=${heavy.store_id}&limit=${150 + n}`, of)),
    'public: 20 imports of bad rows': () =>
      times(20, () => importFile(of, `${row}${'x'.repeat(500_000)}"}\n`.repeat(20))),
    'public: 8 imports of 20,000 rows': () =>
      times(8, (_, n) => {
        const lines = Array.from(
          { length: 20_000 },
          (_, i) => `P${n}-${i},gems,2024-05-01T00:00:10Z,`,
        )
        return importFile(of, lines.join('\n'))
      }),
  }
}

function importFile(headers, rows, store_id = heavy.store_id, signal = undefined) {
  const file = `transaction_id,sku,purchased_at,metadata\n${rows}`
  return sendForm('/api/v1/purchases/import', headers, file, { store_id }, signal)
}

function upload(what, store_id, file, fields = {}, signal = undefined) {
  return sendForm(`/manage/v1/stores/${store_id}/${what}`, key, file, fields, signal)
}

function sendForm(path, headers, file, fields, signal) {
  const head = (name) => `--x\r\ncontent-disposition: form-data; name="${name}"`
  const type = { 'content-type': 'multipart/form-data; boundary=x' }
  const parts = Object.entries(fields).map(([name, value]) => `${head(name)}\r\n\r\n${value}\r\n`)
  const body = `${parts.join('')}${head('file')}; filename="f.csv"\r\n\r\n${file}\r\n--x--`
  return send(path, { ...headers, ...type }, 'POST', body, signal)
}

function salesOf(count, prefix) {
  const row = (_, i) => `${prefix}${i},gems,2024-05-01T00:00:${10 + (i % 50)}Z,u${i},499,USD\n`
  const rows = Array.from({ length: count }, row)
  return `transaction_id,sku,purchased_at,user_id,price,currency\n${rows.join('')}`
}

/** A shop's export with columns that nobody needs. */
function exportOf(count) {
  const row = (_, i) =>
    `ORD-${i},gems,${1 + (i % 28)}.05.2024 10:15,u${i},"1.234,99",EUR,paid,n${i}\n`
  const rows = Array.from({ length: count }, row)
  return `Order No,Product,Order Date,Buyer,Total,Curr.,State,Note\n${rows.join('')}`
}

/** Refusals by limits, and of the mistakes in some attacks. */
const EXPECTED = new Set([400, 401, 404, 429, 503])
const wanted = process.env.BENCH_ONLY?.split(',') ?? ['']
const rows = []

try {
  for (const [name, attack] of Object.entries(attacks)) {
    if (!wanted.some((word) => name.includes(word))) continue
    await gaps()
    const victims = new Worker(new URL('./victims.mjs', import.meta.url), {
      execArgv: [],
      workerData: {
        url: place,
        account_key: light.account.account_key,
        token: tokens.light,
        store_id: light.store_id,
      },
    })
    const ended = once(victims, 'message')
    await setTimeout(300)
    const begun = performance.now()
    const answers = [await attack()].flat()
    const seconds = (performance.now() - begun) / 1000
    await setTimeout(300)
    victims.postMessage('end')
    const [latencies] = await ended
    const statuses = [...new Set(answers.map((each) => each?.status))].join(' ')
    const unexpected = answers.find((each) => each?.status >= 400 && !EXPECTED.has(each.status))
    if (unexpected) console.log(name, unexpected.text)
    const figures = Object.values(latencies).flatMap((list) =>
      [percentile(list, 0.5), Math.max(...list)].map((ms) => ms.toFixed(0)),
    )
    const cpu = (await gaps()).map((ms) => ms.toFixed(0))
    const memory = server.memory('VmHWM').toFixed(0)
    rows.push([name, statuses, seconds.toFixed(1), ...cpu, ...figures, memory])
    console.error(rows.at(-1).join(' | '))
  }
} finally {
  agent.destroy()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
const latency = ['healthz p50', 'slowest', 'read p50', 'slowest', 'write p50', 'slowest']
printTable(
  'Requests of another account (ms)',
  ['attack', 'status', 's', 'longest CPU', 'of an answer', ...latency, 'MiB'],
  rows,
)

async function gaps() {
  process.kill(server.pid, 'SIGUSR2')
  await setTimeout(200)
  return JSON.parse(readFileSync(process.env.TURNS_FILE, 'utf8'))
}
