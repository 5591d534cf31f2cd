// What the requests of one account cost the others: node bench/turns.mjs [TREE] [URL of an empty
// PostgreSQL database]. For each attack, prints the longest CPU time of the main thread between two
// timers (which does not depend on other programs), and the latencies of another account.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
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
import { isMainThread } from 'node:worker_threads'
if (isMainThread && process.argv[2] === 'serve') {
  const file = '/proc/self/task/' + process.pid + '/schedstat'
  const cpu = () => Number(readFileSync(file, 'latin1').split(' ')[0]) / 1e6
  let before = cpu()
  let gaps = []
  setInterval(() => {
    const now = cpu()
    gaps.push(now - before)
    before = now
  }, 1).unref()
  process.on('SIGUSR2', () => {
    gaps.sort((a, b) => b - a)
    writeFileSync(process.env.TURNS_FILE, JSON.stringify(gaps.slice(0, 3)))
    gaps = []
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
  const user = { user_id: 'whale' }
  const session = await till.sessions.issue(heavy.account, {
    project_id: heavy.project.id,
    ...user,
  })
  const { token } = await till.sessions.token(light.project.public_key, { user_id: 'someone' })
  await till.close()
  return { heavy, light, undone, many, token, owner: session.token }
}

const agent = new Agent({ keepAlive: true, maxSockets: 400 })
let place
function send(path, headers = {}, method = 'GET', body = undefined) {
  return new Promise((resolve, reject) => {
    const begun = performance.now()
    const type = body && { 'content-type': 'application/json' }
    const outgoing = request(new URL(path, place), {
      agent,
      method,
      headers: { ...headers, ...type },
    })
    outgoing.on('error', reject)
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
    outgoing.end(body && JSON.stringify(body))
  })
}

console.error('fill')
const seeded = await fill()
console.error('filled', performance.now())
const { heavy, light, undone, many, token, owner } = seeded
const probe = join(folder, 'probe.mjs')
writeFileSync(probe, PROBE)
process.env.TURNS_FILE = join(folder, 'gaps.json')
process.env.NODE_OPTIONS = `--import ${pathToFileURL(probe).href}`
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
const times = (n, work) => Promise.all(Array.from({ length: n }, work))
const manage = (path, method, body) => send(`/manage/v1${path}`, key, method, body)
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
        authorization: `Bearer ${owner}`,
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
}
const wanted = process.env.BENCH_ONLY?.split(',') ?? ['']
const rows = []

try {
  for (const [name, attack] of Object.entries(attacks)) {
    if (!wanted.some((word) => name.includes(word))) continue
    await gaps()
    const latencies = { health: [], read: [], write: [] }
    let isOver = false
    const bearer = { authorization: `Bearer ${token}` }
    const lightKey = { 'x-account-key': light.account.account_key }
    const again = async (list, work) => {
      while (!isOver) {
        const { ms, status, text } = await work()
        if (status !== 200) throw new Error(`${status} ${text}`)
        list.push(ms)
        await setTimeout(20)
      }
    }
    let n = 0
    const item = { store_id: light.store_id, display_name: 'N', price: '1', type: 'consumable' }
    const victims = Promise.all([
      again(latencies.health, () => send('/healthz')),
      again(latencies.read, () =>
        send(`/manage/v1/stores/${light.store_id}/owned?user_id=a`, lightKey),
      ),
      again(latencies.read, () => send(`/api/v1/items?store_id=${light.store_id}&n=${n}`, bearer)),
      again(latencies.write, () =>
        send('/api/v1/items', lightKey, 'POST', {
          ...item,
          name: `w${performance.now().toString(36).replace('.', '')}${n++}`,
        }),
      ),
    ])
    const begun = performance.now()
    const answers = [await attack()].flat()
    const seconds = (performance.now() - begun) / 1000
    isOver = true
    await victims
    const statuses = [...new Set(answers.map((each) => each?.status))].join(' ')
    if (answers.some((each) => each && each.status >= 400 && each.status !== 503)) {
      console.log(name, answers.find((each) => each.status >= 400).text)
    }
    const figures = Object.values(latencies).flatMap((list) =>
      [0.5, 0.99].map((part) => percentile(list, part).toFixed(0)),
    )
    const [most] = await gaps()
    rows.push([name, statuses, seconds.toFixed(1), most.toFixed(0), ...figures])
    console.error(rows.at(-1).join(' | '))
  }
} finally {
  agent.destroy()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
const latency = ['healthz p50', 'p99', 'read p50', 'p99', 'write p50', 'p99']
printTable(
  'Requests of another account (ms)',
  ['attack', 'status', 's', 'longest CPU', ...latency],
  rows,
)

async function gaps() {
  process.kill(server.pid, 'SIGUSR2')
  await setTimeout(200)
  return JSON.parse(readFileSync(process.env.TURNS_FILE, 'utf8'))
}
