import type { AuditAction } from '../../../domain/audit.ts'
import type { StoredEndpoint } from '../../../domain/endpoint.ts'
import { verifyAuthority } from '../authority.ts'
import { numberOf } from '../columns.ts'
import type { Sql } from '../dialect.ts'
import { findRecord, recordPage } from '../pages.ts'
import { all, find, type Program } from '../program.ts'
import type { Page, RecordPage, StoreKey, WriteOptions } from '../records.ts'
import { ENDPOINTS } from '../tables.ts'
import { recordWrite, shareOf } from '../write.ts'
import { deliveryMethods } from './delivery.ts'
import { FIND_ENDPOINT } from './dialect.ts'
import { listEndpoints, measureLag, moveEndpoint, writeEndpoint } from './endpoints.ts'
import { logMethods } from './log.ts'
import type { EndpointMove, EndpointsOf, Refund } from './records.ts'
import { EXAMINED_REFUNDS, IS_REFUND, refundOf } from './refunds.ts'

/**
 * Webhook endpoints and their messages. Each endpoint has a position in the audit log. The entries
 * after the position are unread. Reading an entry inserts its messages and moves the position, in
 * one transaction. A crash of the machine may lose the results of the latest deliveries. The
 * messages are then sent again.
 */
export function webhookMethods(sql: Sql) {
  const { read, write } = sql

  const findUser = `
    SELECT ${sql.statusChanges.userOfPurchase} AS user_id
    FROM stores s ${sql.statusChanges.joinTransaction} WHERE s.account_id = ? AND s.store_id = ?`

  function* listRefunds(import_id: string, page: Page): Program<RecordPage<Refund>> {
    const { after = '0', limit } = page
    const changes = sql.statusChanges.changesOfImport(import_id, after)
    const rows = yield* all(
      `SELECT c.purchase, p.transaction_id, ${sql.statusChanges.userOfPurchase} AS user_id,
        t.name AS sku, c.after AS status
      FROM (${changes.sql}) c CROSS JOIN purchases p CROSS JOIN items t
      WHERE ${sql.statusChanges.isPurchaseOfChange} AND t.seq = p.item AND c.${IS_REFUND}
      ORDER BY c.purchase LIMIT ?`,
      ...changes.values,
      limit + 1,
    )
    const last = yield* find(
      `SELECT purchase FROM (${changes.sql}) c ORDER BY purchase
      LIMIT 1 OFFSET ${EXAMINED_REFUNDS - 1}`,
      ...changes.values,
    )
    const found = recordPage(rows, page, refundOf, ({ purchase }) => purchase)
    return { ...(last && { next: String(last.purchase) }), ...found }
  }

  function* findPurchaseUser({ account_id, store_id }: StoreKey, transaction_id: string) {
    const row = yield* find(findUser, transaction_id, account_id, store_id)
    return (row?.user_id ?? undefined) as string | undefined
  }

  return {
    findEndpoint: (id: string) => read(findRecord(ENDPOINTS.read, FIND_ENDPOINT, id)),
    /** Lists endpoints of all accounts, of one, or of one project, sorted by id. */
    listEndpoints: (owner: EndpointsOf, page: Page) => read(listEndpoints(owner, page)),
    /** Replaces an endpoint by the result of `change`. Resolves to undefined if it does not exist. */
    updateEndpoint: (
      id: string,
      change: (current: StoredEndpoint) => StoredEndpoint,
      move: EndpointMove = {},
      options: WriteOptions = {},
    ) =>
      write(function* () {
        yield* verifyAuthority(sql, options.authority)
        const current = yield* findRecord(ENDPOINTS.read, FIND_ENDPOINT + sql.forUpdate, id)
        if (!current) return undefined
        const changed = change(current)
        yield* writeEndpoint(changed)
        yield* moveEndpoint(sql, id, move)
        yield* recordWrite(sql, options)
        return changed
      }, shareOf(options)),
    /**
     * Counts the unread audit entries with one of the `actions`, and the waiting messages. Examines
     * at most `most` of each; default 10,000.
     */
    measureLag: (id: string, actions: readonly AuditAction[], most?: number) =>
      read(measureLag(sql, id, actions, most)),
    /** Counts the endpoints with a URL that the account has not confirmed yet. */
    countUnconfirmed: async () => numberOf((await read(find(COUNT_UNCONFIRMED)))?.n),
    ...deliveryMethods(sql),
    ...logMethods(sql),
    /**
     * Lists the purchases whose status an import changed to refunded or cancelled, in a fixed order.
     * A page examines at most 5,000 status changes, and may be empty although `next` is set. After an
     * undo of the import, the list is empty.
     */
    listRefunds: (import_id: string, page: Page) => read(listRefunds(import_id, page)),
    /**
     * Finds the user of a stored purchase. Undefined for an unknown purchase, and for one without a
     * user.
     */
    findPurchaseUser: (store: StoreKey, transaction_id: string) =>
      read(findPurchaseUser(store, transaction_id)),
  }
}

const COUNT_UNCONFIRMED =
  'SELECT count(*) AS n FROM webhook_endpoints WHERE unconfirmed IS NOT NULL'
