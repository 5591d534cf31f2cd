import type { CopyMethods, ImportOverlap, StatusChange, StoredImport } from '../port.ts'
import { pageOf } from './pages.ts'
import { type KeptImport, keptPurchase, type State } from './state.ts'

export function copyMethods(state: State): CopyMethods {
  const importsOf = <T>(read: (kept: KeptImport, account_id: string) => T[]): T[] =>
    [...state.stores.values()].flatMap(({ store, imports }) =>
      [...imports.values()].flatMap((kept) => read(kept, store.account_id)),
    )
  const importOf = (import_id: string): KeptImport => {
    for (const { imports } of state.stores.values()) {
      const found = imports.get(import_id)
      if (found) return found
    }
    throw new Error('insert the import before its changes')
  }
  return {
    async beginCopy() {
      const { accounts, signingKeys, audit } = state
      state.isUnfinished ||= accounts.size + signingKeys.length + audit.length === 0
      return state.isUnfinished
    },
    async endCopy() {
      state.isUnfinished = false
    },
    async listAllImports(page) {
      const all = importsOf(({ record }, account_id): StoredImport[] => [{ account_id, ...record }])
      return pageOf(all, page)
    },
    async insertImports(imports) {
      for (const { account_id, ...record } of structuredClone(imports)) {
        const { imports } = state.recordsOf({ account_id, store_id: record.store_id })
        imports.set(record.import_id, { record, changes: new Map(), overlaps: new Map() })
      }
    },
    async insertPurchases(store, added) {
      const { purchases } = state.recordsOf(store)
      for (const purchase of added) purchases.set(purchase.transaction_id, keptPurchase(purchase))
    },
    async listStatusChanges(page) {
      const all = importsOf(({ record: { import_id }, changes }) =>
        Array.from(changes, ([transaction_id, change]): StatusChange => {
          return { import_id, transaction_id, ...change }
        }),
      )
      return pageOf(all, page)
    },
    async insertStatusChanges(added) {
      for (const { import_id, transaction_id, before, after } of added) {
        importOf(import_id).changes.set(transaction_id, { before, after })
      }
    },
    async listOverlaps(page) {
      const undone = new Set(
        importsOf(({ record: { import_id, undone_at } }) =>
          undone_at === undefined ? [] : [import_id],
        ),
      )
      const all = importsOf(({ record: { import_id }, overlaps }) =>
        Array.from(overlaps, ([earlier_id, rows]): ImportOverlap => {
          return { import_id, earlier_id, rows }
        }),
      )
      const kept = all.filter(({ earlier_id }) => !undone.has(earlier_id))
      return pageOf(kept, page)
    },
    async insertOverlaps(added) {
      for (const { import_id, earlier_id, rows } of added) {
        importOf(import_id).overlaps.set(earlier_id, rows)
      }
    },
  }
}
