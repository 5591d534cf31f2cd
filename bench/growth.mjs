// Shows whether the time of a request grows with its store or with the database, and what a list of
// a million items costs. BENCH_GROWTH names the numbers of purchases of the last table.
import { once } from 'node:events'
import { createReadStream, readFileSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { createTill, openSqliteStorage } from '../dist/lib/index.js'
import { SKUS, writePurchases } from './files.mjs'
import { fill, fillPurchases, idOf } from './fill.mjs'
import { answerOf, inFolder, removeDatabase, seed, startTillkit } from './servers.mjs'
import { count, median, printTable, ratio } from './table.mjs'

const DATABASES = [1e3, 1e4, 1e5, 1e6, ...(process.env.BENCH_LARGE === undefined ? [] : [1e7])]
const STORES = [1e2, 1e4, 1e6]
const LARGEST = 1e6
const ROUNDS = 3
const COUNTS = { read: 1_000, create: 200, page: 200, again: 200 }
const PAGE = 100

export async function bench() {
  await inFolder(async (folder) => {
    const databases = []
    for (const total of DATABASES) {
      const db = join(folder, `${total}.db`)
      const stores = STORES.filter((size) => size <= total)
      databases.push({ db, stores, ...(await fill(db, stores, total)) })
    }
    await latencies(databases)
    await wholeStore(databases.find(({ stores }) => stores.includes(LARGEST)))
    await usersOf(folder)
    await operationsOf(folder)
  })
}

const PURCHASES = (process.env.BENCH_GROWTH ?? '100000 1000000').split(' ').map(Number)
const ITEMS = 100_000
const IMPORTED = 10_000

/** Shows the CPU time of operations on a store with many purchases, and of their longest turn. */
export async function operationsOf(folder) {
  const results = []
  for (const size of PURCHASES) results.push(await operate(folder, size))
  printTable(
    `Operations of a store with ${count(ITEMS)} items: CPU ms (of the first), and those of the longest turn`,
    ['purchases', ...PURCHASES.flatMap((size) => [count(size), 'turn'])],
    Object.keys(results[0]).map((name) => [
      name,
      ...results.flatMap(({ [name]: { ms, turn } }) => {
        return [`${ms.toFixed(1)} (${ratio(ms / results[0][name].ms)})`, turn.toFixed(1)]
      }),
    ]),
  )
}

async function operate(folder, size) {
  const db = join(folder, `operations_${size}.db`)
  const file = join(folder, 'purchases.csv')
  const { account_key } = await seed(db)
  const till = createTill({ storage: await openSqliteStorage(db) })
  const account = await till.accounts.authenticate(account_key)
  const { projects } = await till.projects.list(account)
  const items = Array.from({ length: ITEMS - SKUS.length }, (_, i) => {
    return { name: `item_${i}`, display_name: 'Item', price: '499', type: 'consumable' }
  })
  const importFile = () => {
    return till.purchases.import(account, { store_id: 'main', file: createReadStream(file) })
  }
  const results = {}
  const measure = async (name, work, times = 1) => {
    const all = []
    const stop = watchTurns()
    for (let i = 0; i < times; i++) {
      const before = process.cpuUsage()
      await work(i)
      const { user, system } = process.cpuUsage(before)
      all.push((user + system) / 1000)
    }
    results[name] = { ms: median(all), turn: stop() }
  }
  const catalog = { project: {}, stores: [{ store_id: 'main', items }] }
  await till.catalog.apply(account, { project_id: projects[0].id, catalog })
  writePurchases(file, size)
  await importFile()
  const store = { store_id: 'main' }
  const page = (query) => till.purchases.list(account, { ...store, ...query })
  const { purchases } = await page({ limit: 1_000, newest_first: true })
  const userOf = (i) => ({ user_id: purchases[i].user_id })
  const idAt = (i) => `GPA.${String((i * 7_919) % size).padStart(10, '0')}`
  await measure('list of items', () => till.items.list(account, { ...store, limit: PAGE }), 200)
  await measure('list', () => page({ limit: PAGE, newest_first: true }), 200)
  await measure('list of a user', (i) => page(userOf(i)), 200)
  await measure('owned', (i) => till.purchases.owned(account, { ...store, ...userOf(i) }), 200)
  await measure('search by order id', (i) => page({ transaction_id: idAt(i) }), 200)
  await measure('summary', () => till.purchases.summarize(account, store))
  await measure('overview', () => till.purchases.overview(account, store))
  writePurchases(file, IMPORTED, { first: size })
  let import_id
  await measure(`import of ${count(IMPORTED)}`, async () => {
    import_id = (await importFile()).import_id
  })
  await measure('its undo', () => till.imports.undo(account, { import_id }))
  const copy = join(folder, 'backup.db')
  await measure('backup', () => till.operator.backup(copy))
  await measure('check', () => till.operator.check())
  await till.close()
  for (const path of [copy, db]) removeDatabase(path)
  return results
}

/** Returns a function that ends the watch, and returns the longest CPU time of a turn in ms. */
function watchTurns() {
  const file = `/proc/self/task/${process.pid}/schedstat`
  const cpu = () => Number(readFileSync(file, 'latin1').split(' ')[0]) / 1e6
  let [before, longest] = [cpu(), 0]
  const next = () => {
    const now = cpu()
    longest = Math.max(longest, now - before)
    before = now
  }
  const timer = setInterval(next, 1)
  return () => {
    clearInterval(timer)
    next()
    return longest
  }
}

const USER_CALLS = 2_000
const PURCHASES_A_USER = 10

/** Shows whether the purchases of one user take longer in a larger store. */
export async function usersOf(folder, sizes = DATABASES) {
  const rows = []
  for (const size of sizes) {
    const path = join(folder, `users_${size}.db`)
    const account = await fillPurchases(path, size, size / PURCHASES_A_USER)
    const till = createTill({ storage: await openSqliteStorage(path) })
    const query = () => ({
      store_id: 'main',
      user_id: `user_${Math.floor((Math.random() * size) / PURCHASES_A_USER)}`,
    })
    const list = await timed(USER_CALLS, () => till.purchases.list(account, query()))
    const owned = await timed(USER_CALLS, () => till.purchases.owned(account, query()))
    await till.close()
    rows.push({ size, list, owned })
  }
  printTable(
    `The ${PURCHASES_A_USER} purchases of a user: medians of ${USER_CALLS} calls, ms (of the first)`,
    ['purchases', 'list', 'owned'],
    rows.map(({ size, list, owned }) => [
      count(size),
      ...[
        [list, rows[0].list],
        [owned, rows[0].owned],
      ].map(([ms, first]) => `${ms.toFixed(3)} (${ratio(ms / first)})`),
    ]),
  )
}

async function latencies(databases) {
  const trials = new Map()
  for (let round = 0; round < ROUNDS; round++) {
    for (const database of databases) {
      const server = await startTillkit(database.db)
      const client = createClient(server.url, database)
      await tryOut(client, database, database.stores[0], `warm_${round}`)
      for (const store of database.stores) {
        const key = `${count(store)} of ${count(database.items)}`
        if (!trials.has(key)) trials.set(key, [])
        trials.get(key).push(await tryOut(client, database, store, round))
      }
      client.close()
      await server.stop()
    }
  }
  const rows = [...trials].map(([key, all]) => [
    key,
    Object.keys(COUNTS).map((name) => median(all.map((trial) => trial[name]))),
  ])
  const smallest = rows[0][1]
  printTable(
    `Growth with the store and the database: medians of ${ROUNDS} rounds, ms (of the first)`,
    ['items', 'read', 'create', `page of ${PAGE} after a write`, 'page again'],
    rows.map(([key, all]) => [
      key,
      ...all.map((ms, i) => (ms ? `${ms.toFixed(3)} (${ratio(ms / smallest[i])})` : 'none')),
    ]),
  )
  if (smallest[2] === undefined) {
    console.error('growth: the list of items does not page yet: ?limit= brings no next link')
    process.exitCode = 1
  }
}

async function tryOut(client, database, store, label) {
  let made = 0
  const read = () => client.get(randomId(database))
  const create = () => client.create(store, `new_${label}_${made++}`)
  const pages = await findPages(client, store)
  const page = () => client.get(pages[Math.floor(Math.random() * pages.length)])
  const again = () => client.get(pages.at(-1))
  const figures = {
    read: await timed(COUNTS.read, read),
    create: await timed(COUNTS.create, create),
  }
  if (pages.length === 0) return figures
  // Any write invalidates the cache: the next read comes from the database.
  return {
    ...figures,
    page: await timed(COUNTS.page, page, create),
    again: await timed(COUNTS.again, again),
  }
}

// Items from the whole database: too many for a cache.
function randomId({ items }) {
  return `/api/v1/items/${idOf(Math.floor(Math.random() * items))}`
}

/** The URLs of full pages throughout a store, found by following `Link`; empty without links. */
async function findPages(client, store) {
  const found = []
  const list = `/api/v1/items?store_id=store_${store}`
  const step = Math.min(1_000, store / 2) // so that the smallest store has links too
  let next = `${list}&limit=${step}`
  for (let seen = 0; next !== undefined && seen + PAGE <= store; seen += step) {
    const { headers, text } = await client.get(next)
    const link = /<([^>]+)>; *rel="?next"?/.exec(headers.link ?? '')?.[1]
    if (seen === 0 && (link === undefined || JSON.parse(text).items.length !== step)) return []
    found.push(pageAt(next))
    next = link
  }
  return found
}

function pageAt(address) {
  const url = new URL(address, 'http://localhost')
  url.searchParams.set('limit', PAGE)
  return url.pathname + url.search
}

/** Sends one request at a time over one keep-alive connection. */
function createClient(url, { account_key, token }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const send = (method, path, headers, body) => {
    const outgoing = httpRequest(new URL(path, url), { method, headers, agent })
    outgoing.end(body)
    return answerOf(outgoing)
  }
  return {
    get: (path) => send('GET', path, { authorization: `Bearer ${token}` }),
    create(store, name) {
      const item = { store_id: `store_${store}`, name, display_name: 'New', price: '1' }
      const headers = { 'x-account-key': account_key, 'content-type': 'application/json' }
      return send('POST', '/api/v1/items', headers, JSON.stringify({ ...item, type: 'consumable' }))
    },
    close: () => agent.destroy(),
  }
}

async function timed(times, work, prepare = () => {}) {
  const all = []
  for (let i = 0; i < times; i++) {
    await prepare()
    const started = performance.now()
    await work()
    all.push(performance.now() - started)
  }
  return median(all)
}

async function wholeStore({ db, token }) {
  const server = await startTillkit(db)
  const rest = server.memory('VmRSS')
  const started = performance.now()
  const outgoing = httpRequest(new URL(`/api/v1/items?store_id=store_${LARGEST}`, server.url), {
    headers: { authorization: `Bearer ${token}` },
  })
  outgoing.end()
  const [response] = await once(outgoing, 'response')
  const first = performance.now() - started
  let bytes = 0
  for await (const chunk of response) bytes += chunk.length
  const seconds = (performance.now() - started) / 1000
  const peak = server.memory('VmHWM')
  await server.stop()
  if (response.statusCode !== 200) throw new Error(`the whole store: ${response.statusCode}`)
  printTable(
    `The list of a store of ${count(LARGEST)} items, whole`,
    ['MiB', 'seconds', 'of it to the first byte', 'server at rest, MiB', 'at its peak, MiB'],
    [[bytes / 2 ** 20, seconds, first / 1000, rest, peak].map((each) => each.toFixed(1))],
  )
}
