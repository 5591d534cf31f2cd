// Size of a database file after dry runs of a large import, and after interrupted imports.
// BENCH_ROWS=1000000 node bench/run.mjs space
import { createReadStream, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createTill, openSqliteStorage } from '../dist/lib/index.js'
import { SKUS, writePurchases } from './files.mjs'
import { inFolder } from './servers.mjs'
import { count, printTable } from './table.mjs'

const ROWS = Number(process.env.BENCH_ROWS ?? 1_000_000)
const TIMES = 5

export async function bench() {
  await inFolder(async (folder) => {
    const rows = []
    for (const random of [false, true]) {
      const file = join(folder, 'purchases.csv')
      writePurchases(file, ROWS, { random })
      for (const kind of ['dry runs', 'cut off']) {
        rows.push(await measure(folder, file, `${kind}, ids ${random ? 'random' : 'ascending'}`))
      }
    }
    const sizes = Array.from({ length: TIMES }, (_, i) => `after ${i + 1}, MiB`)
    printTable(`Size of the file and its log: ${count(ROWS)} rows`, ['', ...sizes, 's each'], rows)
  })
}

async function measure(folder, file, name) {
  const path = join(folder, 'till.db')
  const till = createTill({ storage: await openSqliteStorage(path) })
  const account = await till.accounts.create({ name: 'Bench' })
  const { account_id } = account
  const game = { account_id, name: 'Game', bundle_id: 'com.example.game', platform: 'web' }
  const project = await till.projects.create(account, game)
  const store = { project_id: project.id, store_id: 'main', store_type: 'web' }
  await till.stores.create(account, { ...store, store_config: { currency: 'USD' } })
  for (const sku of SKUS) {
    const item = { name: sku, display_name: sku, price: '1', type: 'consumable' }
    await till.items.create(account, { store_id: 'main', ...item })
  }
  const sizes = []
  const started = performance.now()
  for (let i = 0; i < TIMES; i++) {
    const bytes = createReadStream(file)
    const request = { store_id: 'main', file: name.startsWith('dry') ? bytes : cut(bytes) }
    const dryRun = name.startsWith('dry')
    await till.purchases.import(account, { ...request, dryRun }).catch((error) => {
      if (error.message !== 'cut off') throw error
    })
    sizes.push(Math.round(sizeOf(path) / 2 ** 20))
  }
  const seconds = (performance.now() - started) / TIMES / 1000
  await till.close()
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
  return [name, ...sizes, seconds.toFixed(1)]
}

/** Yields a whole file, then throws like a broken connection. */
async function* cut(bytes) {
  yield* bytes
  throw new Error('cut off')
}

function sizeOf(path) {
  const all = ['', '-wal'].map((suffix) => statSync(path + suffix, { throwIfNoEntry: false }))
  return all.reduce((sum, stat) => sum + (stat?.size ?? 0), 0)
}
