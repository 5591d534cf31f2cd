import { describe } from 'node:test'
import { describeArchives } from './contract/archives.ts'
import { describeImports, describeRecording, describeTurns } from './contract/imports.ts'
import { describeCatalog, describeItems } from './contract/items.ts'
import type { OpenStorage } from './contract/open.ts'
import { describePurchases, describeSummaries, describeTotals } from './contract/purchases.ts'
import { describeKeys, describeRecords, describeWatermarks } from './contract/records.ts'
import { describeUndo } from './contract/undo.ts'
import { describeErasure } from './contract/users.ts'
import { describeWebhooks } from './contract/webhooks.ts'
import {
  describeAudit,
  describeAuthority,
  describeIdempotency,
  describeQuotas,
} from './contract/writes.ts'

/** Tests an adapter against the contract. */
export function describeStorage(name: string, open: OpenStorage): void {
  describe(name, () => {
    describe('records', () => describeRecords(open))
    describe('keys', () => describeKeys(open))
    describe('revocation watermarks', () => describeWatermarks(open))
    describe('items', () => describeItems(open))
    describe('catalogs', () => describeCatalog(open))
    describe('audit entries', () => describeAudit(open))
    describe('idempotency records', () => describeIdempotency(open))
    describe('authority', () => describeAuthority(open))
    describe('quotas', () => describeQuotas(open))
    describe('archives', () => describeArchives(open))
    describe('imports', () => describeImports(open))
    describe('concurrent imports', () => describeTurns(open))
    describe('recorded purchases', () => describeRecording(open))
    describe('undone imports', () => describeUndo(open))
    describe('purchases', () => describePurchases(open))
    describe('summaries', () => describeSummaries(open))
    describe('totals', () => describeTotals(open))
    describe('erased users', () => describeErasure(open))
    describe('webhooks', () => describeWebhooks(open))
  })
}
