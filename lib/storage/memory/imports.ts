import { compareRepeat, type NewPurchase } from '../../domain/purchase.ts'
import type { PurchaseImport, PurchaseMethods, StagedRows } from '../port.ts'
import { storedPurchase } from '../recorded.ts'
import { NOTHING_STAGED } from '../staged.ts'
import { type KeptPurchase, keptPurchase, type State } from './state.ts'

export function importMethods(state: State): Pick<PurchaseMethods, 'openImport'> {
  return {
    async openImport(store, import_id) {
      const records = state.recordsOf(store)
      if (records.staged) return undefined
      records.staged = new Map()
      return createImport(state, records, import_id, records.staged)
    },
  }
}

function createImport(
  state: State,
  records: ReturnType<State['recordsOf']>,
  import_id: string,
  staged: Map<string, KeptPurchase>,
): PurchaseImport {
  const { store_id } = records.store

  const stageRow = ({ line, metadata, ...row }: NewPurchase, result: Mutable<StagedRows>) => {
    if (!records.items.has(row.sku)) {
      result.unknown.push(line)
      return
    }
    const stored = staged.get(row.transaction_id) ?? records.purchases.get(row.transaction_id)
    const erased = records.erased.get(row.transaction_id)
    const repeat = stored && compareRepeat({ ...stored, is_erased: erased !== undefined }, row)
    if (repeat?.outcome === 'conflict') {
      result.conflicts.push({ line, field: repeat.field })
    } else if (stored && repeat?.outcome === 'updated') {
      staged.set(row.transaction_id, { ...stored, status: row.status })
      result.updated++
    } else if (repeat || erased) {
      result.skipped++
    } else {
      const added = storedPurchase({ line, metadata, ...row }, store_id, import_id)
      staged.set(row.transaction_id, keptPurchase(added))
      result.added++
    }
  }

  return {
    async stage(rows) {
      const result = { ...NOTHING_STAGED, conflicts: [], unknown: [] }
      for (const row of rows) stageRow(row, result)
      return result
    },
    async finish() {
      return NOTHING_STAGED
    },
    async commit(write = {}) {
      state.verify(write.authority)
      for (const [id, purchase] of staged) records.purchases.set(id, purchase)
      records.staged = undefined
      state.recordWrite(write)
    },
    async abort() {
      records.staged = undefined
    },
    async erase({ user_id, transaction_ids, deletes }, write = {}) {
      state.verify(write.authority)
      const found = transaction_ids.flatMap((id) => records.purchases.get(id) ?? [])
      const own = found.filter((purchase) => purchase.user_id === user_id)
      for (const { user_id: _, ...purchase } of own) {
        const { transaction_id } = purchase
        records.erased.set(transaction_id, { transaction_id, is_deleted: deletes })
        if (deletes) records.purchases.delete(transaction_id)
        else records.purchases.set(transaction_id, { ...purchase, metadata: Buffer.from('{}') })
      }
      state.recordWrite(write)
      return own.length
    },
  }
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K] }
