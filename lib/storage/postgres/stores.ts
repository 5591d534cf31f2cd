import { recordPage } from '../pages.ts'
import type { StoreMethods } from '../port.ts'
import { maybe, storeRecord, storeSummaryRecord } from '../records.ts'
import { insertOnce, recordWrite } from './audit.ts'
import { lockAuthority, lockOf, verifyAuthority } from './authority.ts'
import { configuredQuery, listConfigured } from './configured.ts'
import type { Database } from './connection.ts'
import { assertQuotaOfGrowth } from './quota.ts'

export function storeMethods(db: Database): StoreMethods {
  return {
    insertStore(store, write = {}) {
      return insertOnce(
        db,
        write,
        `INSERT INTO stores (account_id, project_id, store_id, store_type, is_sandbox, status,
           store_config, created_at) SELECT $1, $2, $3, $4, $5, $6, $7, $8 FROM authority
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
    async findStore(account_id, store_id, project_id) {
      const row =
        project_id === undefined
          ? await db.find(FIND, account_id, store_id)
          : await db.find(`${FIND} AND project_id = $3`, account_id, store_id, project_id)
      return maybe(storeRecord, row)
    },
    listStores: (project_id, page) => listConfigured(db, LIST, project_id, page, storeRecord),
    async listStoreSummaries(project_id, page) {
      const rows = await db.all(
        `SELECT seq, store_id, store_type, is_sandbox, status FROM stores
         WHERE project_id = $1 AND seq > $2::bigint ORDER BY seq LIMIT $3`,
        project_id,
        page.after ?? '0',
        page.limit + 1,
      )
      return recordPage(rows, page, storeSummaryRecord, ({ seq }) => seq)
    },
    updateStore({ account_id, store_id }, change, write = {}) {
      return db.transaction(async (tx) => {
        await lockAuthority(tx, write.authority, lockOf.store({ account_id, store_id }))
        const row = await tx.find(`${FIND} FOR NO KEY UPDATE`, account_id, store_id)
        if (!row) return undefined
        await verifyAuthority(tx, write.authority)
        const current = storeRecord(row)
        const changed = change(current)
        if (changed === current) return current
        await tx.run(
          'UPDATE stores SET is_sandbox = $1, status = $2, store_config = $3 WHERE seq = $4',
          changed.is_sandbox,
          changed.status,
          changed.store_config,
          row.seq as number,
        )
        const { quota } = write
        await assertQuotaOfGrowth(tx, quota, current.store_config, changed.store_config)
        await recordWrite(tx, write)
        return changed
      })
    },
  }
}

const LIST = configuredQuery('stores', 'project_id', 'store_config')
const FIND = 'SELECT * FROM stores WHERE account_id = $1 AND store_id = $2'
