import type { AuditEntry } from '../../domain/audit.ts'
import {
  catalogChanged,
  catalogPage,
  catalogReads,
  entryMaker,
  PAGE_OF_CATALOG_ITEMS,
  STATE_QUERY,
  stateOfRows,
} from '../catalog.ts'
import type { CatalogMethods } from '../port.ts'
import { UPDATE_PROJECT, UPDATE_STORE } from '../statements.ts'
import { AUDIT, ITEM_ROWS, PROJECT_CHANGES, STORE_CHANGES, STORES } from '../tables.ts'
import { recordWrite } from './audit.ts'
import { verifyAuthority } from './authority.ts'
import type { Connection } from './connection.ts'
import { assertQuota } from './quota.ts'

export function catalogMethods(db: Connection): CatalogMethods {
  return {
    ...catalogReads(db),
    async listCatalogItems({ account_id, store_id }, page) {
      const values = [account_id, store_id, page.after ?? '0', page.limit + 1]
      return db.some((rows) => catalogPage(rows, page), PAGE_OF_CATALOG_ITEMS, ...values)
    },
    applyCatalog({ project_id, state, change_id, project, ...changes }, write = {}) {
      return db.transaction(() => {
        verifyAuthority(db, write.authority)
        const current = db.find(STATE_QUERY.project, project_id)
        const stores = db.all(STATE_QUERY.stores, project_id, project_id)
        if (!current || stateOfRows(current, stores) !== state) throw catalogChanged()
        const entries = entryMaker(write)
        const note = (entry: readonly AuditEntry[]) => {
          for (const each of entry) db.insert(AUDIT, each)
        }
        if (project) {
          db.run(UPDATE_PROJECT, ...PROJECT_CHANGES.sqliteValues(project), project_id)
          note(entries.project(project))
        }
        for (const store of changes.newStores) {
          if (db.insert(STORES, store) === 0) throw catalogChanged()
          note(entries.store('store.create', store))
        }
        for (const store of changes.stores) {
          const { account_id, store_id } = store
          db.run(UPDATE_STORE, ...STORE_CHANGES.sqliteValues(store), account_id, store_id)
          note(entries.store('store.update', store))
        }
        for (const item of changes.newItems) {
          if (db.insert(ITEM_ROWS, item) === 0) throw catalogChanged()
          note(entries.newItem(item))
        }
        for (const change of changes.items) {
          const { id, version, archived_at, ...item } = change
          const { display_name = null, description = null, price = null } = item
          const metadata = item.metadata ? JSON.stringify(item.metadata) : null
          const isKept = archived_at === undefined ? 1 : 0
          const values = [display_name, description, price, metadata, isKept, archived_at ?? null]
          if (db.run(UPDATE_ITEM, ...values, change_id, id, version) === 0) throw catalogChanged()
          note(entries.item(change))
        }
        assertQuota(db, write.quota)
        recordWrite(db, write)
      })
    },
  }
}

const UPDATE_ITEM = `
  UPDATE items SET display_name = coalesce(?, display_name),
    description = coalesce(?, description), price = coalesce(?, price),
    metadata = coalesce(?, metadata), archived_at = CASE WHEN ? THEN archived_at ELSE ? END,
    version = version + 1, changed = ?
  WHERE id = ? AND version = ?`
