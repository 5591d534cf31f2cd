// Time of a summary of a million purchases, and of the GROUP BY of the sqlite3 shell on the same
// file. node bench/run.mjs summary
import { spawnSync } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { createTill, openSqliteStorage } from '../dist/lib/index.js'
import { SKUS, writePurchases } from './files.mjs'
import { inFolder } from './servers.mjs'
import { count, median, printTable } from './table.mjs'

const ROWS = Number(process.env.BENCH_ROWS ?? 1_000_000)
const RUNS = 5

const STATEMENT = `
  SELECT strftime('%Y-%m', purchased_at / 1000, 'unixepoch'), item, currency, status,
    count(*), sum(price), count(DISTINCT user_id)
  FROM purchases GROUP BY 1, 2, 3, 4`

export async function bench() {
  await inFolder(async (folder) => {
    const path = join(folder, 'till.db')
    const till = createTill({ storage: await openSqliteStorage(path) })
    const account = await fill(till, join(folder, 'purchases.csv'))
    const shell = []
    const ours = []
    const delays = []
    for (let i = 0; i < RUNS; i++) {
      shell.push(await seconds(() => void spawnSync('sqlite3', [path, STATEMENT])))
      const stop = watchDelay()
      ours.push(await seconds(() => till.purchases.summarize(account, {})))
      delays.push(stop())
    }
    await till.close()
    printTable(
      `Summary of ${count(ROWS)} purchases by month, SKU and currency`,
      ['', 'median, s', 'least, s', 'longest delay of a timer, ms'],
      [
        ['sqlite3 shell', median(shell).toFixed(2), Math.min(...shell).toFixed(2), ''],
        ['tillkit', median(ours).toFixed(2), Math.min(...ours).toFixed(2), count(median(delays))],
      ],
    )
  })
}

async function fill(till, file) {
  const account = await till.accounts.create({ name: 'Bench' })
  const game = { name: 'Game', bundle_id: 'com.example.game', platform: 'web' }
  const project = await till.projects.create(account, game)
  const store = { project_id: project.id, store_id: 'main', store_type: 'web' }
  await till.stores.create(account, { ...store, store_config: { currency: 'USD' } })
  for (const sku of SKUS) {
    const item = { name: sku, display_name: sku, price: '1', type: 'consumable' }
    await till.items.create(account, { store_id: 'main', ...item })
  }
  writePurchases(file, ROWS)
  await till.purchases.import(account, { store_id: 'main', file: createReadStream(file) })
  return account
}

async function seconds(work) {
  const started = performance.now()
  await work()
  return (performance.now() - started) / 1000
}

/** Returns a function that ends the watch and returns the longest delay in milliseconds. */
function watchDelay() {
  let latest = performance.now()
  let longest = 0
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - latest - 10)
    latest = performance.now()
  }, 10)
  return () => {
    clearInterval(timer)
    return longest
  }
}
