import type { Account, AccountKey } from '../domain/account.ts'
import type { Item } from '../domain/item.ts'
import type { Project } from '../domain/project.ts'
import { judgeRepeat, type NewPurchase, type Purchase } from '../domain/purchase.ts'
import type { PurchaseFilter } from '../domain/query.ts'
import type { Store } from '../domain/store.ts'
import type {
  Page,
  PurchaseImport,
  PurchasePage,
  StagedRows,
  Storage,
  StoredSigningKey,
  StoreKey,
} from './port.ts'

/** A storage in this process's memory: for tests, demonstrations and embedding without a file. */
export function createMemoryStorage(): Storage {
  const accounts = new Map<string, Account>()
  const accountKeys = new Map<string, AccountKey>()
  const projects = new Map<string, Project>()
  const stores = new Map<string, StoreRecords>()
  const items = new Map<string, Item>()
  let signingKeys: StoredSigningKey[] = []

  const recordsOf = (store: StoreKey): StoreRecords => {
    const records = stores.get(keyOf(store))
    if (!records) throw new Error('the store must be inserted before what it holds')
    return records
  }

  return {
    async insertAccount(account, key) {
      accounts.set(account.account_id, structuredClone(account))
      accountKeys.set(key.hash, structuredClone(key))
    },
    async findAccount(account_id) {
      return structuredClone(accounts.get(account_id))
    },
    async findAccountByKeyHash(hash) {
      const key = accountKeys.get(hash)
      return key && structuredClone(accounts.get(key.account_id))
    },
    async listAccounts() {
      return structuredClone([...accounts.values()])
    },

    async insertProject(project) {
      projects.set(project.id, structuredClone(project))
    },
    async findProject(id) {
      return structuredClone(projects.get(id))
    },
    async findProjectByPublicKey(public_key) {
      const found = [...projects.values()].find((each) => each.public_key === public_key)
      return structuredClone(found)
    },
    async listProjects(account_id) {
      const found = [...projects.values()].filter((each) => each.account_id === account_id)
      return structuredClone(found)
    },
    async updateProject(id, change) {
      const current = projects.get(id)
      if (!current) return undefined
      projects.set(id, structuredClone(change(structuredClone(current))))
      return structuredClone(projects.get(id))
    },

    async insertStore(store) {
      if (stores.has(keyOf(store))) return false
      const records = { store: structuredClone(store), items: new Map(), purchases: new Map() }
      stores.set(keyOf(store), { ...records, importing: false })
      return true
    },
    async findStore(account_id, store_id) {
      return structuredClone(stores.get(keyOf({ account_id, store_id }))?.store)
    },
    async listStores(project_id) {
      const all = [...stores.values()].map(({ store }) => store)
      return structuredClone(all.filter((each) => each.project_id === project_id))
    },

    async insertItem(item) {
      const { items: inStore } = recordsOf(item)
      if (inStore.has(item.name)) return false
      const kept = structuredClone(item)
      inStore.set(item.name, kept)
      items.set(item.id, kept)
      return true
    },
    async findItem(id) {
      return structuredClone(items.get(id))
    },
    async listItems(store) {
      return structuredClone([...recordsOf(store).items.values()])
    },
    async openImport(store, import_id) {
      return openImport(recordsOf(store), import_id)
    },
    async listPurchases(store, filter, page) {
      return listPurchases(recordsOf(store), filter, page)
    },

    async insertSigningKey(key) {
      signingKeys.push(structuredClone(key))
    },
    async insertFirstSigningKey(key) {
      if (signingKeys.length === 0) signingKeys.push(structuredClone(key))
    },
    async listSigningKeys() {
      return structuredClone(signingKeys)
    },
    async deleteSigningKeys(kids) {
      signingKeys = signingKeys.filter(({ kid }) => !kids.includes(kid))
    },

    async close() {},
  }
}

interface StoreRecords {
  readonly store: Store
  readonly items: Map<string, Item>
  readonly purchases: Map<string, Purchase>
  importing: boolean
}

function keyOf({ account_id, store_id }: StoreKey): string {
  return `${account_id}/${store_id}`
}

function openImport(records: StoreRecords, import_id: string): PurchaseImport | undefined {
  if (records.importing) return undefined
  records.importing = true
  const { store_id } = records.store
  const staged = new Map<string, Purchase>()

  const stageRow = ({ line, ...row }: NewPurchase, result: Mutable<StagedRows>) => {
    if (!records.items.has(row.sku)) {
      result.unknown.push(line)
      return
    }
    const stored = staged.get(row.transaction_id) ?? records.purchases.get(row.transaction_id)
    const repeat = stored && judgeRepeat(stored, row)
    if (repeat?.outcome === 'conflict') {
      result.conflicts.push({ line, field: repeat.field })
    } else if (stored && repeat?.outcome === 'updated') {
      staged.set(row.transaction_id, { ...stored, status: row.status })
      result.updated++
    } else if (repeat) {
      result.skipped++
    } else {
      staged.set(row.transaction_id, { ...withoutAbsent(row), store_id, import_id })
      result.added++
    }
  }

  return {
    async stage(rows) {
      const result = nothingStaged()
      for (const row of rows) stageRow(row, result)
      return result
    },
    async finish() {
      return nothingStaged()
    },
    async commit() {
      for (const [id, purchase] of staged) records.purchases.set(id, purchase)
      records.importing = false
    },
    async abort() {
      records.importing = false
    },
  }
}

/** A copy in which what is absent has no key, as it has none in a database. */
function withoutAbsent<T extends object>(row: T): T {
  const present = Object.entries(row).filter(([, value]) => value !== undefined)
  return structuredClone(Object.fromEntries(present)) as T
}

function nothingStaged(): Mutable<StagedRows> {
  return { added: 0, skipped: 0, updated: 0, conflicts: [], unknown: [] }
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K] }

function listPurchases(
  records: StoreRecords,
  filter: PurchaseFilter,
  { limit, after }: Page,
): PurchasePage {
  const all = [...records.purchases.values()]
  const found: Purchase[] = []
  for (let at = after === undefined ? 0 : Number(after); at < all.length; at++) {
    const purchase = all[at] as Purchase
    if (!matches(purchase, filter)) continue
    if (found.length === limit) return { purchases: structuredClone(found), next: String(at) }
    found.push(purchase)
  }
  return { purchases: structuredClone(found) }
}

function matches(purchase: Purchase, { user_id, sku, status, from, to }: PurchaseFilter): boolean {
  return (
    (user_id === undefined || purchase.user_id === user_id) &&
    (sku === undefined || purchase.sku === sku) &&
    (status === undefined || purchase.status === status) &&
    (from === undefined || purchase.purchased_at >= from) &&
    (to === undefined || purchase.purchased_at < to)
  )
}
