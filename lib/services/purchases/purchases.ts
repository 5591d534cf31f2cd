import type { Explanation } from '../../csv/explain/interface.ts'
import { formatPurchase, PURCHASE_HEADER } from '../../csv/export.ts'
import type { Account } from '../../domain/account.ts'
import { invalidField, parseObject } from '../../domain/fields.ts'
import type { Deliveries, OrderKey, Refunds } from '../../domain/order.ts'
import type { OwnedPage, Purchase, RecordedPurchase, StatusChange } from '../../domain/purchase.ts'
import type { PurchaseInput } from '../../domain/purchase-input.ts'
import {
  type ListPage,
  type OwnedQuery,
  type PurchaseFilter,
  type PurchaseKey,
  type PurchaseQuery,
  type PurchaseSelection,
  pageFor,
  parsePurchaseQuery,
  purchaseKeyFields,
} from '../../domain/query.ts'
import type { Reconciliation } from '../../domain/reconciliation.ts'
import { type PurchaseSummary, type SummaryQuery, summaryFields } from '../../domain/summary.ts'
import { type Page, pagesOf, type Storage } from '../../storage/port.ts'
import { assertAccount, type Caller, getNamedStore, readNamedStore, verified } from '../access.ts'
import type { CallOptions } from '../audit.ts'
import type { Context } from '../context.ts'
import type { ReconcileRequest } from './comparison.ts'
import { deliverOrder } from './deliver.ts'
import { type ExplainRequest, explainPurchases } from './explain.ts'
import { type ImportRequest, type ImportResult, importFile } from './file-import.ts'
import { createOverview, type Overview, type ReportOptions, signalOf } from './overview.ts'
import { listOwned } from './owned.ts'
import { reconcileFile } from './reconcile.ts'
import { recordPurchase } from './record.ts'
import { refundOrder } from './refund.ts'

export interface Purchases extends Overview {
  /**
   * Imports all rows of a CSV file or none. Rows fill what stored purchases lack, unless the caller is
   * a session whose token the account did not issue. Throws `invalid_purchases`, which names the bad lines,
   * `store_inactive` or `quota_exceeded`. Waits while another import into the same store runs.
   */
  import(caller: Caller, request: ImportRequest, options?: CallOptions): Promise<ImportResult>
  /**
   * Proposes a layout for a file of any shop, by the names and the contents of its columns, and asks
   * what the file cannot tell. Reads the first 10,000 rows. Imports and stores nothing. Throws
   * `invalid_purchases` for a file that is no CSV file or cannot be imported at all.
   */
  explain(account: Account, request: ExplainRequest): Promise<Explanation>
  /**
   * Compares the stored purchases with a vendor's file, over the period of the file's sales: see
   * docs/purchases.md. Changes nothing unless `cancel_missing` is given. Throws the errors of `import`,
   * and `invalid_request` if the format of the file needs `from` and `to`. With `cancel_missing`, waits
   * while an import into the store runs.
   */
  reconcile(
    account: Account,
    request: ReconcileRequest,
    options?: CallOptions,
  ): Promise<Reconciliation>
  /**
   * Records one purchase, with the same rules as for a row of a file. If the `transaction_id` is
   * already stored, only advances the status, and fills the user, the price or the end that the
   * stored purchase lacks. Ignores another time, end or metadata. Throws `invalid_request` for
   * another SKU, quantity, user, price or currency, and for a refund of a cancelled purchase or the
   * reverse. Throws `store_inactive`, and `storage_unavailable` if a running import has the same id.
   */
  record(account: Account, input: PurchaseInput, options?: CallOptions): Promise<RecordedPurchase>
  /**
   * Refunds the purchase with a transaction id. In a store without it, the id is that of an order:
   * refunds all purchases whose ids begin with it and a slash. Safe to repeat. Throws
   * `purchase_not_found` and `store_inactive`. Throws `invalid_request` with the code `ambiguous`
   * if the order has more than 100 purchases, or purchases of more than 48 hours. Waits like
   * `record` for a running import that has one of the purchases.
   */
  refund(account: Account, order: OrderKey, options?: CallOptions): Promise<Refunds>
  /**
   * Notes that the game delivers a purchase, or the purchases of an order. Call it before you grant
   * the items, and grant those whose outcome is `delivered`. Of several calls, also of two servers at
   * once, only one gets `delivered`. Purchases of imported files count as delivered, unless the import
   * had `undelivered`. Takes the same ids as `refund`, and throws the same errors.
   */
  deliver(account: Account, order: OrderKey, options?: CallOptions): Promise<Deliveries>
  /**
   * One page of what a user owns, in order of SKU: purchases with the status `purchased` that have
   * not expired. A session may ask for its own user with the scope `items:read`, if the account
   * issued its token. Any other session throws `insufficient_scope`.
   */
  owned(caller: Caller, query: OwnedQuery): Promise<OwnedPage>
  /**
   * One page of a store's purchases in order of import, or newest first. A page examines at most
   * 10,000 purchases, and ends when their metadata have 512 KiB of text. It may then have fewer
   * than `limit`, or none, and still a `next`. With a `transaction_id` it has the purchase, or
   * those of the order, as `refund` finds them. Without a `store_id` it searches each store of the
   * account. Throws `invalid_request` for an unknown store or import.
   */
  list(account: Account, query: PurchaseQuery): Promise<PurchasePage>
  /** The changes of a purchase's status, oldest first. Empty for a purchase that never changed. */
  changes(account: Account, purchase: PurchaseKey): Promise<{ changes: StatusChange[] }>
  /** Iterates over the selected purchases of a store, and reads them page by page. */
  all(account: Account, selection: PurchaseSelection): AsyncIterable<Purchase>
  /** Yields chunks of a canonical CSV file of the selected purchases. It can be imported again. */
  export(account: Account, selection: PurchaseSelection): AsyncIterable<string>
  /**
   * Counts, revenue, refunds and distinct buyers by month, SKU and currency, or by the fields of
   * `by`. Without a `store_id` it covers all live stores of the account, or with `sandbox` all its
   * sandbox stores. Throws
   * `invalid_request` when there are more than `maxGroups`.
   */
  summarize(
    account: Account,
    query: SummaryQuery,
    options?: ReportOptions,
  ): Promise<PurchaseSummary[]>
}

export interface PurchasePage extends ListPage {
  readonly purchases: readonly Purchase[]
}

export function createPurchases(context: Context): Purchases {
  const { storage, longCalls } = context
  const purchases: Purchases = {
    ...createOverview(context),

    import: (caller, request, options) => importFile(context, caller, request, options),
    explain: (account, request) => explainPurchases(context, account, request),
    reconcile: (account, request, options) => reconcileFile(context, account, request, options),
    record: (account, input, options) => recordPurchase(context, account, input, options),
    refund: (account, order, options) => refundOrder(context, account, order, options),
    deliver: (account, order, options) => deliverOrder(context, account, order, options),
    owned: (caller, query) => listOwned(context, caller, query),

    async list(account, query) {
      assertAccount(account, 'read')
      const { store_id, transaction_id, limit, cursor, newest_first, ...given } =
        parsePurchaseQuery(query)
      const filter = given.undelivered ? { ...given, status: given.status ?? DELIVERABLE } : given
      const { account_id } = account
      if (transaction_id !== undefined) {
        if (store_id !== undefined) await getNamedStore(storage, account, store_id)
        const stores = { account_id, store_id }
        const page = pageFor({ limit, cursor })
        const found = await storage.findTransactions(stores, transaction_id, filter, page)
        const { records: purchases, ...further } = found
        return { purchases, ...further }
      }
      const store = { account_id, store_id: store_id as string } // the query has one of both
      const page = { ...pageFor({ limit, cursor }), newestFirst: newest_first }
      const { records: purchases, ...further } = await readNamedStore(
        storage.listPurchases(store, filter, page),
        getNamedStore(storage, account, store.store_id),
      )
      if (purchases.length === 0) await assertImport(storage, account, filter, store_id)
      return { purchases, ...further }
    },

    async changes(account, purchase) {
      assertAccount(account, 'read')
      const { store_id, transaction_id } = parseObject(purchase, purchaseKeyFields)
      const store = await getNamedStore(storage, account, store_id)
      return { changes: await storage.listStatusChanges(store, transaction_id) }
    },

    async *all(account, selection) {
      const list = ({ limit, after: cursor }: Page) =>
        purchases.list(account, { ...selection, limit, cursor })
      const pages = longCalls.each(
        account.account_id,
        pagesOf(verified(context, account, 'read', list), ALL_PAGE),
      )
      for await (const page of pages) yield* page.purchases
    },

    async *export(account, selection) {
      yield PURCHASE_HEADER
      for await (const purchase of purchases.all(account, selection)) yield formatPurchase(purchase)
    },

    async summarize(account, query, options) {
      assertAccount(account, 'read')
      const signal = signalOf(options)
      const { account_id } = account
      const { store_id, sandbox, by, top, maxGroups, ...filter } = parseObject(query, summaryFields)
      if (store_id !== undefined) await getNamedStore(storage, account, store_id)
      const isOneStore = store_id !== undefined
      if (isOneStore && sandbox) throw invalidField('sandbox', 'invalid', 'takes no store_id')
      const stores = isOneStore ? { account_id, store_id } : { account_id, is_sandbox: sandbox }
      const isTop = top !== undefined
      const limit = isTop ? top : maxGroups && maxGroups + 1
      const most = limit === undefined ? undefined : { isTop, limit }
      const read = verified(context, account, 'read', () =>
        storage.summarizePurchases(stores, filter, by, most, signal),
      )
      const groups = await longCalls.run(account_id, read, { signal })
      if (groups.length === 0) await assertImport(storage, account, filter, store_id)
      if (isTop || maxGroups === undefined || groups.length <= maxGroups) return groups
      const message = `gives more than ${maxGroups} groups: select less, or only the top ones`
      throw invalidField('by', 'too_many', message)
    },
  }
  return purchases
}

const DELIVERABLE = 'purchased'

/** The page size of `all` and `export`. Reading such a page blocks the event loop for 4 ms. */
const ALL_PAGE = 250

/**
 * Throws `invalid_request` if a query names an import that the account or the store does not have.
 */
async function assertImport(
  storage: Storage,
  { account_id }: Account,
  { import_id }: PurchaseFilter,
  store_id: string | undefined,
): Promise<void> {
  if (import_id === undefined) return
  const found = await storage.findImport(account_id, import_id)
  if (found && found.store_id === (store_id ?? found.store_id)) return
  const place = store_id === undefined ? 'any store of this account' : 'this store'
  throw invalidField('import_id', 'unknown', `names no import into ${place}`)
}
