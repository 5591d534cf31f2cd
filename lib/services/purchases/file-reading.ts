import { createHash } from 'node:crypto'
import type { LayoutOptions } from '../../csv/layout.ts'
import { assertLayoutChoice, type LayoutChoice, layoutFields } from '../../csv/options.ts'
import { invalidSkus, type SkuMap } from '../../csv/skus.ts'
import type { InputOf } from '../../domain/fields.ts'
import { fileName } from '../../domain/import.ts'
import type { PurchaseRules } from '../../domain/purchase.ts'
import { optional, required, unchecked, wholeNumber } from '../../domain/rules.ts'
import { type Store, storeId } from '../../domain/store.ts'
import { MAX_DETAILS } from '../../errors.ts'
import type { Storage } from '../../storage/port.ts'
import { type createLoader, UNKNOWN_SKU } from './loader.ts'
import type { OnMistake } from './mistakes.ts'
import { appOf, findItemName, rulesOf } from './rules.ts'

/** What each call has that reads a purchase file. */
export const fileFields = {
  store_id: required(storeId),
  /** The file's bytes in chunks of any size: a `Readable` or an array. */
  file: required(unchecked<AsyncIterable<Uint8Array> | Iterable<Uint8Array>>()),
  /** The name of the file, for the import's record; a path is cut to its last part. */
  fileName: optional(fileName, () => ''),
  ...layoutFields,
  onProgress: optional(
    unchecked<(progress: { readonly bytes: number; readonly rows: number }) => void>(),
  ),
  /** The most mistakes that a thrown error lists, 1 to 1,000; default 100. */
  maxMistakes: optional(wholeNumber(1, 1_000), () => MAX_DETAILS),
  /** Called with every mistake, even if the error does not list it. An unknown SKU comes with its sale. */
  onMistake: optional(unchecked<OnMistake>()),
  /** Aborts the call: it throws the signal's reason and stores nothing. */
  signal: optional(unchecked<AbortSignal>()),
}

/** Returns how to read a file of a store. Throws `invalid_request` for a bad choice. */
export async function readingOf(
  storage: Storage,
  store: Store,
  choice: LayoutChoice,
): Promise<{ readonly layout: LayoutOptions; readonly rules: PurchaseRules }> {
  assertLayoutChoice(choice)
  await assertItems(storage, store, choice.skus)
  const rules = { ...rulesOf(store), refundsOnly: choice.refundsOnly }
  const app = appOf(store, await storage.findProject(store.project_id))
  const { is_sandbox } = store
  return { rules, layout: { ...choice, currency: rules.currency, is_sandbox, app } }
}

type FileRequest = InputOf<typeof fileFields>

/** Passes the chunks of a file to the loader. Resolves to the size and the hash of the file. */
export async function loadFile(
  loader: ReturnType<typeof createLoader>,
  file: FileRequest['file'],
  onProgress: FileRequest['onProgress'],
) {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of file) {
    await loader.push(chunk)
    hash.update(chunk)
    bytes += chunk.length
    onProgress?.({ bytes, rows: loader.rows })
  }
  return { bytes, sha256: hash.digest('hex') }
}

/** How many items of a SKU map are looked up at once. */
const LOOKUPS = 16

/**
 * Throws `invalid_request` with the first lines of a SKU map that name no item of the store. Stops
 * the search then: 9,900 lookups of unknown names took PostgreSQL 3.6 s.
 */
async function assertItems(storage: Storage, store: Store, skus: SkuMap = new Map()) {
  const names = [...new Set([...skus.values()].map(({ item }) => item))].filter(Boolean)
  const unknown = new Set<string>()
  for (let start = 0; start < names.length && unknown.size < MAX_DETAILS; start += LOOKUPS) {
    const lookUp = async (name: string) => {
      if ((await findItemName(storage, store, name)) === undefined) unknown.add(name)
    }
    await Promise.all(names.slice(start, start + LOOKUPS).map(lookUp))
  }
  if (unknown.size === 0) return
  const lines = [...skus.values()].filter(({ item }) => unknown.has(item)).slice(0, MAX_DETAILS)
  const mistake = { field: 'skus', column: 'item', ...UNKNOWN_SKU }
  throw invalidSkus(lines.map(({ line }) => ({ ...mistake, line })))
}
