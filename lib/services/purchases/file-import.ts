import { createHash } from 'node:crypto'
import { assertLayoutChoice, layoutFields } from '../../csv/options.ts'
import { invalidSkus, type SkuMap } from '../../csv/skus.ts'
import { type Authority, assertAuthority } from '../../domain/authority.ts'
import {
  boolean,
  type InputOf,
  optional,
  parseObject,
  required,
  unchecked,
  wholeNumber,
} from '../../domain/fields.ts'
import { fileName, type ImportSummary } from '../../domain/import.ts'
import { type Store, storeId } from '../../domain/store.ts'
import { MAX_DETAILS } from '../../errors.ts'
import type { PurchaseImport, Storage } from '../../storage/port.ts'
import { assertScope, authorityOf, type Caller, getNamedStore, isSession } from '../access.ts'
import { assertCallOptions, auditedWrite, type CallOptions } from '../audit.ts'
import type { Context } from '../context.ts'
import { createId } from '../ids.ts'
import { afterImport } from './after-import.ts'
import { createLoader, UNKNOWN_SKU } from './loader.ts'
import type { OnMistake } from './mistakes.ts'
import { appOf, findItemName, rulesOf } from './rules.ts'

const importFields = {
  store_id: required(storeId),
  /** The file's bytes in chunks of any size: a `Readable` or an array. */
  file: required(unchecked<AsyncIterable<Uint8Array> | Iterable<Uint8Array>>()),
  /** The name of the file, for the import's record; a path is cut to its last part. */
  fileName: optional(fileName, () => ''),
  /** Whether to check everything but store nothing. */
  dryRun: optional(boolean),
  /** Whether the purchases that the import adds must still be delivered. */
  undelivered: optional(boolean, () => false),
  ...layoutFields,
  onProgress: optional(
    unchecked<(progress: { readonly bytes: number; readonly rows: number }) => void>(),
  ),
  /** The most mistakes that a thrown error lists, 1 to 1,000; default 100. */
  maxMistakes: optional(wholeNumber(1, 1_000), () => MAX_DETAILS),
  /** Called with every mistake, even if the error does not list it, and with an unknown SKU. */
  onMistake: optional(unchecked<OnMistake>()),
  /** Aborts the import: it throws the signal's reason and stores nothing. */
  signal: optional(unchecked<AbortSignal>()),
}

export interface ImportRequest extends InputOf<typeof importFields> {}

export interface ImportResult extends ImportSummary {
  readonly import_id: string
}

/** Imports all rows of a file or none: see `Purchases.import`. */
export async function importFile(
  context: Context,
  caller: Caller,
  request: ImportRequest,
  options: CallOptions | undefined,
): Promise<ImportResult> {
  assertScope(caller, 'purchases:import')
  assertCallOptions(options)
  const { storage, now } = context
  const { store_id, maxMistakes, onMistake, signal, ...parsed } = parseObject(request, importFields)
  const { file, fileName: file_name, dryRun, undelivered, onProgress, ...choice } = parsed
  assertLayoutChoice(choice)
  const store = await getNamedStore(storage, caller, store_id)
  const { account_id, is_sandbox } = store
  const authority = { ...authorityOf(caller, ['purchases']), store: { account_id, store_id } }
  assertAuthority({ store }, { store_status: store.status })
  await assertItems(storage, store, choice.skus)
  const rules = { ...rulesOf(store), refundsOnly: choice.refundsOnly }
  const app = appOf(store, await storage.findProject(store.project_id))
  const layout = { ...choice, currency: rules.currency, is_sandbox, app }
  const assertAdded = await assertRoom(context, store)
  const import_id = createId('imp', now())
  const running = await afterImport(() => storage.openImport(store, import_id), signal)
  try {
    const settings = {
      layout,
      onMistake,
      mayFill: mayFill(caller),
      assertAdded,
      maxMistakes,
      signal,
    }
    const loader = createLoader(running, rules, settings)
    const read = await loadFile(loader, file, onProgress)
    const summary = await loader.end()
    signal?.throwIfAborted()
    if (dryRun || summary.rows === 0) {
      await storage.verifyAuthority(authority)
      await running.abort()
    } else {
      const about = { import_id, store, authority }
      if (undelivered) await running.markUndelivered()
      await commit(context, caller, running, about, { ...summary, ...read, file_name }, options)
    }
    return { import_id, ...summary }
  } catch (error) {
    await running.abort()
    throw error
  }
}

/**
 * Whether the rows of a caller fill what stored purchases lack. Those of a token that was issued for
 * a public key do not: anyone who knows the id of an order could claim its purchases.
 */
function mayFill(caller: Caller): boolean {
  return !isSession(caller) || caller.issued_by === 'account'
}

/** Returns a function that throws if an import adds more rows than the account has room for. */
async function assertRoom({ rowQuotas: { purchases } }: Context, { account_id }: Store) {
  const room = await purchases.room(account_id)
  return (added: number) => {
    if (added > room) throw purchases.refusal()
  }
}

/** Passes the chunks of a file to the loader. Resolves to the size and the hash of the file. */
async function loadFile(
  loader: ReturnType<typeof createLoader>,
  file: ImportRequest['file'],
  onProgress: ImportRequest['onProgress'],
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

interface Destination {
  readonly import_id: string
  readonly store: Store
  readonly authority: Authority
}

interface Loaded extends ImportSummary {
  readonly bytes: number
  readonly sha256: string
  readonly file_name: string
}

/** Makes the rows of an import visible. Throws `quota_exceeded` if they exceed the quota by now. */
async function commit(
  context: Context,
  caller: Caller,
  running: PurchaseImport,
  { import_id, store, authority }: Destination,
  { rows, added, skipped, updated, passed_over, totals, ...loaded }: Loaded,
  options: CallOptions | undefined,
): Promise<void> {
  const { account_id, project_id, store_id } = store
  const { purchases } = context.rowQuotas
  if (added > 0 && added > (await purchases.room(account_id, added))) throw purchases.refusal()
  const data = { rows, added, skipped, updated, passed_over }
  const about = { subject: import_id, project_id, store_id, data }
  const { audit } = auditedWrite(context, caller, 'purchases.import', about, options)
  const { file_name, bytes, sha256, layout } = loaded
  const facts = { file_name, bytes, sha256, layout, totals }
  const details = { ...data, ...facts, actor: audit.actor, finished_at: audit.at }
  await running.commit({ ...(added + updated > 0 && { audit }), authority }, details)
  purchases.add(account_id, added)
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
