// Imports a file of purchases with the library in dist/ of a folder: once, or with `again` twice; with
// the SKU map of a file if one is named. Prints the CPU seconds of the last import, with those of all
// threads, and the peak memory in MiB.
import { createReadStream, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { BUNDLE_ID, ITEMS } from '../dist/cli/demo-shop.js'

const [folder, db, file, again, map] = process.argv.slice(2)
const { createTill, openSqliteStorage } = await import(
  pathToFileURL(join(folder, 'dist/lib/index.js'))
)

const storage = await openSqliteStorage(db)
const till = createTill({ storage })
const account = await till.accounts.create({ name: 'Bench' })
const game = { name: 'Game', bundle_id: BUNDLE_ID, platform: 'web' }
const { id } = await till.projects.create(account, game)
const store_config = { currency: 'USD', bundle_id: game.bundle_id }
const store = { project_id: id, store_id: 'main', store_type: 'web', store_config }
await till.stores.create(account, store)
for (const item of ITEMS) await till.items.create(account, { store_id: 'main', ...item })
const skus = map ? { skus: readFileSync(map) } : {}
const load = () =>
  till.purchases.import(account, { store_id: 'main', file: createReadStream(file), ...skus })
if (again) await load()
const before = process.cpuUsage()
await load()
await till.close()
const { user, system } = process.cpuUsage(before)
console.log(`${(user + system) / 1e6} ${process.resourceUsage().maxRSS / 1024}`)
