import type { StoreVerbs } from '../port.ts'
import { maybe, storeRecord } from '../records.ts'
import type { Database } from './connection.ts'
import { insertOnce, writeTrail } from './trail.ts'

export function storeVerbs(db: Database): StoreVerbs {
  return {
    insertStore(store, trail = {}) {
      return insertOnce(
        db,
        trail,
        `INSERT INTO stores (account_id, project_id, store_id, store_type, is_sandbox, status,
           store_config, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (account_id, store_id) DO NOTHING`,
        store.account_id,
        store.project_id,
        store.store_id,
        store.store_type,
        store.is_sandbox,
        store.status,
        store.store_config,
        store.created_at,
      )
    },
    async findStore(account_id, store_id) {
      return maybe(storeRecord, await db.find(FIND, account_id, store_id))
    },
    async listStores(project_id) {
      const sql = 'SELECT * FROM stores WHERE project_id = $1 ORDER BY seq'
      return (await db.all(sql, project_id)).map(storeRecord)
    },
    updateStore({ account_id, store_id }, change, trail = {}) {
      return db.transaction(async (tx) => {
        const row = await tx.find(`${FIND} FOR NO KEY UPDATE`, account_id, store_id)
        if (!row) return undefined
        const changed = change(storeRecord(row))
        await tx.run(
          'UPDATE stores SET is_sandbox = $1, status = $2, store_config = $3 WHERE seq = $4',
          changed.is_sandbox,
          changed.status,
          changed.store_config,
          row.seq as number,
        )
        await writeTrail(tx, trail)
        return changed
      })
    },
  }
}

const FIND = 'SELECT * FROM stores WHERE account_id = $1 AND store_id = $2'
