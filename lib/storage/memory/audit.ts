import type { AuditAction, AuditEntry, NumberedEntry } from '../../domain/audit.ts'
import type { IdempotencyRecord } from '../../domain/idempotency.ts'
import { archiveInto, splitPage } from '../archive.ts'
import type { AuditMethods, Page } from '../port.ts'
import { entriesOf } from '../pseudonym.ts'
import { findNeeded } from './endpoints.ts'
import { sortedPageOf } from './pages.ts'
import { idempotencyKey, type State } from './state.ts'

const ITEM_CHANGES: readonly AuditAction[] = ['item.update', 'item.archive', 'item.restore']

export function auditMethods(state: State): AuditMethods {
  const { idempotencyRecords, verify, recordWrite } = state
  const newest = (
    { limit, after = 'Infinity' }: Page,
    isWanted: (entry: AuditEntry) => boolean,
  ) => {
    const found = state.audit.filter((entry) => entry.seq < Number(after) && isWanted(entry))
    const page = found.reverse().slice(0, limit)
    const entries = structuredClone(page).map(({ seq: _, ...entry }) => entry)
    return { entries, ...(found.length > limit && { next: String(page.at(-1)?.seq) }) }
  }

  return {
    async verifyAuthority(authority) {
      verify(authority)
    },
    async findIdempotencyRecord(account_id, key) {
      return structuredClone(idempotencyRecords.get(idempotencyKey({ account_id, key })))
    },
    async insertAudit(...writes) {
      for (const write of writes) verify(write.authority)
      for (const write of writes) recordWrite(write)
    },
    async updateFingerprints(change, { limit, after = '' }) {
      const keys = [...idempotencyRecords.keys()].filter((key) => key > after).sort()
      const page = keys.slice(0, limit)
      let updated = 0
      for (const key of page) {
        const idempotency = idempotencyRecords.get(key) as IdempotencyRecord
        const fingerprint = change(idempotency.fingerprint)
        if (fingerprint === idempotency.fingerprint) continue
        idempotencyRecords.set(key, { ...idempotency, fingerprint })
        updated++
      }
      return keys.length > limit ? { updated, next: page.at(-1) as string } : { updated }
    },
    async listIdempotencyRecords(account_id, page) {
      const all = [...idempotencyRecords.values()]
      const found = all.filter((each) => each.account_id === account_id)
      return sortedPageOf(found, page, ({ key }) => key)
    },
    async listAudit(account_id, { limit, after = '0' }) {
      const entries: AuditEntry[] = []
      let last = 0
      for (const { seq, ...entry } of state.audit) {
        const isOther = account_id !== undefined && entry.account_id !== account_id
        if (seq <= Number(after) || isOther) continue
        if (entries.length === limit) return { entries, next: String(last) }
        entries.push(entry)
        last = seq
      }
      return { entries }
    },
    listRecentAudit: async (account_id, page) =>
      newest(page, (entry) => entry.account_id === account_id),
    listItemAudit: async (item_id, page) =>
      newest(page, ({ subject, action }) => subject === item_id && ITEM_CHANGES.includes(action)),
    async listSettled({ limit, after = '0' }) {
      if (limit === 0) return { entries: [], position: String(state.lastSeq) }
      const entries = state.audit.filter(({ seq }) => seq > Number(after)).slice(0, limit)
      return { entries: structuredClone(entries), position: String(entries.at(-1)?.seq ?? after) }
    },
    async replaceIdempotencyRecord(key, by, write = {}) {
      verify(write.authority)
      idempotencyRecords.delete(idempotencyKey({ account_id: by.account_id, key }))
      const target = idempotencyKey(by)
      if (!idempotencyRecords.has(target)) idempotencyRecords.set(target, structuredClone(by))
      recordWrite(write)
    },
    async pseudonymizeAudit(account_id, user, { limit, after = '0' }, write = {}) {
      verify(write.authority)
      const { pseudonymize } = entriesOf(user)
      const isNext = (entry: NumberedEntry) =>
        entry.account_id === account_id && entry.seq > Number(after)
      const page = state.audit.filter(isNext).slice(0, limit + 1)
      let changed = 0
      for (const entry of page.slice(0, limit)) {
        const names = pseudonymize(entry)
        if (!names) continue
        state.audit[state.audit.indexOf(entry)] = { ...entry, ...names }
        changed++
      }
      if (changed > 0) recordWrite(write)
      return page.length > limit ? { changed, next: String(page[limit - 1]?.seq) } : { changed }
    },
    async archiveAudit(request) {
      return archiveInto(request, async ({ before, page, keep, stopped_before, write }) => {
        const following = state.audit.filter(({ seq }) => seq > Number(page.after ?? 0))
        const entries = following.slice(0, page.limit)
        const needed = findNeeded(state, stopped_before)
        const { old, ...further } = splitPage(entries, before, page, needed)
        if (old.length === 0) return { archived: 0, ...further }
        keep(old)
        const moved = new Set(old)
        state.audit = state.audit.filter((entry) => !moved.has(entry))
        recordWrite(write)
        return { archived: old.length, ...further }
      })
    },
  }
}
