import type { AuditAction } from '../../domain/audit.ts'
import { type Authority, assertAuthority } from '../../domain/authority.ts'
import { type InputOf, parseObject } from '../../domain/fields.ts'
import type { ImportDetails, ImportSummary } from '../../domain/import.ts'
import { boolean, optional } from '../../domain/rules.ts'
import type { Store } from '../../domain/store.ts'
import type { PurchaseImport } from '../../storage/port.ts'
import { assertScope, authorityOf, type Caller, getNamedStore, isSession } from '../access.ts'
import { assertCallOptions, auditedWrite, type CallOptions } from '../audit.ts'
import type { Context } from '../context.ts'
import { createId } from '../ids.ts'
import { afterImport } from './after-import.ts'
import { fileFields, loadFile, readingOf } from './file-reading.ts'
import { createLoader } from './loader.ts'

const importFields = {
  ...fileFields,
  /** Whether to check everything but store nothing. */
  dryRun: optional(boolean),
  /** Whether the purchases that the import adds must still be delivered. */
  undelivered: optional(boolean, () => false),
}

export interface ImportRequest extends InputOf<typeof importFields> {}

export interface ImportResult extends ImportSummary {
  /** '' if no import was stored: after a dry run, and for a file without rows. */
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
  const store = await getNamedStore(storage, caller, store_id)
  const { account_id } = store
  const authority = { ...authorityOf(caller, ['purchases']), store: { account_id, store_id } }
  assertAuthority({ store }, { store_status: store.status })
  const { layout, rules } = await readingOf(storage, store, choice)
  const assertAdded = await assertRoom(context, store)
  const import_id = createId('imp', now())
  const running = await afterImport(() => storage.openImport(store, import_id), signal)
  try {
    const settings = {
      owner: account_id,
      layout,
      onMistake,
      mayFill: mayFill(caller),
      // A token may be a player's, who may not see the purchases of others.
      showsStored: !isSession(caller),
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
      return { import_id: '', ...summary }
    }
    const about = { action: 'purchases.import', import_id, store, authority } as const
    if (undelivered) await running.markUndelivered()
    const loaded = { ...summary, ...read, file_name }
    await commitImport(context, caller, running, about, loaded, options)
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

interface Destination {
  readonly action: AuditAction
  readonly import_id: string
  readonly store: Store
  readonly authority: Authority
}

interface Loaded extends Omit<ImportDetails, 'actor' | 'finished_at'> {
  readonly bytes: number
  readonly sha256: string
  readonly file_name: string
}

/** Makes the rows of an import visible. Throws `quota_exceeded` if they exceed the quota by now. */
export async function commitImport(
  context: Context,
  caller: Caller,
  running: PurchaseImport,
  { action, import_id, store, authority }: Destination,
  { rows, added, skipped, updated, passed_over, totals, ...loaded }: Loaded,
  options: CallOptions | undefined,
): Promise<void> {
  const { account_id, project_id, store_id } = store
  const { purchases } = context.rowQuotas
  if (added > 0 && added > (await purchases.room(account_id, added))) throw purchases.refusal()
  const data = { rows, added, skipped, updated, passed_over }
  const about = { subject: import_id, project_id, store_id, data }
  const { audit } = auditedWrite(context, caller, action, about, options)
  const { file_name, bytes, sha256, layout } = loaded
  const facts = { file_name, bytes, sha256, layout, totals }
  const details = { ...data, ...facts, actor: audit.actor, finished_at: audit.at }
  await running.commit({ ...(added + updated > 0 && { audit }), authority }, details)
  purchases.add(account_id, added)
}
