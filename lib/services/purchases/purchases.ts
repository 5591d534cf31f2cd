import { createHash } from 'node:crypto'
import { formatPurchase, PURCHASE_HEADER } from '../../csv/export.ts'
import { assertLayoutChoice, layoutFields } from '../../csv/options.ts'
import { invalidSkus, type SkuMap } from '../../csv/skus.ts'
import type { Account } from '../../domain/account.ts'
import { assertAuthority } from '../../domain/authority.ts'
import {
  boolean,
  type InputOf,
  invalidField,
  optional,
  parseObject,
  required,
  unchecked,
  wholeNumber,
} from '../../domain/fields.ts'
import { fileName, type ImportSummary } from '../../domain/import.ts'
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
import { type Store, storeId } from '../../domain/store.ts'
import { type PurchaseSummary, type SummaryQuery, summaryFields } from '../../domain/summary.ts'
import { MAX_DETAILS } from '../../errors.ts'
import { type Page, pagesOf, type Storage } from '../../storage/port.ts'
import {
  assertAccount,
  assertScope,
  authorityOf,
  type Caller,
  getNamedStore,
  verified,
} from '../access.ts'
import { assertCallOptions, auditedWrite, type CallOptions } from '../audit.ts'
import type { Context } from '../context.ts'
import { createId } from '../ids.ts'
import { afterImport } from './after-import.ts'
import { createLoader, UNKNOWN_SKU } from './loader.ts'
import type { OnMistake } from './mistakes.ts'
import { createOverview, type Overview } from './overview.ts'
import { listOwned } from './owned.ts'
import { recordPurchase } from './record.ts'
import { appOf, rulesOf } from './rules.ts'

export interface Purchases extends Overview {
  /**
   * Imports all rows of a CSV file or none. Throws `invalid_purchases`, which names the bad lines,
   * `store_inactive` or `quota_exceeded`. Waits while another import into the same store runs.
   */
  import(caller: Caller, request: ImportRequest, options?: CallOptions): Promise<ImportResult>
  /**
   * Records one purchase, with the same rules as for a row of a file. If the `transaction_id` is
   * already stored, only advances the status or changes nothing. Throws `invalid_request` if
   * another field differs, `store_inactive`, and `storage_unavailable` if a running import has the
   * same id.
   */
  record(account: Account, input: PurchaseInput, options?: CallOptions): Promise<RecordedPurchase>
  /**
   * One page of what a user owns, in order of SKU: purchases with the status `purchased` that have
   * not expired. A session may ask for its own user with the scope `items:read`, if the account
   * issued its token. Any other session throws `insufficient_scope`.
   */
  owned(caller: Caller, query: OwnedQuery): Promise<OwnedPage>
  /**
   * One page of a store's purchases in order of import, or newest first. A page examines at most
   * 10,000 purchases. It may then have fewer than `limit`, or none, and still a `next`. With a
   * `transaction_id` it has the purchase with this id, without a `store_id` that of each store of
   * the account: at most `limit`. Throws `invalid_request` for an unknown store or import.
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
  summarize(account: Account, query: SummaryQuery): Promise<PurchaseSummary[]>
}

export interface PurchasePage extends ListPage {
  readonly purchases: readonly Purchase[]
}

const importFields = {
  store_id: required(storeId),
  /** The file's bytes in chunks of any size: a `Readable` or an array. */
  file: required(unchecked<AsyncIterable<Uint8Array> | Iterable<Uint8Array>>()),
  /** The name of the file, for the import's record; a path is cut to its last part. */
  fileName: optional(fileName, () => ''),
  /** Whether to check everything but store nothing. */
  dryRun: optional(boolean),
  ...layoutFields,
  onProgress: optional(
    unchecked<(progress: { readonly bytes: number; readonly rows: number }) => void>(),
  ),
  /** The most mistakes that a thrown error lists, 1 to 1,000; default 100. */
  maxMistakes: optional(wholeNumber(1, 1_000), () => MAX_DETAILS),
  /** Called with every mistake, even if the error does not list it, and with an unknown SKU. */
  onMistake: optional(unchecked<OnMistake>()),
  /** Aborts the import: it throws the signal's reason and stores nothing. */
  signal: optional(unchecked<AbortSignal>()),
}

export interface ImportRequest extends InputOf<typeof importFields> {}

export interface ImportResult extends ImportSummary {
  readonly import_id: string
}

export function createPurchases(context: Context): Purchases {
  const { storage, now, longCalls, rowQuotas } = context
  const purchases: Purchases = {
    ...createOverview(context),

    async import(caller, request, options) {
      assertScope(caller, 'purchases:import')
      assertCallOptions(options)
      const { store_id, file, fileName: file_name, ...parsed } = parseObject(request, importFields)
      const { dryRun, onProgress, maxMistakes, onMistake, signal, ...choice } = parsed
      assertLayoutChoice(choice)
      const store = await getNamedStore(storage, caller, store_id)
      const { account_id } = store
      const authority = { ...authorityOf(caller), store: { account_id, store_id } }
      assertAuthority({ store }, { store_status: store.status })
      await assertItems(storage, store, choice.skus)
      const rules = { ...rulesOf(store), refundsOnly: choice.refundsOnly }
      const app = appOf(store, await storage.findProject(store.project_id))
      const import_id = createId('imp', now())
      const { is_sandbox } = store
      const reading = { ...choice, currency: rules.currency, is_sandbox, app }
      const room = await rowQuotas.purchases.room(account_id)
      const assertAdded = (added: number) => {
        if (added > room) throw rowQuotas.purchases.refusal()
      }
      const open = () => storage.openImport(store, import_id)
      const running = await afterImport(open, signal)
      const settings = { layout: reading, onMistake, assertAdded, maxMistakes, signal }
      const loader = createLoader(running, rules, settings)
      const hash = createHash('sha256')
      try {
        let bytes = 0
        for await (const chunk of file) {
          await loader.push(chunk)
          hash.update(chunk)
          bytes += chunk.length
          onProgress?.({ bytes, rows: loader.rows })
        }
        const summary = await loader.end()
        signal?.throwIfAborted()
        if (dryRun || summary.rows === 0) {
          await storage.verifyAuthority(authority)
          await running.abort()
        } else {
          const { rows, added, skipped, updated, passed_over, totals } = summary
          if (added > 0 && added > (await rowQuotas.purchases.room(account_id, added))) {
            throw rowQuotas.purchases.refusal()
          }
          const data = { rows, added, skipped, updated, passed_over }
          const about = { subject: import_id, project_id: store.project_id, store_id, data }
          const { audit } = auditedWrite(context, caller, 'purchases.import', about, options)
          const facts = { file_name, bytes, sha256: hash.digest('hex'), layout: summary.layout }
          const details = { ...data, ...facts, totals, actor: audit.actor, finished_at: audit.at }
          await running.commit({ ...(added + updated > 0 && { audit }), authority }, details)
          rowQuotas.purchases.add(account_id, added)
        }
        return { import_id, ...summary }
      } catch (error) {
        await running.abort()
        throw error
      }
    },

    record: (account, input, options) => recordPurchase(context, account, input, options),
    owned: (caller, query) => listOwned(context, caller, query),

    async list(account, query) {
      assertAccount(account)
      const { store_id, transaction_id, limit, cursor, newest_first, ...filter } =
        parsePurchaseQuery(query)
      const { account_id } = account
      if (store_id !== undefined) await getNamedStore(storage, account, store_id)
      if (transaction_id !== undefined) {
        const stores = { account_id, store_id }
        const found = await storage.findTransactions(stores, transaction_id, filter, limit)
        return { purchases: found }
      }
      const store = { account_id, store_id: store_id as string } // the query has one of both
      const { records: purchases, ...further } = await storage.listPurchases(store, filter, {
        ...pageFor({ limit, cursor }),
        newestFirst: newest_first,
      })
      if (purchases.length === 0) await assertImport(storage, account, filter, store_id)
      return { purchases, ...further }
    },

    async changes(account, purchase) {
      assertAccount(account)
      const { store_id, transaction_id } = parseObject(purchase, purchaseKeyFields)
      const store = await getNamedStore(storage, account, store_id)
      return { changes: await storage.listStatusChanges(store, transaction_id) }
    },

    async *all(account, selection) {
      const list = ({ limit, after: cursor }: Page) =>
        purchases.list(account, { ...selection, limit, cursor })
      const pages = longCalls.each(
        account.account_id,
        pagesOf(verified(context, account, list), ALL_PAGE),
      )
      for await (const page of pages) yield* page.purchases
    },

    async *export(account, selection) {
      yield PURCHASE_HEADER
      for await (const purchase of purchases.all(account, selection)) yield formatPurchase(purchase)
    },

    async summarize(account, query) {
      assertAccount(account)
      const { account_id } = account
      const { store_id, sandbox, by, top, maxGroups, ...filter } = parseObject(query, summaryFields)
      if (store_id !== undefined) await getNamedStore(storage, account, store_id)
      const isOneStore = store_id !== undefined
      if (isOneStore && sandbox) throw invalidField('sandbox', 'invalid', 'takes no store_id')
      const stores = isOneStore ? { account_id, store_id } : { account_id, is_sandbox: sandbox }
      const isTop = top !== undefined
      const limit = isTop ? top : maxGroups && maxGroups + 1
      const most = limit === undefined ? undefined : { isTop, limit }
      const groups = await longCalls.run(account_id, () =>
        storage.summarizePurchases(stores, filter, by, most),
      )
      if (groups.length === 0) await assertImport(storage, account, filter, store_id)
      if (isTop || maxGroups === undefined || groups.length <= maxGroups) return groups
      const message = `gives more than ${maxGroups} groups: select less, or only the top ones`
      throw invalidField('by', 'too_many', message)
    },
  }
  return purchases
}

/** How many items of a SKU map are looked up at once. */
const LOOKUPS = 16

/** The page size of `all` and `export`. Reading such a page blocks the event loop for 4 ms. */
const ALL_PAGE = 250

/**
 * Throws `invalid_request` with the first lines of a SKU map that name no item of the store. Stops
 * the search then: 9,900 lookups of unknown names took PostgreSQL 3.6 s.
 */
async function assertItems(storage: Storage, store: Store, skus: SkuMap = new Map()) {
  const names = [...new Set([...skus.values()].map(({ item }) => item))].filter(Boolean)
  const unknown = new Set<string>()
  for (let start = 0; start < names.length && unknown.size < MAX_DETAILS; start += LOOKUPS) {
    const lookUp = async (name: string) => {
      if (!(await storage.findItemByName(store, name))) unknown.add(name)
    }
    await Promise.all(names.slice(start, start + LOOKUPS).map(lookUp))
  }
  if (unknown.size === 0) return
  const lines = [...skus.values()].filter(({ item }) => unknown.has(item)).slice(0, MAX_DETAILS)
  const mistake = { field: 'skus', column: 'item', ...UNKNOWN_SKU }
  throw invalidSkus(lines.map(({ line }) => ({ ...mistake, line })))
}

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
