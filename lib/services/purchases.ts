import { formatPurchase, PURCHASE_HEADER } from '../csv/export.ts'
import { parseLayoutChoice } from '../csv/options.ts'
import type { Account } from '../domain/account.ts'
import { assertAuthority } from '../domain/authority.ts'
import { assertKnown } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import type { Purchase, PurchaseField, PurchaseRules, StoredPurchase } from '../domain/purchase.ts'
import {
  MAX_PAGE,
  type PurchaseQuery,
  type PurchaseSelection,
  pageFor,
  parsePurchaseQuery,
} from '../domain/query.ts'
import { parseStoreId, type Store } from '../domain/store.ts'
import { type PurchaseSummary, parseSummaryQuery, type SummaryQuery } from '../domain/summary.ts'
import type { ErrorDetail } from '../errors.ts'
import { openImport } from '../storage/open-import.ts'
import { pagesOf } from '../storage/pages.ts'
import type { Storage } from '../storage/port.ts'
import { assertAccount, assertScope, authorityOf, type Caller, getNamedStore } from './access.ts'
import { assertCallOptions, auditedWrite, type CallOptions } from './audit.ts'
import type { Context } from './context.ts'
import { createId } from './ids.ts'
import { createLoader, type ImportSummary } from './imports.ts'

export interface Purchases {
  /**
   * Imports all rows of a CSV file, or none. Throws `invalid_purchases` that names the bad lines
   * and `store_inactive`. Waits while another import into the same store runs.
   */
  import(caller: Caller, request: ImportRequest, options?: CallOptions): Promise<ImportResult>
  /** One page of a store's purchases in order of import. */
  list(account: Account, query: PurchaseQuery): Promise<PurchasePage>
  /** All selected purchases of a store, read page by page. */
  all(account: Account, selection: PurchaseSelection): AsyncIterable<Purchase>
  /** The same as the chunks of a canonical CSV file, which can be imported again. */
  export(account: Account, selection: PurchaseSelection): AsyncIterable<string>
  /**
   * Counts, revenue, refunds and distinct buyers by month, SKU and currency, or by the fields of
   * `by`. Without a `store_id` it covers all stores of the account, sandbox stores included.
   */
  summarize(account: Account, query: SummaryQuery): Promise<PurchaseSummary[]>
}

export interface PurchasePage {
  readonly purchases: readonly Purchase[]
  /** The `cursor` of the next page; absent on the last. */
  readonly next?: string
}

export interface ImportRequest {
  readonly store_id: string
  /** The bytes of the file, in chunks of any size: a `Readable` or an array. */
  readonly file: AsyncIterable<Uint8Array> | Iterable<Uint8Array>
  /** Checks everything and stores nothing. */
  readonly dryRun?: boolean
  /** A vendor's file format, one of `PRESET_NAMES`; default: recognized by the header line. */
  readonly preset?: string | undefined
  /** The names of the file's columns by field. */
  readonly map?: { readonly [F in PurchaseField]?: string } | undefined
  /** Whether prices are in minor units (`499`, the default) or in major units (`4.99`). */
  readonly priceUnit?: 'minor' | 'major' | undefined
  readonly onProgress?: (progress: { readonly bytes: number; readonly rows: number }) => void
  /** Receives every mistake; the error holds only the first 100. */
  readonly onMistake?: (mistake: ErrorDetail) => void
}

const importFields: { readonly [F in keyof Required<ImportRequest>]: true } = {
  store_id: true,
  file: true,
  dryRun: true,
  preset: true,
  map: true,
  priceUnit: true,
  onProgress: true,
  onMistake: true,
}

export interface ImportResult extends ImportSummary {
  readonly import_id: string
}

export function createPurchases(context: Context): Purchases {
  const { storage, now } = context
  const purchases: Purchases = {
    async import(caller, request, options) {
      assertScope(caller, 'purchases:import')
      assertKnown(request, importFields)
      assertCallOptions(options)
      const { preset, map, priceUnit } = request
      const choice = parseLayoutChoice({ preset, map, priceUnit })
      const store_id = parseStoreId(request)
      const store = await getNamedStore(storage, caller, store_id)
      const { account_id } = store
      const authority = { ...authorityOf(caller), store: { account_id, store_id } }
      assertAuthority({ store }, { store_status: store.status })
      const rules = await rulesOf(storage, store)
      const import_id = createId('imp', now())
      const staged = await openImport(storage, store, import_id, MAX_WAIT_MS)
      try {
        const layout = { ...choice, currency: rules.currency, is_sandbox: store.is_sandbox }
        const loader = createLoader(staged, rules, layout, request.onMistake)
        let bytes = 0
        for await (const chunk of request.file) {
          await loader.push(chunk)
          bytes += chunk.length
          request.onProgress?.({ bytes, rows: loader.rows })
        }
        const summary = await loader.end()
        if (request.dryRun || summary.added + summary.updated === 0) {
          await storage.verifyAuthority(authority)
          await staged.abort()
        } else {
          const write = auditedWrite(context, caller, 'purchases.import', import_id, options)
          await staged.commit({ ...write, authority })
        }
        return { import_id, ...summary }
      } catch (error) {
        await staged.abort()
        throw error
      }
    },

    async list(account, query) {
      assertAccount(account)
      const { store_id, limit, cursor, ...filter } = parsePurchaseQuery(query)
      const store = await getNamedStore(storage, account, store_id)
      const page = await storage.listPurchases(store, filter, pageFor({ limit, cursor }))
      return { ...page, purchases: page.purchases.map(withTimeText) }
    },

    async *all(account, selection) {
      for await (const page of pagesOf(({ limit, after: cursor }) =>
        purchases.list(account, { ...selection, limit, cursor }),
      )) {
        yield* page.purchases
      }
    },

    async *export(account, selection) {
      yield PURCHASE_HEADER
      for await (const purchase of purchases.all(account, selection)) yield formatPurchase(purchase)
    },

    async summarize(account, query) {
      assertAccount(account)
      const { account_id } = account
      const { store_id, by, ...filter } = parseSummaryQuery(query)
      if (store_id !== undefined) await getNamedStore(storage, account, store_id)
      return storage.summarizePurchases({ account_id, store_id }, filter, by)
    },
  }
  return purchases
}

const MAX_WAIT_MS = 10 * 60_000
function withTimeText(purchase: StoredPurchase): Purchase {
  return { ...purchase, purchased_at: formatInstant(purchase.purchased_at) }
}

async function rulesOf(storage: Storage, store: Store): Promise<PurchaseRules> {
  const project = await storage.findProject(store.project_id)
  const currencies = new Set((project?.config.allowed_currencies as string[] | undefined) ?? [])
  const { currency } = store.store_config
  return typeof currency === 'string' ? { currency, currencies } : { currencies }
}
