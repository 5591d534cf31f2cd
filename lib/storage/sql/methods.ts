import { accountMethods } from './accounts.ts'
import { auditMethods } from './audit/audit.ts'
import { catalogMethods } from './catalog.ts'
import { type CopyDialect, copyMethods } from './copy.ts'
import type { Sql } from './dialect.ts'
import { itemMethods, type OwnItemMethods } from './items.ts'
import { projectMethods } from './projects.ts'
import { undeliveredMarker } from './purchases/deliveries.ts'
import { erasureMethod } from './purchases/erasure.ts'
import { type ImportDialect, importLeases } from './purchases/imports.ts'
import { orderMethods } from './purchases/orders.ts'
import { type PurchaseDialect, purchaseReads } from './purchases/purchases.ts'
import { type RecordDialect, recordMethod } from './purchases/record.ts'
import type { PurchaseImport } from './purchases/records.ts'
import { undoMethod } from './purchases/undo.ts'
import type { StoreKey } from './records.ts'
import { storeMethods } from './stores.ts'
import { tokenMethods } from './tokens.ts'
import { webhookMethods } from './webhooks/webhooks.ts'

/** The parts of the methods that differ between the databases, besides `Dialect`. */
interface OwnParts {
  readonly items: OwnItemMethods
  readonly purchases: PurchaseDialect
  readonly imports: ImportDialect
  readonly records: RecordDialect
  readonly copy: CopyDialect
}

/** The methods of a storage, and the function that deletes abandoned imports. */
export function sqlMethods(sql: Sql, { items, purchases, imports, records, copy }: OwnParts) {
  const leases = importLeases(sql, imports)
  const { clearAbandoned, insertImport } = leases
  const markUndelivered = undeliveredMarker(sql)
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
     * Resolves to undefined while a running import has the same `transaction_id`, or when the sequence
     * numbers that it left free for recorded purchases are used up.
     */
    recordPurchase: recordMethod(sql, records, imports, clearAbandoned),
    ...orderMethods(sql, records, imports, clearAbandoned),
    /** Starts an import. Resolves to undefined while another import into the same store runs. */
    async openImport(store: StoreKey, import_id: string): Promise<PurchaseImport | undefined> {
      const lease = await insertImport(store, import_id)
      if (!lease) return undefined
      const running = imports.createImport(lease, leases)
      return { ...running, markUndelivered: () => markUndelivered(lease) }
    },
    undoImport: undoMethod(sql, imports, leases),
    /**
     * Erases the purchases of a user in a store, one batch after the other. Holds the lease of an
     * import meanwhile, so that no import adds purchases of the user. A later import with the same
     * transaction ids does not restore them or their user. Resolves to undefined, and does nothing,
     * while an import into the store runs. After an interruption, call it again.
     */
    erasePurchases: erasureMethod(sql, purchases, leases),
  }
  return { methods, clearAbandoned }
}
