import type { Account, AccountKey } from '../domain/account.ts'
import type { AuditEntry } from '../domain/audit.ts'
import type { Item } from '../domain/item.ts'
import type { Project } from '../domain/project.ts'
import { judgeRepeat, type NewPurchase, type Purchase } from '../domain/purchase.ts'
import type { PurchaseFilter } from '../domain/query.ts'
import type { Receipt } from '../domain/receipt.ts'
import type { Store } from '../domain/store.ts'
import { fillPage } from './pages.ts'
import type {
  FormerPublicKey,
  Insertion,
  Page,
  PurchaseImport,
  PurchasePage,
  StagedRows,
  Storage,
  StoredSigningKey,
  StoreKey,
  TokenBound,
  Trail,
} from './port.ts'
import { unfinishedError } from './unfinished.ts'

/** A storage in this process's memory: for tests, demonstrations and embedding without a file. */
export function createMemoryStorage(): Storage {
  const accounts = new Map<string, Account>()
  const accountKeys = new Map<string, AccountKey>()
  const projects = new Map<string, Project>()
  const publicKeys = new Map<string, string>()
  const formerKeys = new Map<string, FormerPublicKey>()
  const stores = new Map<string, StoreRecords>()
  const items = new Map<string, Item>()
  const signingKeys: StoredSigningKey[] = []
  const bounds = new Map<string, TokenBound>()
  const receipts = new Map<string, Receipt>()
  const audit: AuditEntry[] = []
  const buckets = new Map<string, number>()
  let isUnfinished = false

  const recordsOf = (store: StoreKey): StoreRecords => {
    const records = stores.get(keyOf(store))
    if (!records) throw new Error('the store must be inserted before what it holds')
    return records
  }

  const write = ({ audit: entry, receipt }: Trail) => {
    if (entry) audit.push(structuredClone(entry))
    if (!receipt) return
    for (const [key, { expires_at }] of receipts) {
      if (expires_at <= receipt.created_at) receipts.delete(key)
    }
    receipts.set(receiptKey(receipt), structuredClone(receipt))
  }

  /** Runs an insertion unless its receipt is there already, and writes the trail if it succeeds. */
  const insertOnce = (trail: Trail, insert: () => boolean): Insertion => {
    const known = trail.receipt && receipts.get(receiptKey(trail.receipt))
    if (known && trail.receipt && known.expires_at > trail.receipt.created_at) return 'repeated'
    if (!insert()) return 'taken'
    write(trail)
    return 'inserted'
  }

  return {
    async ping() {
      if (isUnfinished) throw unfinishedError()
    },

    async insertAccount(account, key, trail = {}) {
      accounts.set(account.account_id, structuredClone(account))
      accountKeys.set(key.key_id, structuredClone(key))
      write(trail)
    },
    async findAccount(account_id) {
      return structuredClone(accounts.get(account_id))
    },
    async findAccountByKeyHash(hash) {
      const key = [...accountKeys.values()].find((each) => each.hash === hash && !each.revoked_at)
      const account = key && accounts.get(key.account_id)
      return account && { ...account, key_id: key.key_id }
    },
    async listAccounts() {
      return structuredClone([...accounts.values()])
    },
    async insertAccountKey(key, trail = {}) {
      accountKeys.set(key.key_id, structuredClone(key))
      write(trail)
    },
    async listAccountKeys(account_id) {
      const found = [...accountKeys.values()].filter((each) => each.account_id === account_id)
      return structuredClone(found)
    },
    async revokeAccountKey(account_id, key_id, revoked_at, trail = {}) {
      const key = accountKeys.get(key_id)
      if (key?.account_id !== account_id || key.revoked_at) return false
      accountKeys.set(key_id, { ...key, revoked_at })
      write(trail)
      return true
    },

    async insertProject(project, trail = {}) {
      return insertOnce(trail, () => {
        projects.set(project.id, structuredClone(project))
        publicKeys.set(project.public_key, project.id)
        return true
      })
    },
    async findProject(id) {
      return structuredClone(projects.get(id))
    },
    async findProjectByPublicKey(public_key) {
      return structuredClone(projects.get(publicKeys.get(public_key) ?? ''))
    },
    async listProjects(account_id) {
      const found = [...projects.values()].filter((each) => each.account_id === account_id)
      return structuredClone(found)
    },
    async updateProject(id, change, trail = {}) {
      const current = projects.get(id)
      if (!current) return undefined
      projects.set(id, structuredClone(change(structuredClone(current))))
      write(trail)
      return structuredClone(projects.get(id))
    },
    async rotatePublicKey(project_id, { public_key, former_until }, trail = {}) {
      const current = projects.get(project_id)
      if (!current) return
      for (const [key, former] of formerKeys) {
        if (former.project_id !== project_id || former.expires_at <= former_until) continue
        formerKeys.set(key, { ...former, expires_at: former_until })
      }
      const former = { public_key: current.public_key, project_id, expires_at: former_until }
      formerKeys.set(current.public_key, former)
      publicKeys.delete(current.public_key)
      publicKeys.set(public_key, project_id)
      projects.set(project_id, { ...current, public_key })
      write(trail)
    },
    async findFormerPublicKey(public_key) {
      return structuredClone(formerKeys.get(public_key))
    },
    async listFormerPublicKeys() {
      return structuredClone([...formerKeys.values()])
    },

    async insertStore(store, trail = {}) {
      return insertOnce(trail, () => {
        if (stores.has(keyOf(store))) return false
        const records = { store: structuredClone(store), items: new Map(), purchases: new Map() }
        stores.set(keyOf(store), { ...records, importing: false })
        return true
      })
    },
    async findStore(account_id, store_id) {
      return structuredClone(stores.get(keyOf({ account_id, store_id }))?.store)
    },
    async listStores(project_id) {
      const all = [...stores.values()].map(({ store }) => store)
      return structuredClone(all.filter((each) => each.project_id === project_id))
    },
    async updateStore(key, change, trail = {}) {
      const records = stores.get(keyOf(key))
      if (!records) return undefined
      records.store = structuredClone(change(structuredClone(records.store)))
      write(trail)
      return structuredClone(records.store)
    },

    async insertItem(item, trail = {}) {
      const { items: inStore } = recordsOf(item)
      return insertOnce(trail, () => {
        if (inStore.has(item.name)) return false
        const kept = structuredClone(item)
        inStore.set(item.name, kept)
        items.set(item.id, kept)
        return true
      })
    },
    async insertItems(all) {
      for (const item of all) {
        if (items.has(item.id)) continue
        const kept = structuredClone(item)
        recordsOf(item).items.set(item.name, kept)
        items.set(item.id, kept)
      }
    },
    async findItem(id) {
      return structuredClone(items.get(id))
    },
    async listItems(store, { limit, after }) {
      const all = [...recordsOf(store).items.values()]
      const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1
      const { taken, ...further } = fillPage(all.slice(start), limit, textOf)
      return { items: structuredClone(taken), revision: String(all.length), ...further }
    },
    async openImport(store, import_id) {
      return openImport(recordsOf(store), import_id, write)
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
    async rotateSigningKeys(key, drop, trail = {}) {
      const all = structuredClone([...signingKeys, key])
      const kids = drop(all)
      signingKeys.splice(0, signingKeys.length, ...all.filter(({ kid }) => !kids.includes(kid)))
      write(trail)
      return kids
    },

    async insertTokenBound(bound, trail = {}) {
      const key = boundKey(bound.project_id, bound.user_id)
      const not_after = Math.max(bound.not_after, bounds.get(key)?.not_after ?? 0)
      bounds.set(key, { ...bound, not_after })
      write(trail)
    },
    async findTokenBound(project_id, user_id) {
      const found = [boundKey(project_id, ''), boundKey(project_id, user_id)]
      return Math.max(0, ...found.map((key) => bounds.get(key)?.not_after ?? 0))
    },
    async listTokenBounds(project_id) {
      const found = [...bounds.values()].filter((each) => each.project_id === project_id)
      return structuredClone(found)
    },

    async findReceipt(account_id, key) {
      return structuredClone(receipts.get(receiptKey({ account_id, key })))
    },
    async insertTrail(...trails) {
      for (const trail of trails) write(trail)
    },
    async listReceipts(account_id) {
      const found = [...receipts.values()].filter((each) => each.account_id === account_id)
      return structuredClone(found.sort((a, b) => (a.key < b.key ? -1 : 1)))
    },
    async listAudit(account_id, { limit, after = '0' }) {
      const isAsked = (entry: AuditEntry) =>
        account_id === undefined || entry.account_id === account_id
      const entries: AuditEntry[] = []
      for (let at = Number(after); at < audit.length; at++) {
        const entry = audit[at] as AuditEntry
        if (!isAsked(entry)) continue
        if (entries.length === limit) return { entries: structuredClone(entries), next: String(at) }
        entries.push(entry)
      }
      return { entries: structuredClone(entries) }
    },

    async chargeBuckets(charges, elapsed) {
      const now = Date.now()
      const wait = ([bucket, charge]: readonly [string, number]) => {
        const full = Math.max(buckets.get(bucket) ?? 0, now - elapsed) + charge
        buckets.set(bucket, full)
        return [bucket, full - now] as const
      }
      const waits = new Map([...charges].map(wait))
      for (const [bucket, full] of buckets) if (full < now) buckets.delete(bucket)
      return waits
    },

    async beginCopy() {
      const isEmpty = accounts.size + signingKeys.length + audit.length === 0
      isUnfinished ||= isEmpty
      return isUnfinished
    },
    async endCopy() {
      isUnfinished = false
    },

    async check() {
      return []
    },
    async close() {},
  }
}

function textOf({ description, metadata }: Item): number {
  return description.length + JSON.stringify(metadata).length
}

function receiptKey({ account_id, key }: Pick<Receipt, 'account_id' | 'key'>): string {
  return `${account_id}/${key}`
}

function boundKey(project_id: string, user_id: string): string {
  return `${project_id}/${user_id}`
}

interface StoreRecords {
  store: Store
  readonly items: Map<string, Item>
  readonly purchases: Map<string, Purchase>
  importing: boolean
}

function keyOf({ account_id, store_id }: StoreKey): string {
  return `${account_id}/${store_id}`
}

function openImport(
  records: StoreRecords,
  import_id: string,
  write: (trail: Trail) => void,
): PurchaseImport | undefined {
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
    async commit(trail = {}) {
      for (const [id, purchase] of staged) records.purchases.set(id, purchase)
      records.importing = false
      write(trail)
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
