import type { Project } from '../domain/project.ts'
import { TillError } from '../errors.ts'
import type { Storage, StoreKey } from './port.ts'
import type { Connection, Row } from './sqlite/connection.ts'
import { type SqliteDriverName, translateSqliteError } from './sqlite/drivers.ts'
import { openFile } from './sqlite/file.ts'
import { clearAbandonedImports, openImport } from './sqlite/imports.ts'
import { listPurchases } from './sqlite/purchases.ts'
import {
  accountRecord,
  itemRecord,
  projectRecord,
  signingKeyRecord,
  storeRecord,
} from './sqlite/records.ts'

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
    const db = await openFile(path, options.driver)
    await clearAbandonedImports(db)
    return storageOn(db)
  } catch (error) {
    const { message, code } = translateSqliteError(error) as { message: string; code?: string }
    if (code === undefined) throw error
    throw new TillError('storage_unavailable', `Cannot open the database ${path}: ${message}`)
  }
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
    async deleteSigningKeys(kids) {
      db.transaction(() => {
        for (const kid of kids) db.run('DELETE FROM signing_keys WHERE kid = ?', kid)
      })
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
