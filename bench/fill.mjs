// Fills databases with millions of items by SQL. With our own code it would take an hour.
import { closeSync, fsyncSync, openSync } from 'node:fs'
import Database from 'better-sqlite3'
import { createTill, openSqliteStorage } from '../dist/lib/index.js'
import { userKey } from '../dist/lib/storage/sqlite/user-key.js'

const FILLER = 10_000

/**
 * Creates a database with one project: a store `store_<size>` for each of `sizes`, and other stores
 * up to `total` items. The item ids are `idOf(0)` to `idOf(items - 1)`.
 */
export async function fill(path, sizes, total) {
  const till = createTill({ storage: await openSqliteStorage(path) })
  const account = await till.accounts.create({ name: 'Bench' })
  const { account_id, account_key } = account
  const game = { account_id, name: 'Game', bundle_id: 'com.example.game', platform: 'web' }
  const project = await till.projects.create(account, game)
  const stores = sizes.map((size) => ({ store_id: `store_${size}`, size }))
  for (let left = total - sizes.reduce((sum, size) => sum + size, 0); left > 0; left -= FILLER) {
    stores.push({ store_id: `filler_${stores.length}`, size: Math.min(FILLER, left) })
  }
  for (const { store_id } of stores) {
    await till.stores.create(account, { project_id: project.id, store_id, store_type: 'web' })
  }
  const { token } = await till.sessions.token(project.public_key, { user_id: 'bench' })
  await till.close()
  return { account_key, token, items: insertItems(path, stores) }
}

/** Creates a store `main` with one import, in which the purchases of each user are spread out. */
export async function fillPurchases(path, purchases, users) {
  const till = createTill({ storage: await openSqliteStorage(path) })
  const account = await till.accounts.create({ name: 'Bench' })
  const game = { name: 'Game', bundle_id: 'com.example.game', platform: 'web' }
  const { id } = await till.projects.create(account, game)
  await till.stores.create(account, { project_id: id, store_id: 'main', store_type: 'web' })
  const item = { store_id: 'main', name: 'gold', display_name: 'Gold', price: '1' }
  await till.items.create(account, { ...item, type: 'consumable' })
  await till.close()
  const db = new Database(path)
  db.exec('PRAGMA synchronous = OFF')
  db.prepare(`
    INSERT INTO imports (import_id, store, alive_at, first_purchase, last_purchase, created_at)
    VALUES ('imp_1', 1, 0, 1, ?, '')`).run(purchases)
  db.prepare(`
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :purchases)
    INSERT INTO purchases
      (seq, import, transaction_id, item, purchased_at, user_id, quantity, status)
    SELECT n, 1, 'tx_' || n, 1, n, 'user_' || (n * 7919 % CAST(:users AS INTEGER)), 1, 0 FROM numbers`).run(
    {
      purchases,
      users,
    },
  )
  db.function('user_key', userKey)
  db.exec(
    'INSERT INTO purchase_users SELECT user_key(1, user_id), seq FROM purchases ORDER BY 1, 2',
  )
  db.close()
  syncFile(path)
  return account
}

/** Ascending ids, like real time-ordered ones. */
export const idOf = (number) => `itm_${String(number).padStart(26, '0')}`

function insertItems(path, stores) {
  const db = new Database(path)
  db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -500000')
  const insert = db.prepare(`
    WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < :size)
    INSERT INTO items (id, store, name, display_name, description, price, type, metadata,
      created_at, version)
    SELECT printf('itm_%026d', :before + n), s.seq, 'sku_' || n, 'Pack ' || n,
      'All that is in pack ' || n || ', at once', 499, 'consumable',
      '{"icon":"pack.png","stack":99}', '2026-01-01T00:00:00.000Z', 1
    FROM numbers JOIN stores s ON s.store_id = :store_id`)
  let items = 0
  for (const { store_id, size } of stores) {
    insert.run({ size, before: items, store_id })
    items += size
  }
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
  syncFile(path)
  return items
}

/** Writes pending pages to disk now, so that this does not happen while requests are timed. */
function syncFile(path) {
  const file = openSync(path, 'r+')
  fsyncSync(file)
  closeSync(file)
}
