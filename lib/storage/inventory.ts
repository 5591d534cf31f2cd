import { createHash, type Hash } from 'node:crypto'
import { pagesOf, purchasePages, recordsOf } from './pages.ts'
import type { Page, RecordPage, Storage } from './port.ts'

/** The number of records of each kind, and a hexadecimal SHA-256 checksum of all of them. */
export interface Inventory {
  readonly counts: { readonly [kind: string]: number }
  readonly checksum: string
}

/**
 * Counts all records of a storage, and computes their checksum. Ignores idempotency records that
 * have expired at `now`. Reports the progress of each kind of records to `onCount`.
 */
export async function takeInventory(
  storage: Storage,
  now: string,
  onCount: (kind: string, count: number) => void = () => {},
): Promise<Inventory> {
  const hash = createHash('sha256')
  const counts: { [kind: string]: number } = {}
  const add = (kind: string, records: readonly unknown[]) => {
    counts[kind] = (counts[kind] ?? 0) + records.length
    for (const record of records) addTo(hash, record)
    onCount(kind, counts[kind])
  }
  add('signing_keys', await storage.listSigningKeys())
  const keyCheck = await storage.findKeyCheck?.()
  if (keyCheck !== undefined) add('key_checks', [{ keyCheck }])
  for await (const account of recordsOf((page) => storage.listAccounts(page))) {
    const { account_id } = account
    add('accounts', [account])
    for await (const { records } of pagesOf((page) => storage.listAccountKeys(account_id, page))) {
      add('account_keys', records)
    }
    const idempotency = pagesOf((page) => storage.listIdempotencyRecords(account_id, page))
    for await (const { records } of idempotency) {
      const valid = records.filter(({ expires_at }) => expires_at > now)
      add('idempotency_records', valid)
    }
    for await (const project of recordsOf((page) => storage.listProjects(account_id, page))) {
      const { id } = project
      add('projects', [project])
      for await (const { records } of pagesOf((page) => storage.listFormerPublicKeys(id, page))) {
        add('former_public_keys', records)
      }
      for await (const { records } of pagesOf((page) => storage.listWatermarks(id, page))) {
        add('revocations', records)
      }
      for await (const store of recordsOf((page) => storage.listStores(id, page))) {
        add('stores', [store])
        for await (const { items } of pagesOf((page) => storage.listItems(store, page))) {
          add('items', items)
        }
        for await (const { purchases } of purchasePages(storage, store)) add('purchases', purchases)
        const erased = pagesOf((page) => storage.listErasedPurchases(store, page))
        for await (const { records } of erased) add('erased_purchases', records)
      }
    }
  }
  // Adds up the checksums of the records, because a sum does not depend on their order. Two
  // storages may list some records, such as imports, in different orders.
  const addUnordered = async (
    kind: string,
    list: (page: Page) => Promise<RecordPage<object>>,
  ): Promise<void> => {
    let sum = 0n
    counts[kind] = 0
    for await (const { records } of pagesOf(list)) {
      counts[kind] += records.length
      for (const record of records) sum += BigInt(`0x${digestOf(record)}`)
      onCount(kind, counts[kind])
    }
    hash.update(`${sum}\n`)
  }
  await addUnordered('imports', (page) => storage.listAllImports(page))
  await addUnordered('status_changes', (page) => storage.listStatusChanges(page))
  await addUnordered('import_overlaps', (page) => storage.listOverlaps(page))
  for await (const { entries } of pagesOf((page) => storage.listAudit(undefined, page))) {
    add('audit_entries', entries)
  }
  for await (const { records } of pagesOf((page) => storage.listEndpoints({}, page))) {
    add('webhook_endpoints', records)
  }
  return { counts, checksum: hash.digest('hex') }
}

/** Adds a record to the hash. Sorts its fields by name, because databases list them differently. */
function addTo(hash: Hash, record: unknown): void {
  const entries = Object.entries(record as object).sort(([a], [b]) => (a < b ? -1 : 1))
  const plain = entries.map(([name, value]) => [
    name,
    ArrayBuffer.isView(value) ? hex(value) : value,
  ])
  hash.update(`${JSON.stringify(plain)}\n`)
}

function digestOf(record: object): string {
  const hash = createHash('sha256')
  addTo(hash, record)
  return hash.digest('hex')
}

function hex(bytes: ArrayBufferView): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}
