// A complete import over HTTP into PostgreSQL with every row validated. Compared with COPY of the
// same file by PostgreSQL into a table with only a primary key. Also measures the bytes per purchase
// on disk, and the speed with a growing number of stored purchases.
import { chmodSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openPostgresStorage } from '../dist/lib/index.js'
import { writePurchases } from './files.mjs'
import { upload } from './import.mjs'
import { withPostgres } from './postgres-server.mjs'
import { inFolder, removeDatabase, seed, startTillkit } from './servers.mjs'
import { count, median, printTable, ratio } from './table.mjs'

const ROWS = Number(process.env.BENCH_ROWS ?? 1_000_000)
const ROUNDS = 3
const LARGE_FILES = 10
const PAGE = 100
const PAGES = 200

export async function bench() {
  await inFolder(async (folder) => {
    chmodSync(folder, 0o755) // PostgreSQL itself reads the file
    await withPostgres(async (postgres) => {
      for (const random of [false, true]) await compare(folder, postgres, random)
      if (process.env.BENCH_LARGE !== undefined) await grow(folder, postgres)
    })
  })
}

async function compare(folder, postgres, random) {
  const file = join(folder, 'purchases.csv')
  writePurchases(file, ROWS, { random })
  const rivals = {
    'COPY by the server': () => copyByServer(postgres, file),
    'tillkit, PostgreSQL': () => importToPostgres(postgres, file),
    'tillkit, SQLite': () => importToSqlite(folder, file),
  }
  const results = Object.fromEntries(Object.keys(rivals).map((name) => [name, []]))
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, run] of Object.entries(rivals)) results[name].push(await run())
  }
  const order = random ? 'in random order' : 'ascending'
  const copy = median(results['COPY by the server'].map(({ ms }) => ms))
  printTable(
    `Import: ${count(ROWS)} rows, ids ${order}, medians of ${ROUNDS} interleaved rounds`,
    ['', 'rows/s', 'of COPY', 'CPU µs a row', 'PostgreSQL µs', 'peak MiB'],
    Object.entries(results).map(([name, all]) => {
      const of = (figure) => median(all.map((each) => each[figure]))
      const perRow = (figure) =>
        all[0][figure] === undefined ? '' : (of(figure) / ROWS).toFixed(2)
      const peak = all[0].peak === undefined ? '' : Math.round(of('peak'))
      const rate = [count((ROWS / of('ms')) * 1000), ratio(copy / of('ms'))]
      return [name, ...rate, perRow('cpu'), perRow('database'), peak]
    }),
  )
  printSizes(random, results['tillkit, PostgreSQL'][0].sizes)
}

async function copyByServer(postgres, file) {
  await postgres.create('copied')
  const before = postgres.cpu()
  await postgres.query(
    `CREATE TABLE purchases (transaction_id text PRIMARY KEY, sku text, purchased_at timestamptz,
      user_id text, quantity integer, price bigint, currency text, status text, metadata json)`,
    'copied',
  )
  const ms = await timed(() =>
    postgres.query(`COPY purchases FROM '${file}' (FORMAT csv, HEADER)`, 'copied'),
  )
  const database = postgres.cpu() - before
  await postgres.drop('copied')
  return { ms, database }
}

async function importToPostgres(postgres, file) {
  const server = await startServer(await postgres.create('imported'))
  const before = postgres.cpu()
  const result = await importBy(server, file)
  const database = postgres.cpu() - before
  await server.stop()
  const sizes = await postgres.query(SIZES, 'imported')
  await postgres.drop('imported')
  return { ...result, database, sizes }
}

async function importToSqlite(folder, file) {
  const db = join(folder, 'imported.db')
  const server = await startServer(db)
  const result = await importBy(server, file)
  await server.stop()
  removeDatabase(db)
  return result
}

async function startServer(db) {
  const doors = await seed(db)
  const server = await startTillkit(db)
  return { ...doors, ...server, authorization: `Bearer ${doors.token}` }
}

async function importBy(server, file) {
  const before = server.cpu()
  const ms = await timed(() => upload(server, file))
  return { ms, cpu: server.cpu() - before, peak: server.memory('VmHWM') }
}

const SIZES = `
  SELECT relname AS name, pg_relation_size(oid) AS bytes FROM pg_class
  WHERE oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = 'purchases'::regclass)
    OR oid = 'purchases'::regclass
  UNION ALL SELECT 'all together', pg_total_relation_size('purchases')`

function printSizes(random, sizes) {
  printTable(
    `What a purchase takes on disk, ids ${random ? 'in random order' : 'ascending'}`,
    ['', 'MiB', 'bytes a row'],
    sizes.map(({ name, bytes }) => [name, count(bytes / 2 ** 20), (bytes / ROWS).toFixed(0)]),
  )
}

/** Imports files in turn into one store, and times pages at both ends of its list. */
async function grow(folder, postgres) {
  const file = join(folder, 'part.csv')
  const server = await startServer(await postgres.create('large'))
  const rows = []
  for (let part = 0; part < LARGE_FILES; part++) {
    writePurchases(file, ROWS, { first: part * ROWS })
    const { ms, peak } = await importBy(server, file)
    const pages =
      part === 0 || part === LARGE_FILES - 1 ? await timePages(postgres, part) : ['', '']
    const rate = count((ROWS / ms) * 1000)
    rows.push([count((part + 1) * ROWS), rate, Math.round(peak), ...pages])
  }
  rmSync(file)
  await server.stop()
  printTable(
    `Growth of one store's purchases, files of ${count(ROWS)}`,
    ['purchases', 'rows/s', 'peak MiB', `first page of ${PAGE}, p50 ms`, 'last page, p50 ms'],
    rows,
  )
  const sizes = await postgres.query(SIZES, 'large')
  const total = sizes.find(({ name }) => name === 'all together').bytes / (LARGE_FILES * ROWS)
  console.log(`  ${total.toFixed(0)} bytes a purchase, indexes included`)
}

async function timePages(postgres, part) {
  const storage = await openPostgresStorage(postgres.urlOf('large'))
  const { records } = await storage.listAccounts({ limit: 1 })
  const [{ account_id }] = records
  const store = { account_id, store_id: 'main' }
  const medians = []
  for (const after of ['0', String((part + 1) * ROWS - PAGE)]) {
    const all = []
    for (let i = 0; i < PAGES; i++) {
      all.push(await timed(() => storage.listPurchases(store, {}, { limit: PAGE, after })))
    }
    medians.push(median(all).toFixed(2))
  }
  await storage.close()
  return medians
}

async function timed(work) {
  const started = performance.now()
  await work()
  return performance.now() - started
}
