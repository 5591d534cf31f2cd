import { Buffer } from 'node:buffer'
import type { Account, AccountKey } from '../domain/account.ts'
import type { AuditEntry } from '../domain/audit.ts'
import { type Authority, assertAuthority } from '../domain/authority.ts'
import type { JsonObject } from '../domain/fields.ts'
import type { IdempotencyRecord } from '../domain/idempotency.ts'
import type { Item } from '../domain/item.ts'
import type { Project } from '../domain/project.ts'
import { compareRepeat, type NewPurchase, type StoredPurchase } from '../domain/purchase.ts'
import type { PurchaseFilter } from '../domain/query.ts'
import type { Store } from '../domain/store.ts'
import { archiveInto, type NumberedEntry, splitPage } from './archive.ts'
import { fillPage, recordPage, storeNotFound } from './pages.ts'
import type {
  FormerPublicKey,
  Insertion,
  Page,
  PurchaseImport,
  Quota,
  RecordPage,
  StagedRows,
  Storage,
  StoredPurchasePage,
  StoredSigningKey,
  StoreKey,
  Watermark,
  WriteOptions,
} from './port.ts'
import { assertWithin, bytesOf, grows } from './quota.ts'
import { unfinishedError } from './unfinished.ts'

/** A storage in this process's memory: for tests, demonstrations and embedding without a file. */
export function createMemoryStorage(): Storage {
  const accounts = new Map<string, Account>()
  const accountKeys = new Map<string, AccountKey>()
  const projects = new Map<string, Project>()
  const configBytes = new Map<string, number>()
  const publicKeys = new Map<string, string>()
  const formerKeys = new Map<string, FormerPublicKey>()
  const stores = new Map<string, StoreRecords>()
  const items = new Map<string, Item>()
  const signingKeys: StoredSigningKey[] = []
  const watermarks = new Map<string, Watermark>()
  const idempotencyRecords = new Map<string, IdempotencyRecord>()
  let audit: NumberedEntry[] = []
  let lastSeq = 0
  const buckets = new Map<string, number>()
  let isUnfinished = false

  const recordsOf = (store: StoreKey): StoreRecords => {
    const records = stores.get(keyOf(store))
    if (!records) throw new Error('the store must be inserted before what it holds')
    return records
  }

  const findWatermark = (project_id: string, user_id: string): number => {
    const found = [watermarkKey(project_id, ''), watermarkKey(project_id, user_id)]
    return Math.max(0, ...found.map((key) => watermarks.get(key)?.not_after ?? 0))
  }

  /** Comes first in a change: nothing is undone here. */
  const verify = (authority: Authority | undefined) => {
    if (!authority) return
    const { key_id, token, store } = authority
    const key = accountKeys.get(key_id ?? '')
    assertAuthority(authority, {
      has_key: key !== undefined && key.revoked_at === undefined,
      project_status: token && projects.get(token.project_id)?.status,
      watermark: token ? findWatermark(token.project_id, token.user_id) : 0,
      store_status: store && stores.get(keyOf(store))?.store.status,
    })
  }

  const recordWrite = ({ audit: entry, idempotency }: WriteOptions) => {
    if (entry) audit.push({ seq: ++lastSeq, ...entry })
    if (!idempotency) return
    for (const [key, { expires_at }] of idempotencyRecords) {
      if (expires_at <= idempotency.created_at) idempotencyRecords.delete(key)
    }
    idempotencyRecords.set(idempotencyKey(idempotency), structuredClone(idempotency))
  }

  /** Runs an insertion unless its idempotency record is there already, and writes the audit entry if it succeeds. */
  const insertOnce = (write: WriteOptions, insert: () => boolean): Insertion => {
    verify(write.authority)
    const known = write.idempotency && idempotencyRecords.get(idempotencyKey(write.idempotency))
    if (known && write.idempotency && known.expires_at > write.idempotency.created_at)
      return 'repeated'
    if (!insert()) return 'taken'
    recordWrite(write)
    return 'inserted'
  }

  const projectsOf = (account_id: string) =>
    [...projects.values()].filter((each) => each.account_id === account_id)
  const storesOf = (project_id: string) =>
    [...stores.values()].flatMap(({ store }) => (store.project_id === project_id ? store : []))

  /** Counts a configuration that is to be stored, unless the account has no room for it. */
  const countConfig = (
    account_id: string,
    quota: Quota | undefined,
    config: JsonObject,
    before?: JsonObject,
  ) => {
    const added = bytesOf(config) - (before ? bytesOf(before) : 0)
    const config_bytes = (configBytes.get(account_id) ?? 0) + added
    if (quota && !before) {
      const projects = projectsOf(account_id).length + 1
      const stores = storesOf(quota.project_id ?? '').length + 1
      assertWithin({ projects, stores, config_bytes }, quota)
    } else if (quota && before && grows(before, config)) {
      assertWithin({ config_bytes }, quota)
    }
    configBytes.set(account_id, config_bytes)
  }

  return {
    async ping() {
      if (isUnfinished) throw unfinishedError()
    },

    async insertAccount(account, key, write = {}) {
      verify(write.authority)
      accounts.set(account.account_id, structuredClone(account))
      accountKeys.set(key.key_id, structuredClone(key))
      recordWrite(write)
    },
    async findAccount(account_id) {
      return structuredClone(accounts.get(account_id))
    },
    async findAccountByKeyHash(hash) {
      const key = [...accountKeys.values()].find((each) => each.hash === hash && !each.revoked_at)
      const account = key && accounts.get(key.account_id)
      return account && { ...account, key_id: key.key_id }
    },
    async listAccounts(page) {
      return pageOf([...accounts.values()], page)
    },
    async insertAccountKey(key, write = {}) {
      verify(write.authority)
      accountKeys.set(key.key_id, structuredClone(key))
      recordWrite(write)
    },
    async listAccountKeys(account_id, page) {
      const found = [...accountKeys.values()].filter((each) => each.account_id === account_id)
      return pageOf(found, page)
    },
    async revokeAccountKey(account_id, key_id, revoked_at, write = {}) {
      verify(write.authority)
      const key = accountKeys.get(key_id)
      if (key?.account_id !== account_id || key.revoked_at) return false
      accountKeys.set(key_id, { ...key, revoked_at })
      recordWrite(write)
      return true
    },

    async insertProject(project, write = {}) {
      return insertOnce(write, () => {
        countConfig(project.account_id, write.quota, project.config)
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
    async listProjects(account_id, page) {
      const textOf = ({ config }: Project) => bytesOf(config)
      return pageOf(projectsOf(account_id), page, textOf)
    },
    async updateProject(id, change, write = {}) {
      verify(write.authority)
      const current = structuredClone(projects.get(id))
      if (!current) return undefined
      const changed = change(current)
      if (changed === current) return current
      countConfig(changed.account_id, write.quota, changed.config, current.config)
      projects.set(id, structuredClone(changed))
      recordWrite(write)
      return structuredClone(changed)
    },
    async rotatePublicKey(project_id, { public_key, former_until }, write = {}) {
      verify(write.authority)
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
      recordWrite(write)
    },
    async findFormerPublicKey(public_key) {
      return structuredClone(formerKeys.get(public_key))
    },
    async listFormerPublicKeys(project_id, page) {
      const found = [...formerKeys.values()].filter((each) => each.project_id === project_id)
      return pageOf(found, page)
    },

    async insertStore(store, write = {}) {
      return insertOnce(write, () => {
        if (stores.has(keyOf(store))) return false
        countConfig(store.account_id, write.quota, store.store_config)
        const records = { store: structuredClone(store), items: new Map(), purchases: new Map() }
        stores.set(keyOf(store), { ...records, importing: false })
        return true
      })
    },
    async findStore(account_id, store_id, project_id) {
      const store = stores.get(keyOf({ account_id, store_id }))?.store
      if (project_id !== undefined && store?.project_id !== project_id) return undefined
      return structuredClone(store)
    },
    async listStores(project_id, page) {
      const textOf = ({ store_config }: Store) => bytesOf(store_config)
      return pageOf(storesOf(project_id), page, textOf)
    },
    async listStoreSummaries(project_id, page) {
      const found = storesOf(project_id).map(({ store_id, store_type, is_sandbox, status }) => {
        return { store_id, store_type, is_sandbox, status }
      })
      return pageOf(found, page)
    },
    async updateStore(key, change, write = {}) {
      verify(write.authority)
      const records = stores.get(keyOf(key))
      if (!records) return undefined
      const current = structuredClone(records.store)
      const changed = change(current)
      if (changed === current) return current
      countConfig(changed.account_id, write.quota, changed.store_config, current.store_config)
      records.store = structuredClone(changed)
      recordWrite(write)
      return structuredClone(changed)
    },

    async insertItem(item, write = {}) {
      const { items: inStore } = recordsOf(item)
      return insertOnce(write, () => {
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
      const records = stores.get(keyOf(store))
      const { project_id = records?.store.project_id } = store
      if (!records || records.store.project_id !== project_id) throw storeNotFound()
      const all = [...records.items.values()]
      const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1
      const { taken, ...further } = fillPage(all.slice(start), limit, textOf)
      return { items: structuredClone(taken), revision: String(all.length), ...further }
    },
    async openImport(store, import_id) {
      return openImport(recordsOf(store), import_id, (write, change) => {
        verify(write.authority)
        change()
        recordWrite(write)
      })
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
    async rotateSigningKeys(key, drop, write = {}) {
      verify(write.authority)
      const all = structuredClone([...signingKeys, key])
      const kids = drop(all)
      signingKeys.splice(0, signingKeys.length, ...all.filter(({ kid }) => !kids.includes(kid)))
      recordWrite(write)
      return kids
    },

    async revokeTokens({ project_id, user_id, at }, write = {}) {
      verify(write.authority)
      const covered = [...watermarks.values()].filter((each) => {
        if (each.project_id !== project_id) return false
        return user_id === '' || each.user_id === '' || each.user_id === user_id
      })
      const not_after = Math.max(at, ...covered.map((each) => each.not_after + 1))
      watermarks.set(watermarkKey(project_id, user_id), { project_id, user_id, not_after })
      recordWrite(write)
    },
    async insertWatermark(watermark) {
      const key = watermarkKey(watermark.project_id, watermark.user_id)
      const not_after = Math.max(watermark.not_after, watermarks.get(key)?.not_after ?? 0)
      watermarks.set(key, { ...watermark, not_after })
    },
    async findWatermark(project_id, user_id) {
      return findWatermark(project_id, user_id)
    },
    async listWatermarks(project_id, page) {
      const found = [...watermarks.values()].filter((each) => each.project_id === project_id)
      return sortedPageOf(found, page, ({ user_id }) => user_id)
    },

    async findIdempotencyRecord(account_id, key) {
      return structuredClone(idempotencyRecords.get(idempotencyKey({ account_id, key })))
    },
    async verifyAuthority(authority) {
      verify(authority)
    },
    async insertAudit(...writes) {
      for (const write of writes) verify(write.authority)
      for (const write of writes) recordWrite(write)
    },
    async updateFingerprints(change, { limit, after = '' }) {
      const keys = [...idempotencyRecords.keys()].filter((key) => key > after).sort()
      const page = keys.slice(0, limit)
      let updated = 0
      for (const key of page) {
        const idempotency = idempotencyRecords.get(key) as IdempotencyRecord
        const fingerprint = change(idempotency.fingerprint)
        if (fingerprint === idempotency.fingerprint) continue
        idempotencyRecords.set(key, { ...idempotency, fingerprint })
        updated++
      }
      return keys.length > limit ? { updated, next: page.at(-1) as string } : { updated }
    },
    async listIdempotencyRecords(account_id, page) {
      const found = [...idempotencyRecords.values()].filter(
        (each) => each.account_id === account_id,
      )
      return sortedPageOf(found, page, ({ key }) => key)
    },
    async listAudit(account_id, { limit, after = '0' }) {
      const isAsked = (entry: AuditEntry) =>
        account_id === undefined || entry.account_id === account_id
      const entries: AuditEntry[] = []
      let last = 0
      for (const { seq, ...entry } of audit) {
        if (seq <= Number(after) || !isAsked(entry)) continue
        if (entries.length === limit) return { entries, next: String(last) }
        entries.push(entry)
        last = seq
      }
      return { entries }
    },
    async archiveAudit(request) {
      return archiveInto(request, async ({ before, page, keep, write }) => {
        const following = audit.filter(({ seq }) => seq > Number(page.after ?? 0))
        const { old, ...further } = splitPage(following.slice(0, page.limit), before, page)
        if (old.length === 0) return { archived: 0, ...further }
        keep(old)
        const moved = new Set(old)
        audit = audit.filter((entry) => !moved.has(entry))
        recordWrite(write)
        return { archived: old.length, ...further }
      })
    },

    async consumeBuckets(charges, elapsed) {
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

/** A page of records in order of creation, none of which is ever removed. */
function pageOf<T>(
  all: readonly T[],
  page: Page,
  textOf: (record: T) => number = () => 0,
): RecordPage<T> {
  const start = Number(page.after ?? 0)
  const rows = all.slice(start).map((record, i) => ({ record, place: start + i + 1 }))
  const cloneOf = ({ record }: { record: T }) => structuredClone(record)
  return recordPage(
    rows,
    page,
    cloneOf,
    ({ place }) => place,
    ({ record }) => textOf(record),
  )
}

/** A page of records in the order of the bytes of their keys. */
function sortedPageOf<T>(
  all: readonly T[],
  page: Page,
  keyOf: (record: T) => string,
): RecordPage<T> {
  const compare = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
  const { after } = page
  const left = after === undefined ? all : all.filter((each) => compare(keyOf(each), after) > 0)
  const sorted = left.toSorted((a, b) => compare(keyOf(a), keyOf(b)))
  return recordPage(sorted, page, (record) => structuredClone(record), keyOf)
}

function textOf({ description, metadata }: Item): number {
  return description.length + JSON.stringify(metadata).length
}

function idempotencyKey({
  account_id,
  key,
}: Pick<IdempotencyRecord, 'account_id' | 'key'>): string {
  return `${account_id}/${key}`
}

function watermarkKey(project_id: string, user_id: string): string {
  return `${project_id}/${user_id}`
}

/**
 * A purchase whose metadata is JSON in bytes. Parsed, `[{},{},…]` takes 24 times as much, and V8
 * collects its garbage late when the heap is large: four imports of 31 MiB took 545 MiB, now 250.
 */
type KeptPurchase = Omit<StoredPurchase, 'metadata'> & { readonly metadata: Buffer }

interface StoreRecords {
  store: Store
  readonly items: Map<string, Item>
  readonly purchases: Map<string, KeptPurchase>
  importing: boolean
}

function keyOf({ account_id, store_id }: StoreKey): string {
  return `${account_id}/${store_id}`
}

function openImport(
  records: StoreRecords,
  import_id: string,
  apply: (write: WriteOptions, change: () => void) => void,
): PurchaseImport | undefined {
  if (records.importing) return undefined
  records.importing = true
  const { store_id } = records.store
  const staged = new Map<string, KeptPurchase>()

  const stageRow = ({ line, metadata, ...row }: NewPurchase, result: Mutable<StagedRows>) => {
    if (!records.items.has(row.sku)) {
      result.unknown.push(line)
      return
    }
    const stored = staged.get(row.transaction_id) ?? records.purchases.get(row.transaction_id)
    const repeat = stored && compareRepeat(stored, row)
    if (repeat?.outcome === 'conflict') {
      result.conflicts.push({ line, field: repeat.field })
    } else if (stored && repeat?.outcome === 'updated') {
      staged.set(row.transaction_id, { ...stored, status: row.status })
      result.updated++
    } else if (repeat) {
      result.skipped++
    } else {
      const kept = { ...withoutAbsent(row), metadata: Buffer.from(JSON.stringify(metadata)) }
      staged.set(row.transaction_id, { ...kept, store_id, import_id })
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
    async commit(write = {}) {
      apply(write, () => {
        for (const [id, purchase] of staged) records.purchases.set(id, purchase)
        records.importing = false
      })
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
): StoredPurchasePage {
  const all = [...records.purchases.values()]
  const purchases: StoredPurchase[] = []
  for (let at = after === undefined ? 0 : Number(after); at < all.length; at++) {
    const kept = all[at] as KeptPurchase
    if (!matches(kept, filter)) continue
    if (purchases.length === limit) return { purchases, next: String(at) }
    purchases.push({ ...kept, metadata: JSON.parse(kept.metadata.toString()) as JsonObject })
  }
  return { purchases }
}

function matches(
  purchase: KeptPurchase,
  { user_id, sku, status, from, to }: PurchaseFilter,
): boolean {
  return (
    (user_id === undefined || purchase.user_id === user_id) &&
    (sku === undefined || purchase.sku === sku) &&
    (status === undefined || purchase.status === status) &&
    (from === undefined || purchase.purchased_at >= from) &&
    (to === undefined || purchase.purchased_at < to)
  )
}
