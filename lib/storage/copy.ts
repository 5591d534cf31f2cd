import type { Account } from '../domain/account.ts'
import { EVENT_ACTIONS } from '../domain/event.ts'
import type { NewPurchase, StoredPurchase } from '../domain/purchase.ts'
import type { Store } from '../domain/store.ts'
import { TillError } from '../errors.ts'
import { type Inventory, takeInventory } from './inventory.ts'
import { openImport } from './open-import.ts'
import { pagesOf, purchasePages, recordsOf } from './pages.ts'
import type { FormerPublicKey, PurchaseImport, Storage, StoreKey } from './port.ts'

/** Called with the number of records of a kind that were copied or compared so far. */
export type CopyProgress = (step: 'copying' | 'comparing', kind: string, count: number) => void

const noProgress: CopyProgress = () => {}

/**
 * Copies all records from one storage into an empty one, and compares both by checksum. Until the
 * comparison succeeds, the target is marked as unfinished and opens only with `forCopy`.
 *
 * Continues an interrupted copy, and skips the records that the target already has. If the target
 * is a finished copy, only compares. Does not copy expired idempotency records, and the delivery
 * logs of webhooks.
 *
 * Throws `storage_unavailable` when the two differ, for example after a write during the copy.
 * Throws `invalid_request` when the target holds other records.
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
  // Runs in parallel, because one waits for its database while the other computes.
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
  await copySigningKeys(from, to)
  await copyAudit(from, to, count)
  await copyEndpoints(from, to, count)
}

function createCounter(onProgress: CopyProgress) {
  const counts: { [kind: string]: number } = {}
  return (kind: string, number = 1) => {
    counts[kind] = (counts[kind] ?? 0) + number
    onProgress('copying', kind, counts[kind])
  }
}

/** Throws unless the target's accounts are the first accounts of the source. */
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

/** Copies idempotency records in the order of their keys, from the last key in the target on. */
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
  let done = 0
  for await (const { purchases } of purchasePages(to, store)) done += purchases.length
  count('purchases', done)
  await copyPurchases(from, to, store, done, (number) => count('purchases', number))
  for await (const { records } of pagesOf((page) => from.listErasedPurchases(store, page))) {
    await to.insertErasedPurchases(store, records)
    count('erased_purchases', records.length)
  }
}

/** Copies the purchases after the first `done` ones. Keeps the ids of their imports. */
async function copyPurchases(
  from: Storage,
  to: Storage,
  store: StoreKey,
  done: number,
  count: (number: number) => void,
): Promise<void> {
  let seen = 0
  let current: { readonly id: string; readonly target: PurchaseImport } | undefined
  try {
    for await (const { purchases } of purchasePages(from, store)) {
      const fresh = purchases.slice(Math.max(0, done - seen))
      seen += purchases.length
      for (const group of byImport(fresh)) {
        const id = group[0]?.import_id as string
        if (current && current.id !== id) await finish(current.target)
        if (current?.id !== id)
          current = { id, target: await openImport(to, store, id, MAX_WAIT_MS) }
        await current.target.stage(group.map(toRow))
      }
      count(fresh.length)
    }
    if (current) await finish(current.target)
  } catch (error) {
    await current?.target.abort()
    throw error
  }
}

/** Longer than the lease of an import that an interrupted copy has left open. */
const MAX_WAIT_MS = 60_000

async function finish(target: PurchaseImport): Promise<void> {
  await target.finish()
  await target.commit()
}

function byImport(purchases: readonly StoredPurchase[]): StoredPurchase[][] {
  const groups: StoredPurchase[][] = []
  for (const purchase of purchases) {
    const last = groups.at(-1)
    if (last && last[0]?.import_id === purchase.import_id) last.push(purchase)
    else groups.push([purchase])
  }
  return groups
}

function toRow({ import_id: _import, store_id: _store, ...row }: StoredPurchase): NewPurchase {
  return { ...row, line: 0 }
}

async function copySigningKeys(from: Storage, to: Storage): Promise<void> {
  const known = new Set((await to.listSigningKeys()).map(({ kid }) => kid))
  for (const key of await from.listSigningKeys()) {
    if (!known.has(key.kid)) await to.insertSigningKey(key)
  }
}

async function copyAudit(
  from: Storage,
  to: Storage,
  count: (kind: string, number?: number) => void,
): Promise<void> {
  let done = 0
  for await (const { entries } of pagesOf((page) => to.listAudit(undefined, page))) {
    done += entries.length
  }
  let seen = 0
  for await (const { entries } of pagesOf((page) => from.listAudit(undefined, page))) {
    const fresh = entries.slice(Math.max(0, done - seen))
    seen += entries.length
    await to.insertAudit(...fresh.map((audit) => ({ audit })))
    count('audit_entries', fresh.length)
  }
}

/** Entries of a minute before the cursor are sent again, as their times may not be in order. */
const OVERLAP_MS = 60_000

/** Copies webhook endpoints. Their positions are found by time, because the numbers differ. */
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
