import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { TillError } from '../errors.ts'
import type { Storage } from './port.ts'
import { COPIED_TABLES, type CopiedRow, type CopiedTable } from './sql/copy.ts'

/** Called with a kind of records, and how many of them were copied or compared so far. */
export type CopyProgress = (step: 'copying' | 'comparing', kind: string, count: number) => void

/** The number of records of each kind, and a hexadecimal SHA-256 checksum of all of them. */
export interface Inventory {
  readonly counts: { readonly [kind: string]: number }
  readonly checksum: string
}

/**
 * Copies all records from one storage into an empty one, and compares the two storages by checksum.
 * Until the checksums are equal, the copy is marked as unfinished, and cannot be opened. If the
 * copy was interrupted, copy again into another empty storage. Copies neither expired idempotency
 * records nor the delivery logs of webhooks.
 *
 * Throws `storage_unavailable` when the checksums differ, for example after a write during the
 * copy. Throws `invalid_request` when the destination is not empty.
 */
export async function copyStorage(
  from: Storage,
  to: Storage,
  onProgress: CopyProgress = () => {},
): Promise<Inventory> {
  const now = new Date().toISOString()
  await to.beginCopy(now)
  await copyAll(from, to, onProgress, now)
  // Reads both in parallel: while one storage waits for its database, the other one is hashed.
  const [original, copy] = await Promise.all([
    takeInventory(from, now),
    takeInventory(to, now, (kind, count) => onProgress('comparing', kind, count)),
  ])
  if (original.checksum !== copy.checksum) throw differs(original, copy)
  await to.endCopy()
  return copy
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
  await storage.applyChanges?.()
  for (const table of COPIED_TABLES) {
    const { kind = table.name } = table
    const types = Object.values(table.columns)
    let count = 0
    // Adds up the checksums of the rows: two databases may read them in different orders.
    let sum = 0n
    for await (const rows of pagesOf(storage, table, now)) {
      for (const row of rows) {
        const compared = row.filter((_, place) => types[place] !== 'number')
        sum += BigInt(`0x${createHash('sha256').update(JSON.stringify(compared)).digest('hex')}`)
      }
      count += rows.length
      onCount(kind, count)
    }
    counts[kind] = count
    hash.update(`${kind} ${sum}\n`)
  }
  return { counts, checksum: hash.digest('hex') }
}

function differs(original: Inventory, copy: Inventory): TillError {
  const difference = Object.keys(original.counts).find((kind) => {
    return original.counts[kind] !== copy.counts[kind]
  })
  const found = difference
    ? `${copy.counts[difference]} ${difference} instead of ${original.counts[difference]}`
    : 'different contents'
  const advice = 'if the source changed during the copy, delete it and copy again'
  const message = `The copy has ${found}: ${advice}`
  return new TillError('storage_unavailable', message)
}

async function copyAll(
  from: Storage,
  to: Storage,
  onProgress: CopyProgress,
  now: string,
): Promise<void> {
  await from.applyChanges?.()
  const bases = to.readNumberBases ? undefined : await from.readNumberBases?.()
  for (const table of COPIED_TABLES) {
    let count = 0
    for await (const rows of pagesOf(from, table, now)) {
      await to.insertRows(table, renumber(rows, table, bases))
      count += rows.length
      onProgress('copying', table.kind ?? table.name, count)
    }
  }
  await to.completeCopy()
}

/** Adds the number of its store to each number of a purchase. */
function renumber(
  rows: readonly CopiedRow[],
  { columns }: CopiedTable,
  bases: ReadonlyMap<string, number> | undefined,
): readonly CopiedRow[] {
  const types = Object.values(columns)
  const store = Object.keys(columns).indexOf('store')
  if (!bases || !types.includes('number')) return rows
  return rows.map((row) =>
    row.map((text, place) => {
      if (text === null || types[place] !== 'number') return text
      return String(Number(text) + (bases.get(row[store] as string) ?? 0))
    }),
  )
}

const PAGE_ROWS = 2_000
const PAGE_CHARS = 1024 ** 2

/** Reads the rows of a table in pages. Reads a page while the caller works on the one before. */
async function* pagesOf(
  storage: Storage,
  { name }: CopiedTable,
  now: string,
): AsyncGenerator<readonly CopiedRow[]> {
  let limit = 100
  let next = storage.readRows(name, { limit, now })
  for (;;) {
    const rows = await next
    if (rows.length === 0) return
    // A row may have 140 KiB.
    const chars = rows.reduce((sum, row) => sum + lengthOf(row), 0)
    limit = Math.max(1, Math.min(PAGE_ROWS, Math.floor((PAGE_CHARS / chars) * rows.length)))
    next = storage.readRows(name, { after: rows.at(-1), limit, now })
    next.catch(() => {}) // the caller may have failed before
    yield rows
    await setImmediate()
  }
}

function lengthOf(row: CopiedRow): number {
  return row.reduce((sum, text) => sum + (text?.length ?? 1), 0)
}
