// A complete import over HTTP into SQLite with every row validated, compared with .import of the
// sqlite3 shell and with csv-parse and better-sqlite3. All use WAL and synchronous=FULL.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { SKU_MAP } from '../dist/cli/demo-shop.js'
import { COLUMNS, writePurchases, writeSales, writeWebSales } from './files.mjs'
import { answerOf, call, inFolder, removeDatabase, seed, startTillkit } from './servers.mjs'
import { count, median, percentile, printTable, ratio } from './table.mjs'

const ROWS = Number(process.env.BENCH_ROWS ?? 1_000_000)
const ROUNDS = 3

export async function bench() {
  await inFolder(async (folder) => {
    for (const order of Object.keys(ORDERS)) await compare(folder, order)
    formats(folder)
    await probe(folder)
    await large(folder)
  })
}

const ORDERS = {
  ascending: {},
  'nearly ascending': { nearly: true },
  'in random order': { random: true },
}

async function compare(folder, order) {
  const file = join(folder, 'purchases.csv')
  writePurchases(file, ROWS, ORDERS[order])
  const rivals = {
    'sqlite3 .import': (folder, file) => importWithShell(folder, file, ''),
    'sqlite3 .import, one b-tree': (folder, file) => importWithShell(folder, file, 'WITHOUT ROWID'),
    'tillkit over HTTP': importOverHttp,
    'csv-parse + better-sqlite3': importWithRival,
  }
  const results = Object.fromEntries(Object.keys(rivals).map((name) => [name, []]))
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, run] of Object.entries(rivals)) results[name].push(await run(folder, file))
  }
  const timeOf = (name) => median(results[name].map(({ ms }) => ms))
  const shell = timeOf('sqlite3 .import')
  const single = timeOf('sqlite3 .import, one b-tree')
  printTable(
    `Import: ${count(ROWS)} rows, ids ${order}, medians of ${ROUNDS} interleaved rounds`,
    ['', 'rows/s', 'of the shell', 'of one b-tree', 'peak MiB'],
    Object.entries(results).map(([name, all]) => {
      const ms = median(all.map((each) => each.ms))
      const peak = Math.max(...all.map((each) => each.peak))
      const ratios = [shell / ms, single / ms].map(ratio)
      return [name, count((ROWS / ms) * 1000), ...ratios, peak > 0 ? Math.round(peak) : '']
    }),
  )
}

const SHELL = `PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;
CREATE TABLE purchases (${COLUMNS.replace('transaction_id', 'transaction_id PRIMARY KEY')})`

async function importWithShell(folder, file, kind) {
  const db = join(folder, 'shell.db')
  const input = `${SHELL} ${kind};\n.import --csv --skip 1 ${file} purchases\n`
  const started = performance.now()
  const { status, error } = spawnSync('sqlite3', [db], { input })
  if (status !== 0) throw error ?? new Error('the sqlite3 shell failed')
  const ms = performance.now() - started
  removeDatabase(db)
  return { ms, peak: 0 }
}

async function importWithRival(folder, file) {
  const db = join(folder, 'rival.db')
  const started = performance.now()
  const child = spawn(process.execPath, ['bench/rival-import.mjs', db, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [peak] = await once(createInterface({ input: child.stdout }), 'line')
  await once(child, 'close')
  const ms = performance.now() - started
  removeDatabase(db)
  return { ms, peak: Number(peak) }
}

async function importOverHttp(folder, file) {
  const server = await startServer(folder)
  const started = performance.now()
  await upload(server, file)
  const ms = performance.now() - started
  const peak = server.memory('VmHWM')
  await server.stop()
  return { ms, peak }
}

/** The files of the demo's shop: a canonical one, again, and a vendor's with its SKU map. */
export function formats(folder) {
  const file = join(folder, 'purchases.csv')
  const sales = join(folder, 'sales.csv')
  const skus = join(folder, 'skus.csv')
  writeWebSales(file, ROWS)
  writeSales(sales, ROWS)
  writeFileSync(skus, SKU_MAP)
  const old = process.env.BENCH_OLD
  const trials = [
    ['canonical file', '.', file],
    ['the same file again', '.', file, 'again'],
    ['Google Play with a SKU map', '.', sales, '', skus],
    ['canonical file, before', old, file],
    ['the same file again, before', old, file, 'again'],
    ['Google Play with a SKU map, before', old, sales, '', skus],
  ]
    .filter(([, build]) => build)
    .map(([name, build, ...given]) => ({ name, build, given, results: [] }))
  for (let round = 0; round < ROUNDS; round++) {
    for (const { build, given, results } of trials) {
      results.push(importInProcess(build, folder, ...given))
    }
  }
  printTable(
    `Formats: ${count(ROWS)} rows, ${ROUNDS} interleaved rounds`,
    ['', 'CPU, s (median)', 'least', 'peak MiB'],
    trials.map(({ name, results }) => [
      name,
      median(results.map(({ seconds }) => seconds)).toFixed(1),
      Math.min(...results.map(({ seconds }) => seconds)).toFixed(1),
      Math.round(Math.max(...results.map(({ peak }) => peak))),
    ]),
  )
}

function importInProcess(build, folder, file, again = '', skus = '') {
  const db = join(folder, 'library.db')
  const args = ['bench/library-import.mjs', resolve(build), db, file, again, skus]
  const { stdout, status } = spawnSync(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (status !== 0) throw new Error('the import failed')
  removeDatabase(db)
  const [seconds, peak] = stdout.toString().split(' ').map(Number)
  return { seconds, peak }
}

/** Latencies of other requests while an import runs. */
export async function probe(folder) {
  const file = join(folder, 'purchases.csv')
  writePurchases(file, ROWS)
  const server = await startServer(folder)
  let running = true
  const importing = upload(server, file).finally(() => {
    running = false
  })
  const { url, authorization, account_key, item } = server
  const read = { path: `/api/v1/items/${item}`, headers: { authorization } }
  const list = { path: '/api/v1/items?store_id=main', headers: { authorization } }
  const headers = { 'x-account-key': account_key, 'content-type': 'application/json' }
  const reads = []
  const lists = []
  const creates = []
  const reader = (async () => {
    while (running) {
      reads.push(await timed(() => call(url, read)))
      await pause(5)
      lists.push(await timed(() => call(url, list)))
      await pause(5)
    }
  })()
  const creator = (async () => {
    for (let i = 0; running; i++) {
      const made = { store_id: 'main', name: `new_${i}`, display_name: 'New', price: '1' }
      const body = JSON.stringify({ ...made, type: 'consumable' })
      creates.push(
        await timed(() => call(url, { method: 'POST', path: '/api/v1/items', headers, body })),
      )
      await pause(20)
    }
  })()
  await Promise.all([importing, reader, creator])
  await server.stop()
  printTable(
    'The service during that import, ms',
    ['', 'requests', 'p50', 'p99', 'max'],
    Object.entries({ 'item read': reads, 'list of 100 items': lists, 'item create': creates }).map(
      ([name, all]) => [
        name,
        count(all.length),
        ...[0.5, 0.99, 1].map((part) => percentile(all, part).toFixed(1)),
      ],
    ),
  )
}

/** A file of 1 GiB: memory must not grow with the file. */
async function large(folder) {
  if (process.env.BENCH_LARGE === undefined) return
  const file = join(folder, 'purchases.csv')
  writePurchases(file, 13_900_000)
  const { ms, peak } = await importOverHttp(folder, file)
  const mib = statSync(file).size / 2 ** 20
  printTable(
    'A large file',
    ['MiB of CSV', 'seconds', 'peak MiB'],
    [[Math.round(mib), Math.round(ms / 1000), Math.round(peak)]],
  )
}

/** Our server on a new file with 100 items. */
async function startServer(folder) {
  const db = join(folder, 'till.db')
  const { token, account_key, items } = await seed(db)
  const server = await startTillkit(db)
  return {
    ...server,
    authorization: `Bearer ${token}`,
    account_key,
    item: items[0],
    async stop() {
      await server.stop()
      removeDatabase(db)
    },
  }
}

export async function upload(server, file) {
  const boundary = 'tillkit-bench'
  const part = (name, more = '') =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n`
  const outgoing = request(new URL('/api/v1/purchases/import', server.url), {
    method: 'POST',
    headers: {
      authorization: server.authorization,
      'content-type': `multipart/form-data; boundary=${boundary}`,
    },
  })
  outgoing.write(`${part('store_id')}main\r\n${part('file', '; filename="purchases.csv"')}`)
  for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024 })) {
    if (!outgoing.write(chunk)) await once(outgoing, 'drain')
  }
  outgoing.end(`\r\n--${boundary}--\r\n`)
  await answerOf(outgoing)
}

async function timed(work) {
  const started = performance.now()
  await work()
  return performance.now() - started
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
