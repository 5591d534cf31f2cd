import type { Account } from '../../domain/account.ts'
import { parseObject } from '../../domain/fields.ts'
import { type ImportRecord, type ImportUndoRequest, undoFields } from '../../domain/import.ts'
import { formatInstant } from '../../domain/instant.ts'
import { type ImportQuery, importListFields, type ListPage, pageFor } from '../../domain/query.ts'
import { type ErrorDetail, TillError } from '../../errors.ts'
import { listAll, type UndoOutcome } from '../../storage/port.ts'
import { assertAccount, getNamedStore, readNamedStore, verified } from '../access.ts'
import { assertCallOptions, auditedWrite, type CallOptions } from '../audit.ts'
import type { Context } from '../context.ts'
import { afterImport } from './after-import.ts'

export interface Imports {
  /**
   * One page of the finished imports into a store, in order of their start, or newest first. Leaves out purchases
   * that were recorded one by one.
   */
  list(account: Account, query: ImportQuery): Promise<ImportPage>
  /** All finished imports into a store, read page by page. */
  all(account: Account, query: Pick<ImportQuery, 'store_id'>): AsyncIterable<ImportRecord>
  /** Finds a finished import. Throws `import_not_found`, also for an import of another account. */
  get(account: Account, import_id: string): Promise<ImportRecord>
  /**
   * Removes the rows that an import added, restores the statuses that it changed, and empties what it
   * filled: all or nothing. Throws `undo_refused` when a later import changed the status of these
   * rows, and for an import without details. Without `force`, also when a later import skipped or
   * filled them. Waits while an import into the same store runs. Changes nothing when the import was
   * undone before.
   */
  undo(account: Account, request: ImportUndoRequest, options?: CallOptions): Promise<ImportRecord>
}

export interface ImportPage extends ListPage {
  readonly imports: readonly ImportRecord[]
}

export function createImports(context: Context): Imports {
  const { storage, now, longCalls, rowQuotas } = context

  const getImport = async ({ account_id }: Account, import_id: string): Promise<ImportRecord> => {
    const found = await storage.findImport(account_id, import_id)
    if (found) return found
    throw new TillError('import_not_found', 'No import has this id')
  }

  const imports: Imports = {
    async list(account, query) {
      assertAccount(account, 'read')
      const { store_id, newest_first, limit, cursor } = parseObject(query, importListFields)
      const page = { ...pageFor({ limit, cursor }), newestFirst: newest_first }
      const { account_id } = account
      const { records, ...further } = await readNamedStore(
        storage.listImports({ account_id, store_id }, page),
        getNamedStore(storage, account, store_id),
      )
      return { imports: records, ...further }
    },

    all: (account, query) =>
      listAll(
        verified(context, account, 'read', (page) => imports.list(account, { ...query, ...page })),
        'imports',
      ),

    async get(account, import_id) {
      assertAccount(account, 'read')
      return getImport(account, import_id)
    },

    async undo(account, request, options) {
      assertAccount(account, 'purchases')
      const { import_id, force } = parseObject(request, undoFields)
      assertCallOptions(options)
      const { store_id, actor, rows, added, updated } = await getImport(account, import_id)
      if (actor === undefined || rows === undefined) throw refused(NO_DETAILS)
      const store = await getNamedStore(storage, account, store_id)
      const data = { rows, added: added ?? 0, updated: updated ?? 0 }
      const about = { subject: import_id, project_id: store.project_id, store_id, data }
      const write = auditedWrite(context, account, 'imports.undo', about, options)
      const undo = { import_id, force, undone_at: formatInstant(now()) }
      const undoImport = () => storage.undoImport(store, undo, write)
      const inTurn = () => longCalls.run(account.account_id, undoImport)
      const outcome = await afterImport(inTurn)
      if (outcome.outcome !== 'undone') throw refusalOf(outcome)
      rowQuotas.purchases.forget(account.account_id)
      return getImport(account, import_id)
    },
  }
  return imports
}

const NO_DETAILS = 'The import was made by an earlier version, which kept no previous statuses'

type Refusal = Exclude<UndoOutcome, { readonly outcome: 'undone' }>

function refusalOf(refusal: Refusal): TillError {
  const { rows } = refusal
  if (refusal.outcome === 'changed') {
    const were = rows === 1 ? '1 row of the import was' : `${rows} rows of the import were`
    const by = 'changed by a later import or recorded purchase'
    return refused(`${were} ${by}: undo ${refusal.by} first`)
  }
  // Counts a row of this import once for each later import that has it.
  const reason =
    rows === 1
      ? '1 row of a later import or recorded purchase repeats or fills a row of this import'
      : `${rows} rows of later imports or recorded purchases repeat or fill rows of this import`
  const remedy = { field: 'force', code: 'required', message: 'undoes these rows too' }
  return refused(`${reason}: ${remedy.field} ${remedy.message}`, [remedy])
}

function refused(reason: string, details: readonly ErrorDetail[] = []): TillError {
  return new TillError('undo_refused', reason, details)
}
