import type { Items } from '../../csv/explain/columns.ts'
import { explainFile } from '../../csv/explain/file.ts'
import type { Explanation } from '../../csv/explain/interface.ts'
import { createSample } from '../../csv/explain/sample.ts'
import type { Account } from '../../domain/account.ts'
import { type InputOf, parseObject } from '../../domain/fields.ts'
import { optional, required, unchecked } from '../../domain/rules.ts'
import { type Store, storeId } from '../../domain/store.ts'
import { catalogPages, type Storage } from '../../storage/port.ts'
import { fileTurns } from '../../turns.ts'
import { assertAccount, getNamedStore, verifyCaller } from '../access.ts'
import type { Context } from '../context.ts'
import { appOf, rulesOf } from './rules.ts'

const explainFields = {
  /** The store whose items and currency help to understand the file. */
  store_id: optional(storeId),
  /** The file's bytes in chunks of any size. Only the first 10,000 rows are read. */
  file: required(unchecked<AsyncIterable<Uint8Array> | Iterable<Uint8Array>>()),
}

export interface ExplainRequest extends InputOf<typeof explainFields> {}

/** How long a turn takes. */
const TURN_MS = 8

/** Proposes a layout for a file: see `Purchases.explain`. */
export async function explainPurchases(
  context: Context,
  account: Account,
  request: ExplainRequest,
): Promise<Explanation> {
  assertAccount(account, 'read')
  const { storage } = context
  const { store_id, file } = parseObject(request, explainFields)
  const inTurn = <T>(work: () => T) => fileTurns.run(account.account_id, async () => work())
  const store = store_id === undefined ? undefined : await getNamedStore(storage, account, store_id)
  const items = await listItems(storage, store)
  const sample = createSample()
  for await (const chunk of file) {
    if (!(chunk instanceof Uint8Array)) throw new TypeError('the file must yield Uint8Array chunks')
    if (!(await inTurn(() => sample.push(chunk)))) break
  }
  const rules = store ? rulesOf(store) : {}
  const app = store && appOf(store, await storage.findProject(store.project_id))
  const { currency } = rules
  const layout = { is_sandbox: store?.is_sandbox ?? false, currency, app, refundsOnly: false }
  const steps = explainFile(sample.end(), { items, currency, rules, layout })
  const next = () => {
    const began = performance.now()
    let step = steps.next()
    while (!step.done && performance.now() - began < TURN_MS) step = steps.next()
    return step
  }
  for (;;) {
    const { done, value } = await inTurn(next)
    if (!done) continue
    await verifyCaller(context, account, ['read'])
    return value
  }
}

/** Of a larger store, only the first items are compared with the file. */
const MAX_ITEMS = 10_000

async function listItems(storage: Storage, store: Store | undefined): Promise<Items> {
  const skus = new Map<string, number>()
  const display_names = new Set<string>()
  if (!store) return { skus, display_names }
  for await (const { items } of catalogPages((page) => storage.listItems(store, page))) {
    for (const { name, id, price, display_name } of items) {
      skus.set(name, price).set(id, price)
      display_names.add(display_name)
    }
    if (skus.size >= 2 * MAX_ITEMS) break
  }
  return { skus, display_names }
}
