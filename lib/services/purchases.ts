import { setTimeout } from 'node:timers/promises'
import { createPurchaseParser, type PurchaseColumns } from '../csv/purchases.ts'
import type { Account } from '../domain/account.ts'
import type { NewPurchase, PurchaseRules } from '../domain/purchase.ts'
import { isActive } from '../domain/status.ts'
import { parseStoreQuery, type Store } from '../domain/store.ts'
import { type ErrorDetail, MAX_DETAILS, TillError } from '../errors.ts'
import type { PurchaseImport, PurchasePage, Storage, StoreKey } from '../storage/port.ts'
import { assertAccount, assertScope, type Caller, getNamedStore } from './access.ts'
import type { Context } from './context.ts'
import { createId } from './ids.ts'

export interface Purchases {
  /**
   * Endpoint 7: all rows of a CSV file, or none. Throws `invalid_purchases` naming the bad lines.
   * An import waits for one that is under way in the same store.
   */
  import(caller: Caller, request: ImportRequest): Promise<ImportResult>
  /** A store's purchases in the order of their import. */
  list(account: Account, request: ListRequest): Promise<PurchasePage>
}

export interface ImportRequest {
  readonly store_id: string
  /** The file's bytes, cut anywhere. */
  readonly file: AsyncIterable<Uint8Array>
  /** All checks, nothing kept. */
  readonly dry_run?: boolean
  readonly onProgress?: (progress: { readonly bytes: number; readonly rows: number }) => void
}

export interface ImportResult {
  readonly import_id: string
  /** The rows of the file: added, skipped and updated together. */
  readonly rows: number
  readonly added: number
  /** Rows that were in the store already. */
  readonly skipped: number
  /** Rows that moved the status of a stored purchase on. */
  readonly updated: number
  /** The columns that were not stored. */
  readonly ignored_columns: readonly string[]
}

export interface ListRequest {
  readonly store_id: string
  /** 1 to 1000. */
  readonly limit?: number
  /** The `next` of the page before. */
  readonly cursor?: string
}

export function createPurchases({ storage, now }: Context): Purchases {
  return {
    async import(caller, { store_id, file, dry_run = false, onProgress }) {
      assertScope(caller, 'purchases:import')
      const store = await getNamedStore(storage, caller, parseStoreQuery({ store_id }).store_id)
      if (!isActive(store)) throw new TillError('store_inactive', `The store is ${store.status}`)
      const rules = await rulesOf(storage, store)
      const import_id = createId('imp', now())
      const staged = await openImport(storage, store, import_id)
      try {
        const loader = createLoader(storage, store, rules, staged)
        for await (const chunk of file) {
          await loader.push(chunk)
          onProgress?.(loader.progress)
        }
        const result = await loader.end()
        if (dry_run) await staged.abort()
        else await staged.commit()
        return { import_id, ...result }
      } catch (error) {
        await staged.abort()
        throw error
      }
    },

    async list(account, { store_id, limit = 100, cursor }) {
      assertAccount(account)
      const store = await getNamedStore(storage, account, parseStoreQuery({ store_id }).store_id)
      return storage.listPurchases(store, { limit, ...(cursor ? { after: cursor } : {}) })
    },
  }
}

async function rulesOf(storage: Storage, store: Store): Promise<PurchaseRules> {
  const project = await storage.findProject(store.project_id)
  const currencies = new Set((project?.config.allowed_currencies as string[] | undefined) ?? [])
  const { currency } = store.store_config
  return typeof currency === 'string' ? { currency, currencies } : { currencies }
}

const WAIT_MS = 50
const MAX_WAITS = (10 * 60_000) / WAIT_MS

async function openImport(storage: Storage, store: StoreKey, id: string): Promise<PurchaseImport> {
  for (let waits = 0; waits < MAX_WAITS; waits++) {
    const opened = await storage.openImport(store, id)
    if (opened) return opened
    await setTimeout(WAIT_MS)
  }
  throw new TillError('storage_unavailable', 'Another import into this store takes too long')
}

const MAX_CHUNK_BYTES = 64 * 1024
const SLICE_ROWS = 1_000

/** Takes a file's bytes, stages the good rows slice by slice and remembers what is wrong. */
function createLoader(
  storage: Storage,
  store: StoreKey,
  rules: PurchaseRules,
  staged: PurchaseImport,
) {
  const counts = { rows: 0, added: 0, skipped: 0, updated: 0 }
  const mistakes = createMistakes()
  const unknownSkus = createSkuCheck(storage, store)
  let columns: PurchaseColumns = {}
  let ignored_columns: readonly string[] = []
  let pending: NewPurchase[] = []
  let bytes = 0

  const parser = createPurchaseParser(rules, {
    columns(found, ignored) {
      columns = found
      ignored_columns = ignored
    },
    purchase: (purchase) => void pending.push(purchase),
    error: (error) => mistakes.add(error),
  })

  const stage = async () => {
    const slice = pending
    pending = []
    const unknown = await unknownSkus(slice)
    for (const { line, sku } of slice) {
      if (unknown.has(sku)) mistakes.add({ line, column: columns.sku ?? 'sku', ...UNKNOWN_SKU })
    }
    const rows = unknown.size === 0 ? slice : slice.filter(({ sku }) => !unknown.has(sku))
    const { conflicts, ...outcome } = await staged.stage(rows)
    for (const { line, field } of conflicts) {
      mistakes.add({ line, column: columns[field] ?? field, ...CONFLICT })
    }
    counts.rows += slice.length
    counts.added += outcome.added
    counts.skipped += outcome.skipped
    counts.updated += outcome.updated
  }

  return {
    get progress() {
      return { bytes, rows: counts.rows }
    },
    async push(chunk: Uint8Array) {
      if (!(chunk instanceof Uint8Array))
        throw new TypeError('the file must yield Uint8Array chunks')
      for (let start = 0; start < chunk.length; start += MAX_CHUNK_BYTES) {
        parser.push(chunk.subarray(start, start + MAX_CHUNK_BYTES))
        if (pending.length >= SLICE_ROWS) await stage()
      }
      bytes += chunk.length
    },
    async end() {
      parser.end()
      if (pending.length > 0) await stage()
      mistakes.assertNone()
      return { ...counts, ignored_columns }
    },
  }
}

const UNKNOWN_SKU = { code: 'unknown_sku', message: 'names no item of this store' }
const CONFLICT = {
  code: 'transaction_conflict',
  message: 'differs from the purchase that already has this transaction_id',
}

const MAX_CACHED_SKUS = 100_000

/** Finds the SKUs of a slice that name no item of the store, asking once for each name. */
function createSkuCheck(storage: Storage, store: StoreKey) {
  let known = new Set<string>()
  return async (slice: readonly NewPurchase[]): Promise<Set<string>> => {
    const asked = new Set(slice.map(({ sku }) => sku).filter((sku) => !known.has(sku)))
    if (asked.size === 0) return asked
    const found = await storage.findItemNames(store, [...asked])
    if (known.size > MAX_CACHED_SKUS) known = new Set()
    for (const sku of found) {
      known.add(sku)
      asked.delete(sku)
    }
    return asked
  }
}

/** The mistakes of a file: those of its first lines, and how many there are in all. */
function createMistakes() {
  let first: ErrorDetail[] = []
  let total = 0
  const lineOf = (error: ErrorDetail) => error.line ?? 0
  const cut = () => {
    first = first.sort((a, b) => lineOf(a) - lineOf(b)).slice(0, MAX_DETAILS)
  }
  return {
    add(error: ErrorDetail) {
      total++
      first.push(error)
      // Those of the storage come a slice later than those of the parser: sorted, now and then.
      if (first.length >= 20 * MAX_DETAILS) cut()
    },
    assertNone() {
      if (total === 0) return
      cut()
      const shown = total > MAX_DETAILS ? `, the first ${MAX_DETAILS} are listed` : ''
      const message = `${total} ${total === 1 ? 'mistake' : 'mistakes'} in the file${shown}`
      throw new TillError('invalid_purchases', message, first, total)
    },
  }
}
