import type { PurchaseImport, StoreKey } from '../records.ts'
import { accountMethods } from './accounts.ts'
import { auditMethods } from './audit.ts'
import { catalogMethods } from './catalog.ts'
import { type CopyDialect, copyMethods } from './copy.ts'
import type { Sql } from './dialect.ts'
import { type ImportDialect, importLeases } from './imports.ts'
import { itemMethods, type OwnItemMethods } from './items.ts'
import { projectMethods } from './projects.ts'
import { type PurchaseDialect, purchaseReads } from './purchases.ts'
import { type RecordDialect, recordMethod } from './record.ts'
import { storeMethods } from './stores.ts'
import { tokenMethods } from './tokens.ts'
import { webhookMethods } from './webhooks.ts'

/** The parts of the methods that differ between the databases, besides `Dialect`. */
export interface OwnParts {
  readonly items: OwnItemMethods
  readonly purchases: PurchaseDialect
  readonly imports: ImportDialect
  readonly records: RecordDialect
  readonly copy: CopyDialect
}

/** The methods of a storage, and the function that deletes abandoned imports. */
export function sqlMethods(sql: Sql, { items, purchases, imports, records, copy }: OwnParts) {
  const leases = importLeases(sql, imports)
  const { clearAbandoned, insertImport, undoImport } = leases
  const methods = {
    ...accountMethods(sql),
    ...projectMethods(sql),
    ...storeMethods(sql),
    ...itemMethods(sql, items),
    ...catalogMethods(sql),
    ...purchaseReads(sql, purchases),
    ...tokenMethods(sql),
    ...auditMethods(sql),
    ...webhookMethods(sql),
    ...copyMethods(sql, copy),
    /**
     * Records one purchase as an import of its own, whose `import_id` begins with `rec_`. Inserts the
     * purchase, or updates the status of a stored one. Any other outcome changes no purchase. If the
     * outcome is `skipped`, undoing the file import that added the purchase then needs `force`.
     */
    recordPurchase: recordMethod(sql, records, imports, clearAbandoned),
    /** Starts an import. Resolves to undefined while another import into the same store runs. */
    async openImport(store: StoreKey, import_id: string): Promise<PurchaseImport | undefined> {
      const lease = await insertImport(store, import_id)
      return lease && imports.createImport(lease, leases)
    },
    undoImport,
  }
  return { methods, clearAbandoned }
}
