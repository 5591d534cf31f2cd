import { closeSync, openSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import type { Account } from '../domain/account.ts'
import type { Item, ItemType } from '../domain/item.ts'
import type { Project } from '../domain/project.ts'
import type { Store, StoreType } from '../domain/store.ts'
import { TillError } from '../errors.ts'
import type { Storage, StoredSigningKey, StoreKey } from './port.ts'
import { type Connection, connect, type Row } from './sqlite/connection.ts'
import { openSqliteDriver, type SqliteDriverName, translateSqliteError } from './sqlite/drivers.ts'
import { clearAbandonedImports, openImport } from './sqlite/imports.ts'
import { listPurchases } from './sqlite/purchases.ts'
import { APPLICATION_ID, MIGRATIONS } from './sqlite/schema.ts'

export interface SqliteOptions {
  /** Which driver to use; without it node:sqlite where Node has it, else better-sqlite3. */
  readonly driver?: SqliteDriverName
}

/**
 * Opens a storage in a SQLite file, made and migrated as needed. Several processes may have the same
 * file open. Throws `storage_unavailable` for a file that is not tillkit's, or that a newer tillkit
 * has written.
 */
export async function openSqliteStorage(
  path: string,
  options: SqliteOptions = {},
): Promise<Storage> {
  try {
    createPrivately(path)
    const db = connect(await openSqliteDriver(path, options.driver))
    try {
      await configure(db)
      migrate(db)
      await clearAbandonedImports(db)
    } catch (error) {
      db.close()
      throw error
    }
    return storageOn(db)
  } catch (error) {
    const { message, code } = translateSqliteError(error) as { message: string; code?: string }
    if (code === undefined) throw error
    throw new TillError('storage_unavailable', `Cannot open the database ${path}: ${message}`)
  }
}

// The file holds signing keys and purchases: no other user of the machine reads it. SQLite gives its
// WAL the mode of the file.
function createPrivately(path: string): void {
  if (path !== ':memory:') closeSync(openSync(path, 'a', 0o600))
}

async function configure(db: Connection): Promise<void> {
  db.exec('PRAGMA busy_timeout = 5000')
  versionOf(db) // refuses a file that is not ours before its journal mode is changed
  await enterWal(db)
  db.exec('PRAGMA synchronous = FULL')
  db.exec('PRAGMA foreign_keys = ON')
  db.exec('PRAGMA cache_size = -4000') // KiB; 16 MiB make no import faster (bench/), only larger
}

// Changing the journal mode does not wait for the busy timeout: several processes that open a new
// file at once must try again by themselves.
async function enterWal(db: Connection, attempts = 100): Promise<void> {
  try {
    db.exec('PRAGMA journal_mode = WAL')
  } catch (error) {
    if (attempts === 0) throw error
    await setTimeout(50)
    await enterWal(db, attempts - 1)
  }
}

function migrate(db: Connection): void {
  if (versionOf(db) === MIGRATIONS.length) return
  db.transaction(() => {
    const version = versionOf(db)
    for (const step of MIGRATIONS.slice(version)) db.exec(step)
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
    db.exec(`PRAGMA user_version = ${MIGRATIONS.length}`)
  })
}

/** How many migrations the file has had; refuses a file that is another program's or newer. */
function versionOf(db: Connection): number {
  // First of the three: another process may migrate the file between one look and the next.
  const isEmpty = db.find('SELECT 1 FROM sqlite_schema') === undefined
  const version = db.find('PRAGMA user_version')?.user_version as number
  const application = db.find('PRAGMA application_id')?.application_id
  if (application !== APPLICATION_ID && !isEmpty) {
    throw new TillError('storage_unavailable', 'it is a SQLite file of another program')
  }
  if (version > MIGRATIONS.length) {
    const found = `its schema is version ${version}, this tillkit knows ${MIGRATIONS.length}`
    throw new TillError('storage_unavailable', `${found}: use the newer tillkit that wrote it`)
  }
  return version
}

function storageOn(db: Connection): Storage {
  return {
    async insertAccount(account, key) {
      db.transaction(() => {
        db.run(
          'INSERT INTO accounts (account_id, name, created_at) VALUES (?, ?, ?)',
          account.account_id,
          account.name,
          account.created_at,
        )
        db.run(
          'INSERT INTO account_keys (key_id, account_id, hash, created_at) VALUES (?, ?, ?, ?)',
          key.key_id,
          key.account_id,
          key.hash,
          key.created_at,
        )
      })
    },
    async findAccount(account_id) {
      return maybe(
        accountRecord,
        db.find('SELECT * FROM accounts WHERE account_id = ?', account_id),
      )
    },
    async findAccountByKeyHash(hash) {
      const row = db.find(
        `SELECT a.* FROM account_keys k JOIN accounts a ON a.account_id = k.account_id
         WHERE k.hash = ?`,
        hash,
      )
      return maybe(accountRecord, row)
    },
    async listAccounts() {
      return db.all('SELECT * FROM accounts ORDER BY seq').map(accountRecord)
    },

    async insertProject(project) {
      db.run(
        `INSERT INTO projects (id, account_id, name, bundle_id, platform, status, dlscheme,
           public_key, config, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        project.id,
        project.account_id,
        project.name,
        project.bundle_id,
        project.platform,
        project.status,
        project.dlscheme,
        project.public_key,
        JSON.stringify(project.config),
        project.created_at,
      )
    },
    async findProject(id) {
      return findProject(db, id)
    },
    async findProjectByPublicKey(public_key) {
      return maybe(
        projectRecord,
        db.find('SELECT * FROM projects WHERE public_key = ?', public_key),
      )
    },
    async listProjects(account_id) {
      return db
        .all('SELECT * FROM projects WHERE account_id = ? ORDER BY seq', account_id)
        .map(projectRecord)
    },
    async updateProject(id, change) {
      return db.transaction(() => {
        const current = findProject(db, id)
        if (!current) return undefined
        const changed = change(current)
        db.run(
          `UPDATE projects SET name = ?, bundle_id = ?, platform = ?, status = ?, dlscheme = ?,
             public_key = ?, config = ? WHERE id = ?`,
          changed.name,
          changed.bundle_id,
          changed.platform,
          changed.status,
          changed.dlscheme,
          changed.public_key,
          JSON.stringify(changed.config),
          id,
        )
        return changed
      })
    },

    async insertStore(store) {
      const inserted = db.run(
        `INSERT INTO stores (account_id, project_id, store_id, store_type, is_sandbox, status,
           store_config, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (account_id, store_id) DO NOTHING`,
        store.account_id,
        store.project_id,
        store.store_id,
        store.store_type,
        Number(store.is_sandbox),
        store.status,
        JSON.stringify(store.store_config),
        store.created_at,
      )
      return inserted === 1
    },
    async findStore(account_id, store_id) {
      const row = db.find(
        'SELECT * FROM stores WHERE account_id = ? AND store_id = ?',
        account_id,
        store_id,
      )
      return maybe(storeRecord, row)
    },
    async listStores(project_id) {
      return db
        .all('SELECT * FROM stores WHERE project_id = ? ORDER BY seq', project_id)
        .map(storeRecord)
    },

    async insertItem(item) {
      const inserted = db.run(
        `INSERT INTO items (id, store, name, display_name, description, price, type, metadata,
           created_at)
         VALUES (?, (SELECT seq FROM stores WHERE account_id = ? AND store_id = ?),
           ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (store, name) DO NOTHING`,
        item.id,
        item.account_id,
        item.store_id,
        item.name,
        item.display_name,
        item.description,
        item.price,
        item.type,
        JSON.stringify(item.metadata),
        item.created_at,
      )
      return inserted === 1
    },
    async findItem(id) {
      return maybe(itemRecord, db.find(`${SELECT_ITEMS} WHERE i.id = ?`, id))
    },
    async listItems({ account_id, store_id }) {
      const where = 'WHERE s.account_id = ? AND s.store_id = ? ORDER BY i.seq'
      return db.all(`${SELECT_ITEMS} ${where}`, account_id, store_id).map(itemRecord)
    },
    async openImport(store, import_id) {
      return openImport(db, seqOfStore(db, store), import_id)
    },
    async listPurchases(store, filter, page) {
      return listPurchases(db, seqOfStore(db, store), store.store_id, filter, page)
    },

    async insertSigningKey(key) {
      db.run(
        'INSERT INTO signing_keys (kid, secret, created_at) VALUES (?, ?, ?)',
        key.kid,
        key.secret,
        key.created_at,
      )
    },
    async insertFirstSigningKey(key) {
      db.run(
        `INSERT INTO signing_keys (kid, secret, created_at)
         SELECT ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM signing_keys)`,
        key.kid,
        key.secret,
        key.created_at,
      )
    },
    async listSigningKeys() {
      return db.all('SELECT * FROM signing_keys ORDER BY seq').map(signingKeyRecord)
    },

    async close() {
      db.close()
    },
  }
}

const SELECT_ITEMS = `
  SELECT i.*, s.account_id, s.project_id, s.store_id FROM items i JOIN stores s ON s.seq = i.store`

function seqOfStore(db: Connection, { account_id, store_id }: StoreKey): number {
  const sql = 'SELECT seq FROM stores WHERE account_id = ? AND store_id = ?'
  const row = db.find(sql, account_id, store_id)
  if (!row) throw new Error('the store must be inserted before what it holds')
  return row.seq as number
}

function findProject(db: Connection, id: string): Project | undefined {
  return maybe(projectRecord, db.find('SELECT * FROM projects WHERE id = ?', id))
}

function maybe<T>(record: (row: Row) => T, row: Row | undefined): T | undefined {
  return row && record(row)
}

function accountRecord(row: Row): Account {
  return {
    account_id: row.account_id as string,
    name: row.name as string,
    created_at: row.created_at as string,
  }
}

function projectRecord(row: Row): Project {
  return {
    id: row.id as string,
    account_id: row.account_id as string,
    name: row.name as string,
    bundle_id: row.bundle_id as string,
    platform: row.platform as string,
    status: row.status as string,
    dlscheme: row.dlscheme as string,
    public_key: row.public_key as string,
    config: JSON.parse(row.config as string),
    created_at: row.created_at as string,
  }
}

function storeRecord(row: Row): Store {
  return {
    account_id: row.account_id as string,
    project_id: row.project_id as string,
    store_id: row.store_id as string,
    store_type: row.store_type as StoreType,
    is_sandbox: row.is_sandbox === 1,
    status: row.status as string,
    store_config: JSON.parse(row.store_config as string),
    created_at: row.created_at as string,
  }
}

function itemRecord(row: Row): Item {
  return {
    id: row.id as string,
    account_id: row.account_id as string,
    project_id: row.project_id as string,
    store_id: row.store_id as string,
    name: row.name as string,
    display_name: row.display_name as string,
    description: row.description as string,
    price: row.price as number,
    type: row.type as ItemType,
    metadata: JSON.parse(row.metadata as string),
    created_at: row.created_at as string,
  }
}

function signingKeyRecord(row: Row): StoredSigningKey {
  return {
    kid: row.kid as string,
    secret: row.secret as Uint8Array,
    created_at: row.created_at as string,
  }
}
