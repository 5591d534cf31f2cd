import type { ImportDetails, ImportRecord } from '../../domain/import.ts'
import { compareRepeat, type NewPurchase } from '../../domain/purchase.ts'
import type { PurchaseImport, PurchaseMethods, StagedRows, UndoOutcome } from '../port.ts'
import { isRecording, storedPurchase } from '../recorded.ts'
import { NOTHING_STAGED } from '../staged.ts'
import { pageOf } from './pages.ts'
import {
  type KeptChange,
  type KeptImport,
  type KeptPurchase,
  keptPurchase,
  type State,
  type StoreRecords,
} from './state.ts'

type ImportMethods = 'openImport' | 'findImport' | 'listImports' | 'undoImport'

export function importMethods(state: State): Pick<PurchaseMethods, ImportMethods> {
  return {
    async openImport(store, import_id) {
      const records = state.recordsOf(store)
      if (records.staged) return undefined
      records.staged = new Map()
      return createImport(state, records, import_id, records.staged)
    },
    async findImport(account_id, import_id) {
      for (const { store, imports } of state.stores.values()) {
        const found = imports.get(import_id)
        if (found && store.account_id === account_id) return structuredClone(found.record)
      }
      return undefined
    },
    async listImports(store, page) {
      const all = Array.from(state.recordsOf(store).imports.values(), ({ record }) => record)
      const listed = all.filter(({ import_id }) => !isRecording(import_id))
      return pageOf(listed, page)
    },
    async undoImport(store, { import_id, undone_at, force }, write = {}) {
      const records = state.recordsOf(store)
      if (records.staged) return undefined
      const undone = records.imports.get(import_id) as KeptImport
      if (undone.record.undone_at !== undefined) return UNDONE
      const refusal = findRefusal(records, undone, force)
      if (refusal) return refusal
      state.verify(write.authority)
      for (const [id, purchase] of records.purchases) {
        const change = undone.changes.get(id)
        if (purchase.import_id === import_id) {
          records.purchases.delete(id)
          const erased = records.erased.get(id)
          if (erased) records.erased.set(id, { ...erased, is_deleted: true })
        } else if (change) records.purchases.set(id, { ...purchase, status: change.before })
      }
      const record = { ...undone.record, undone_at }
      records.imports.set(import_id, { record, changes: new Map(), overlaps: new Map() })
      state.recordWrite(write)
      return UNDONE
    },
  }
}

const UNDONE: UndoOutcome = { outcome: 'undone' }

function findRefusal(
  { imports, purchases }: StoreRecords,
  { record: { import_id }, changes }: KeptImport,
  force: boolean,
): UndoOutcome | undefined {
  const all = [...imports.values()]
  const later = all.slice(all.findIndex(({ record }) => record.import_id === import_id) + 1)
  // A purchase never returns to an earlier status. If a status change starts from the status that
  // this import has set, the change is therefore later than this import.
  const isLater = ([id, { before }]: readonly [string, KeptChange]) =>
    changes.get(id)?.after === before || purchases.get(id)?.import_id === import_id
  const changed = new Set(
    all.flatMap((each) => [...each.changes].filter(isLater).map(([id]) => id)),
  )
  if (changed.size > 0) return { outcome: 'changed', rows: changed.size }
  // `all` includes this import. If `recordPurchase` skips a purchase that this import added, it
  // counts the skipped row in the `overlaps` of this import.
  const own = all.reduce((sum, { overlaps }) => sum + (overlaps.get(import_id) ?? 0), 0)
  const others = [...changes.keys()].filter((id) => {
    return later.some(({ overlaps }) => overlaps.has(purchases.get(id)?.import_id ?? ''))
  })
  const rows = force ? 0 : own + others.length
  return rows > 0 ? { outcome: 'skipped', rows } : undefined
}

function createImport(
  state: State,
  records: StoreRecords,
  import_id: string,
  staged: Map<string, KeptPurchase>,
): PurchaseImport {
  const { store_id } = records.store
  const created_at = new Date().toISOString()
  const changes = new Map<string, KeptChange>()
  const overlaps = new Map<string, number>()

  const stageRow = ({ line, metadata, ...row }: NewPurchase, result: Mutable<StagedRows>) => {
    if (!records.items.has(row.sku)) {
      result.unknown.push(line)
      return
    }
    const id = row.transaction_id
    const stored = staged.get(id) ?? records.purchases.get(id)
    const erased = records.erased.get(id)
    const repeat = stored && compareRepeat({ ...stored, is_erased: erased !== undefined }, row)
    if (repeat?.outcome === 'conflict') {
      result.conflicts.push({ line, field: repeat.field })
    } else if (stored && repeat?.outcome === 'updated') {
      const before = records.purchases.get(id)
      if (before) changes.set(id, { before: before.status, after: row.status })
      staged.set(id, { ...stored, status: row.status })
      result.updated++
    } else if (stored || erased) {
      const earlier = stored?.import_id ?? import_id
      if (earlier !== import_id) overlaps.set(earlier, (overlaps.get(earlier) ?? 0) + 1)
      result.skipped++
    } else {
      const added = storedPurchase({ line, metadata, ...row }, store_id, import_id)
      staged.set(id, keptPurchase(added))
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
    async commit(write = {}, details?: ImportDetails) {
      state.verify(write.authority)
      for (const [id, purchase] of staged) records.purchases.set(id, purchase)
      const record: ImportRecord = { import_id, store_id, created_at, ...details }
      records.imports.set(import_id, { record: structuredClone(record), changes, overlaps })
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
        if (deletes) {
          records.purchases.delete(transaction_id)
          for (const { changes } of records.imports.values()) changes.delete(transaction_id)
        } else records.purchases.set(transaction_id, { ...purchase, metadata: Buffer.from('{}') })
      }
      state.recordWrite(write)
      return own.length
    },
  }
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K] }
