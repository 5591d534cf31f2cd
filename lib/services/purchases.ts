import { formatPurchase, PURCHASE_HEADER } from '../csv/export.ts'
import { parseLayoutChoice } from '../csv/options.ts'
import type { Account } from '../domain/account.ts'
import { assertAuthority } from '../domain/authority.ts'
import { assertKnown } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import type { Purchase, PurchaseField, PurchaseRules } from '../domain/purchase.ts'
import { type PurchaseQuery, parsePurchaseQuery } from '../domain/query.ts'
import { parseStoreQuery, type Store } from '../domain/store.ts'
import type { ErrorDetail } from '../errors.ts'
import { openImport } from '../storage/open-import.ts'
import { pagesOf } from '../storage/pages.ts'
import type { PurchasePage, Storage } from '../storage/port.ts'
import { assertAccount, assertScope, authorityOf, type Caller, getNamedStore } from './access.ts'
import { auditedWrite, type CallOptions } from './audit.ts'
import type { Context } from './context.ts'
import { createId } from './ids.ts'
import { createLoader, type ImportSummary } from './imports.ts'

export interface Purchases {
  /**
   * Endpoint 7: all rows of a CSV file, or none. Throws `invalid_purchases` naming the bad lines.
   * An import waits for one that is under way in the same store.
   */
  import(caller: Caller, request: ImportRequest, options?: CallOptions): Promise<ImportResult>
  /** A page of a store's purchases in the order of their import; see `PurchaseQuery`. */
  list(account: Account, query: PurchaseQuery): Promise<PurchasePage>
  /** All of a store's purchases that `query` asks for, read page by page. */
  all(account: Account, query: PurchaseQuery): AsyncIterable<Purchase>
  /** The same as a canonical CSV file, in pieces; it imports as the same purchases. */
  export(account: Account, query: PurchaseQuery): AsyncIterable<string>
  /** Counts and revenue by month, SKU and currency. */
  summarize(account: Account, query: PurchaseQuery): Promise<PurchaseSummary[]>
}

export interface ImportRequest {
  readonly store_id: string
  /** The file's bytes, cut anywhere. */
  readonly file: AsyncIterable<Uint8Array>
  /** All checks, nothing kept. */
  readonly dry_run?: boolean
  /** A vendor's kind of file (`PRESET_NAMES`); without it the header line decides. */
  readonly preset?: string | undefined
  /** The file's own names for the columns of fields. */
  readonly map?: { readonly [F in PurchaseField]?: string } | undefined
  /** Whether prices are in minor units (`499`, the default) or decimals in major ones (`4.99`). */
  readonly price_unit?: 'minor' | 'major' | undefined
  readonly onProgress?: (progress: { readonly bytes: number; readonly rows: number }) => void
  /** Told of every mistake, where the error holds the first 100. */
  readonly onMistake?: (mistake: ErrorDetail) => void
}

const IMPORT_FIELDS: readonly (keyof ImportRequest)[] = [
  'store_id',
  'file',
  'dry_run',
  'preset',
  'map',
  'price_unit',
  'onProgress',
  'onMistake',
]

export interface ImportResult extends ImportSummary {
  readonly import_id: string
}

export interface PurchaseSummary {
  /** `2026-01`, in UTC. */
  readonly month: string
  readonly sku: string
  /** '' for purchases without a price. */
  readonly currency: string
  /** How many there are of each status. */
  readonly purchased: number
  readonly pending: number
  readonly refunded: number
  readonly cancelled: number
  /** The sum of those purchased, in minor units, as a string of digits. */
  readonly revenue: string
}

export function createPurchases(context: Context): Purchases {
  const { storage, now } = context
  const purchases: Purchases = {
    async import(caller, request, options) {
      assertScope(caller, 'purchases:import')
      assertKnown(request, IMPORT_FIELDS)
      const choice = parseLayoutChoice(request)
      const { store_id } = parseStoreQuery(request)
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
        if (request.dry_run || summary.added + summary.updated === 0) {
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
      const page = cursor === undefined ? { limit } : { limit, after: cursor }
      return storage.listPurchases(store, filter, page)
    },

    async *all(account, query) {
      for await (const page of pagesOf(({ limit, after: cursor }) =>
        purchases.list(account, { ...query, limit, cursor }),
      )) {
        yield* page.purchases
      }
    },

    async *export(account, query) {
      yield PURCHASE_HEADER
      for await (const purchase of purchases.all(account, query)) yield formatPurchase(purchase)
    },

    async summarize(account, query) {
      return summarize(purchases.all(account, query))
    },
  }
  return purchases
}

const MAX_WAIT_MS = 10 * 60_000

const NOTHING = { purchased: 0, pending: 0, refunded: 0, cancelled: 0, revenue: '0' }

async function summarize(purchases: AsyncIterable<Purchase>): Promise<PurchaseSummary[]> {
  const groups = new Map<string, { -readonly [K in keyof PurchaseSummary]: PurchaseSummary[K] }>()
  for await (const { purchased_at, sku, currency = '', price = 0, status } of purchases) {
    const month = formatInstant(purchased_at).slice(0, 7)
    const key = `${month} ${sku} ${currency}`
    const group = groups.get(key) ?? { month, sku, currency, ...NOTHING }
    groups.set(key, group)
    group[status]++
    if (status === 'purchased') group.revenue = String(BigInt(group.revenue) + BigInt(price))
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group)
}

async function rulesOf(storage: Storage, store: Store): Promise<PurchaseRules> {
  const project = await storage.findProject(store.project_id)
  const currencies = new Set((project?.config.allowed_currencies as string[] | undefined) ?? [])
  const { currency } = store.store_config
  return typeof currency === 'string' ? { currency, currencies } : { currencies }
}
