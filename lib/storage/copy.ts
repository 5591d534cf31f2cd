import type { Account } from '../domain/account.ts'
import type { AuditEntry } from '../domain/audit.ts'
import { EVENT_ACTIONS } from '../domain/event.ts'
import type { StoredPurchase } from '../domain/purchase.ts'
import type { Store } from '../domain/store.ts'
import { TillError } from '../errors.ts'
import { type Inventory, takeInventory } from './inventory.ts'
import { pagesOf, recordsOf } from './pages.ts'
import type { FormerPublicKey, Page, RecordPage, Storage, StoreKey } from './port.ts'

/** Called with a kind of records, and how many of them were copied or compared so far. */
export type CopyProgress = (step: 'copying' | 'comparing', kind: string, count: number) => void

const noProgress: CopyProgress = () => {}

/**
 * Copies all records from one storage into an empty one, and compares the two storages by checksum.
 * Until the checksums are equal, the target is marked as unfinished and opens only with `forCopy`.
 *
 * Continues an interrupted copy, and skips the records that the target already has. If the target
 * is a finished copy, only compares. Copies neither expired idempotency records nor the delivery
 * logs of webhooks.
 *
 * Throws `storage_unavailable` when the checksums differ, for example after a write during the
 * copy. Throws `invalid_request` when the target holds other records.
 */
export async function copyStorage(
  from: Storage,
  to: Storage,
  onProgress: CopyProgress = noProgress,
): Promise<Inventory> {
  const now = new Date().toISOString()
  await assertPrefix(from, to)
  const isBegun = await to.beginCopy()
  if (isBegun) await copyAll(from, to, onProgress, now)
  // Reads both in parallel: while one storage waits for its database, the other one is hashed.
  const [original, copy] = await Promise.all([
    takeInventory(from, now),
    takeInventory(to, now, (kind, count) => onProgress('comparing', kind, count)),
  ])
  if (original.checksum !== copy.checksum) throw isBegun ? differs(original, copy) : holdsOthers()
  await to.endCopy()
  return copy
}

function differs(original: Inventory, copy: Inventory): TillError {
  const difference = Object.keys(original.counts).find((kind) => {
    return original.counts[kind] !== copy.counts[kind]
  })
  const found = difference
    ? `${copy.counts[difference]} ${difference} instead of ${original.counts[difference]}`
    : 'different contents'
  const advice = 'if the source changed during the copy, delete the target and copy again'
  const message = `The copy has ${found}: ${advice}`
  return new TillError('storage_unavailable', message)
}

async function copyAll(
  from: Storage,
  to: Storage,
  onProgress: CopyProgress,
  now: string,
): Promise<void> {
  const count = createCounter(onProgress)
  const context = { from, to, count }
  for await (const account of recordsOf((page) => from.listAccounts(page))) {
    const { account_id } = account
    await copyAccount(from, to, account)
    await copyIdempotencyRecords(from, to, account_id, now, (number) =>
      count('idempotency_records', number),
    )
    count('accounts')
    for await (const project of recordsOf((page) => from.listProjects(account_id, page))) {
      await copyProject(from, to, project.id)
      count('projects')
      for await (const store of recordsOf((page) => from.listStores(project.id, page))) {
        await copyStore(from, to, store, count)
        count('stores')
      }
    }
  }
  await copyList(context, 'imports', {
    list: (storage, page) => storage.listAllImports(page),
    insert: (imports) => to.insertImports(imports),
  })
  for await (const store of allStores(from)) await copyPurchases(context, store)
  await copyList(context, 'status_changes', {
    list: (storage, page) => storage.listStatusChanges(page),
    insert: (changes) => to.insertStatusChanges(changes),
  })
  await copyList(context, 'import_overlaps', {
    list: (storage, page) => storage.listOverlaps(page),
    insert: (overlaps) => to.insertOverlaps(overlaps),
  })
  await copySigningKeys(from, to)
  const keyCheck = await from.findKeyCheck?.()
  if (keyCheck !== undefined) await to.insertAudit({ keyChecks: [{ values: [keyCheck] }] })
  await copyList(context, 'audit_entries', {
    list: listAudit,
    insert: (entries) => to.insertAudit(...entries.map((audit) => ({ audit }))),
  })
  await copyEndpoints(from, to, count)
}

function createCounter(onProgress: CopyProgress) {
  const counts: { [kind: string]: number } = {}
  return (kind: string, number = 1) => {
    counts[kind] = (counts[kind] ?? 0) + number
    onProgress('copying', kind, counts[kind])
  }
}

/** Throws if the target has other accounts than an interrupted copy of the source would have. */
async function assertPrefix(from: Storage, to: Storage): Promise<void> {
  const source = recordsOf((page) => from.listAccounts(page))
  for await (const { account_id } of recordsOf((page) => to.listAccounts(page))) {
    const { value } = await source.next()
    if (value?.account_id !== account_id) throw holdsOthers('accounts')
  }
}

function holdsOthers(what = 'contents'): TillError {
  return new TillError('invalid_request', `The target holds other ${what}: copy into an empty one`)
}

async function copyAccount(from: Storage, to: Storage, account: Account): Promise<void> {
  const { account_id } = account
  const known = new Set<string>()
  for await (const key of recordsOf((page) => to.listAccountKeys(account_id, page))) {
    known.add(key.key_id)
  }
  for await (const key of recordsOf((page) => from.listAccountKeys(account_id, page))) {
    if (known.has(key.key_id)) continue
    if (await to.findAccount(account_id)) await to.insertAccountKey(key)
    else await to.insertAccount(account, key)
  }
}

/**
 * Copies idempotency records in the order of their keys. Begins after the last key in the target.
 */
async function copyIdempotencyRecords(
  from: Storage,
  to: Storage,
  account_id: string,
  now: string,
  count: (number: number) => void,
): Promise<void> {
  let last = ''
  for await (const { records } of pagesOf((page) => to.listIdempotencyRecords(account_id, page))) {
    last = records.at(-1)?.key ?? last
    count(records.length)
  }
  const source = pagesOf((page) => from.listIdempotencyRecords(account_id, page))
  for await (const { records } of source) {
    const fresh = records.filter(({ key, expires_at }) => key > last && expires_at > now)
    if (fresh.length === 0) continue
    await to.insertAudit(...fresh.map((idempotency) => ({ idempotency })))
    count(fresh.length)
  }
}

/** Copies a project with its first public key, then repeats its key rotations in order. */
async function copyProject(from: Storage, to: Storage, id: string): Promise<void> {
  const project = await from.findProject(id)
  if (!project) throw new Error('a listed project was not found')
  const former: FormerPublicKey[] = []
  for await (const key of recordsOf((page) => from.listFormerPublicKeys(id, page))) former.push(key)
  const [first = project, ...later] = [...former, project]
  if (!(await to.findProject(id))) {
    await to.insertProject({ ...project, public_key: first.public_key })
  }
  const current = (await to.findProject(id))?.public_key
  const done = [first, ...later].findIndex(({ public_key }) => public_key === current)
  for (const [i, { public_key }] of later.entries()) {
    if (i < done) continue
    const former_until = former[i]?.expires_at as string
    await to.rotatePublicKey(id, { public_key, former_until })
  }
  for await (const watermark of recordsOf((page) => from.listWatermarks(id, page))) {
    await to.insertWatermark(watermark)
  }
}

async function copyStore(
  from: Storage,
  to: Storage,
  store: Store,
  count: (kind: string, number?: number) => void,
): Promise<void> {
  if (!(await to.findStore(store.account_id, store.store_id))) await to.insertStore(store)
  for await (const { items } of pagesOf((page) => from.listItems(store, page))) {
    await to.insertItems(items)
    count('items', items.length)
  }
}

async function* allStores(storage: Storage): AsyncGenerator<Store> {
  for await (const { account_id } of recordsOf((page) => storage.listAccounts(page))) {
    for await (const { id } of recordsOf((page) => storage.listProjects(account_id, page))) {
      yield* recordsOf((page) => storage.listStores(id, page))
    }
  }
}

async function copyPurchases(context: Context, store: StoreKey): Promise<void> {
  const { from, to, count } = context
  const writer = createBlocks((purchases) => to.insertPurchases(store, purchases))
  await copyList(context, 'purchases', {
    list: async (storage, page) => {
      const { purchases: records, ...further } = await storage.listPurchases(store, {}, page)
      return { records, ...further }
    },
    insert: (purchases) => writer.add(purchases),
  })
  await writer.end()
  for await (const { records } of pagesOf((page) => from.listErasedPurchases(store, page))) {
    await to.insertErasedPurchases(store, records)
    count('erased_purchases', records.length)
  }
}

const BLOCK_ROWS = 10_000
const BLOCK_CHARS = 2 * 1024 * 1024

/**
 * Collects purchases in blocks, because a storage sorts the ids of each block before it indexes
 * them.
 */
function createBlocks(insert: (purchases: readonly StoredPurchase[]) => Promise<void>) {
  let block: StoredPurchase[] = []
  let chars = 0
  const end = async () => {
    const full = block
    block = []
    chars = 0
    if (full.length > 0) await insert(full)
  }
  return {
    end,
    async add(purchases: readonly StoredPurchase[]) {
      for (const purchase of purchases) {
        block.push(purchase)
        chars += JSON.stringify(purchase.metadata).length
        if (block.length >= BLOCK_ROWS || chars >= BLOCK_CHARS) await end()
      }
    },
  }
}

interface Context {
  readonly from: Storage
  readonly to: Storage
  readonly count: (kind: string, number?: number) => void
}

interface CopiedList<T> {
  readonly list: (storage: Storage, page: Page) => Promise<RecordPage<T>>
  readonly insert: (records: readonly T[]) => Promise<void>
}

/**
 * Copies the records of a list. Both storages list them in the same order, so the copy skips as
 * many records as the target already has.
 */
async function copyList<T>(
  { from, to, count }: Context,
  kind: string,
  { list, insert }: CopiedList<T>,
): Promise<void> {
  let done = 0
  for await (const { records } of pagesOf((page) => list(to, page))) done += records.length
  count(kind, done)
  let seen = 0
  for await (const { records } of pagesOf((page) => list(from, page))) {
    const fresh = records.slice(Math.max(0, done - seen))
    seen += records.length
    if (fresh.length > 0) await insert(fresh)
    count(kind, fresh.length)
  }
}

async function listAudit(storage: Storage, page: Page): Promise<RecordPage<AuditEntry>> {
  const { entries: records, ...further } = await storage.listAudit(undefined, page)
  return { records, ...further }
}

async function copySigningKeys(from: Storage, to: Storage): Promise<void> {
  const known = new Set((await to.listSigningKeys()).map(({ kid }) => kid))
  for (const key of await from.listSigningKeys()) {
    if (!known.has(key.kid)) await to.insertSigningKey(key)
  }
}

/**
 * The times of audit entries may be out of order, because clocks differ. A copied webhook endpoint
 * therefore starts a minute before its first unread entry, and may send some messages again.
 */
const OVERLAP_MS = 60_000

/**
 * Copies webhook endpoints. Finds their positions by time, because the sequence numbers of the two
 * storages differ.
 */
async function copyEndpoints(
  from: Storage,
  to: Storage,
  count: (kind: string, number?: number) => void,
): Promise<void> {
  for await (const endpoint of recordsOf((page) => from.listEndpoints({}, page))) {
    const { endpoint_id, project_id } = endpoint
    const { at } = await from.measureLag(endpoint_id, EVENT_ACTIONS)
    await to.insertAudit({ endpoints: [{ endpoint_id, change: () => endpoint }] })
    if (at !== undefined) {
      const since = new Date(Date.parse(at) - OVERLAP_MS).toISOString()
      const first = await to.findSequence(project_id, since)
      await to.updateEndpoint(endpoint_id, (same) => same, { to: first })
    }
    count('webhook_endpoints')
  }
}
