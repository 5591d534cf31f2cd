import type { Account } from '../../domain/account.ts'
import { assertAuthority } from '../../domain/authority.ts'
import { invalidField, parseObject } from '../../domain/fields.ts'
import type { Purchase } from '../../domain/purchase.ts'
import type { Reconciliation } from '../../domain/reconciliation.ts'
import type { PurchaseImport } from '../../storage/port.ts'
import { assertAccount, authorityOf, getNamedStore, verifyCaller } from '../access.ts'
import { assertCallOptions, type CallOptions } from '../audit.ts'
import type { Context } from '../context.ts'
import { createId } from '../ids.ts'
import { afterImport } from './after-import.ts'
import { compare, type ReconcileRequest, reconcileFields, type Task } from './comparison.ts'
import { commitImport } from './file-import.ts'

/** Compares the stored purchases with a file: see `Purchases.reconcile`. */
export async function reconcileFile(
  context: Context,
  account: Account,
  given: ReconcileRequest,
  options: CallOptions | undefined,
): Promise<Reconciliation> {
  assertAccount(account, 'purchases')
  assertCallOptions(options)
  const request = parseObject(given, reconcileFields)
  const store = await getNamedStore(context.storage, account, request.store_id)
  const task = { context, account, store, request }
  const work = async () => {
    if (request.cancel_missing !== undefined) return cancelMissing(task, options)
    const { reconciliation } = await compare(task)
    await verifyCaller(context, account, ['purchases'])
    return reconciliation
  }
  return context.reconciliations.run(account.account_id, work, { signal: request.signal })
}

const BATCH = 500

/**
 * Compares, and cancels what the file lacks in one import. It holds the lease of the store meanwhile:
 * no other import or undo changes what was compared.
 */
async function cancelMissing(task: Task, options: CallOptions | undefined) {
  const { context, account, store, request } = task
  const { storage, now } = context
  const { account_id, store_id } = store
  assertAuthority({ store }, { store_status: store.status })
  const import_id = createId('imp', now())
  const running = await afterImport(() => storage.openImport(store, import_id), request.signal)
  try {
    const cancellation = createCancellation(running)
    const { reconciliation, read } = await compare(task, cancellation.add)
    const { layout, differences } = reconciliation
    const missing = differences.find(({ kind }) => kind === 'missing_in_file')
    assertNumber(request.cancel_missing, missing?.purchases ?? 0)
    const cancelled = await cancellation.end()
    const counts = { rows: cancelled, added: 0, skipped: 0, updated: cancelled, passed_over: 0 }
    const totals = (missing?.totals ?? []).map(({ currency, purchases, stored_total }) => {
      return { status: 'cancelled' as const, currency, rows: purchases, total: stored_total }
    })
    const authority = {
      ...authorityOf(account, ['purchases']),
      store: { account_id, store_id },
    }
    const about = { action: 'purchases.reconcile', import_id, store, authority } as const
    const details = { ...read, ...counts, totals, layout, file_name: request.fileName }
    await commitImport(context, account, running, about, details, options)
    return { ...reconciliation, import_id, cancelled }
  } catch (error) {
    await running.abort()
    throw error
  }
}

/** Cancels purchases in batches. */
function createCancellation(running: PurchaseImport) {
  let batch: Purchase[] = []
  let cancelled = 0
  const send = async () => {
    const status = 'cancelled' as const
    const rows = batch.map(({ transaction_id }, i) => ({ line: i + 1, transaction_id, status }))
    batch = []
    if (rows.length > 0) cancelled += (await running.advance(rows)).updated
  }
  return {
    async add(purchase: Purchase): Promise<void> {
      batch.push(purchase)
      if (batch.length >= BATCH) await send()
    },
    async end(): Promise<number> {
      await send()
      return cancelled
    },
  }
}

function assertNumber(expected: number | undefined, found: number): void {
  if (expected === found) return
  const message = `is ${expected}, but the file lacks ${found} purchases now: compare again`
  throw invalidField('cancel_missing', 'changed', message)
}
