import { accountMethods } from './memory/accounts.ts'
import { auditMethods } from './memory/audit.ts'
import { bucketMethods } from './memory/buckets.ts'
import { catalogMethods } from './memory/catalog.ts'
import { copyMethods } from './memory/copies.ts'
import { importMethods } from './memory/imports.ts'
import { itemMethods } from './memory/items.ts'
import { projectMethods } from './memory/projects.ts'
import { purchaseMethods } from './memory/purchases.ts'
import { createState } from './memory/state.ts'
import { storeMethods } from './memory/stores.ts'
import { tokenMethods } from './memory/tokens.ts'
import { webhookMethods } from './memory/webhooks.ts'
import type { Storage } from './port.ts'
import { unfinishedError } from './unfinished.ts'

/**
 * Creates a storage in the memory of this process, for tests, demos and embedding without a file.
 */
export function createMemoryStorage(): Storage {
  const state = createState()
  return {
    async ping() {
      if (state.isUnfinished) throw unfinishedError()
    },
    ...accountMethods(state),
    ...projectMethods(state),
    ...storeMethods(state),
    ...itemMethods(state),
    ...catalogMethods(state),
    ...importMethods(state),
    ...purchaseMethods(state),
    ...tokenMethods(state),
    ...auditMethods(state),
    ...bucketMethods(),
    ...webhookMethods(state),
    ...copyMethods(state),
    async check() {
      return []
    },
    async close() {},
  }
}
