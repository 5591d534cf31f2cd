import { describe } from 'node:test'
import { describeAccounts } from './contract/accounts.ts'
import { describeArchives } from './contract/archives.ts'
import { describeAtomicity, describeAudit } from './contract/audit.ts'
import { describeAuthority } from './contract/authority.ts'
import { describeCatalog } from './contract/catalog.ts'
import { describeImports, describeTurns } from './contract/imports.ts'
import { describeItemChanges, describeItemPages, describeItems } from './contract/items.ts'
import type { OpenStorage } from './contract/open.ts'
import { describePages } from './contract/pages.ts'
import { describeProjects } from './contract/projects.ts'
import { describePurchases } from './contract/purchases.ts'
import { describeQuotas } from './contract/quotas.ts'
import { describeRecording, describeUsers } from './contract/recording.ts'
import { describeRepeats } from './contract/repeats.ts'
import { describeStores } from './contract/stores.ts'
import { describeSummaries } from './contract/summaries.ts'
import { describeSigningKeys, describeWatermarks } from './contract/tokens.ts'
import { describeTotals } from './contract/totals.ts'
import { describeImportRecords, describeUndo } from './contract/undo.ts'
import { describeUpkeep } from './contract/upkeep.ts'
import { describeErasure } from './contract/users.ts'
import { describeWebhooks } from './contract/webhooks.ts'

interface SuiteOptions {
  /** The reason to skip the suite. */
  readonly skip?: string | false
}

/** Tests the parts of the contract for which a database in memory has its own code: no threads. */
export function describeMemory(name: string, open: OpenStorage, options: SuiteOptions = {}): void {
  describe(name, { skip: options.skip ?? false }, () => {
    describe('imports', () => describeImports(open))
    describe('imports of known transactions', () => describeRepeats(open))
    describe('concurrent imports', () => describeTurns(open))
    describe('summaries', () => describeSummaries(open))
    describe('totals', () => describeTotals(open))
  })
}

/** Tests an adapter against the contract. */
export function describeStorage(name: string, open: OpenStorage, options: SuiteOptions = {}): void {
  describe(name, { skip: options.skip ?? false }, () => {
    describe('accounts', () => describeAccounts(open))
    describe('projects', () => describeProjects(open))
    describe('stores', () => describeStores(open))
    describe('pages of records', () => describePages(open))
    describe('quotas', () => describeQuotas(open))
    describe('items', () => describeItems(open))
    describe('changes of items', () => describeItemChanges(open))
    describe('pages of items', () => describeItemPages(open))
    describe('catalogs', () => describeCatalog(open))
    describe('imports', () => describeImports(open))
    describe('imports of known transactions', () => describeRepeats(open))
    describe('concurrent imports', () => describeTurns(open))
    describe('records of imports', () => describeImportRecords(open))
    describe('undone imports', () => describeUndo(open))
    describe('purchases', () => describePurchases(open))
    describe('recorded purchases', () => describeRecording(open))
    describe('purchases of a user', () => describeUsers(open))
    describe('summaries', () => describeSummaries(open))
    describe('totals', () => describeTotals(open))
    describe('signing keys', () => describeSigningKeys(open))
    describe('revocation watermarks', () => describeWatermarks(open))
    describe('audit entries', () => describeAudit(open))
    describe('archives', () => describeArchives(open))
    describe('authority', () => describeAuthority(open))
    describe('rollbacks', () => describeAtomicity(open))
    describe('upkeep', () => describeUpkeep(open))
    describe('erased users', () => describeErasure(open))
    describe('webhooks', () => describeWebhooks(open))
  })
}
