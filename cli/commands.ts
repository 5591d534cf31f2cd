import type { Command } from './command.ts'
import { accountCreate } from './commands/account-create.ts'
import { accountKeysAdd } from './commands/account-keys-add.ts'
import { accountKeysList } from './commands/account-keys-list.ts'
import { accountKeysRevoke } from './commands/account-keys-revoke.ts'
import { accountList } from './commands/account-list.ts'
import { auditArchive } from './commands/audit-archive.ts'
import { auditList } from './commands/audit-list.ts'
import { backup } from './commands/backup.ts'
import { catalogApply } from './commands/catalog-apply.ts'
import { catalogExport } from './commands/catalog-export.ts'
import { catalogPlan } from './commands/catalog-plan.ts'
import { catalogSchema } from './commands/catalog-schema.ts'
import { check } from './commands/check.ts'
import { completion } from './commands/completion.ts'
import { conformance } from './commands/conformance.ts'
import { copy } from './commands/copy.ts'
import { importsList } from './commands/imports-list.ts'
import { importsShow } from './commands/imports-show.ts'
import { importsUndo } from './commands/imports-undo.ts'
import { itemArchive } from './commands/item-archive.ts'
import { itemCreate } from './commands/item-create.ts'
import { itemList } from './commands/item-list.ts'
import { itemRestore } from './commands/item-restore.ts'
import { itemShow } from './commands/item-show.ts'
import { itemUpdate } from './commands/item-update.ts'
import { keysList } from './commands/keys-list.ts'
import { keysRotate } from './commands/keys-rotate.ts'
import { openapi } from './commands/openapi.ts'
import { projectCreate } from './commands/project-create.ts'
import { projectList } from './commands/project-list.ts'
import { projectRotateKey } from './commands/project-rotate-key.ts'
import { projectShow } from './commands/project-show.ts'
import { projectUpdate } from './commands/project-update.ts'
import { purchasesExport } from './commands/purchases-export.ts'
import { purchasesImport } from './commands/purchases-import.ts'
import { purchasesList } from './commands/purchases-list.ts'
import { purchasesOwned } from './commands/purchases-owned.ts'
import { purchasesRecord } from './commands/purchases-record.ts'
import { purchasesSummary } from './commands/purchases-summary.ts'
import { secretsDrop } from './commands/secrets-drop.ts'
import { secretsSeal } from './commands/secrets-seal.ts'
import { serve } from './commands/serve.ts'
import { storeCreate } from './commands/store-create.ts'
import { storeList } from './commands/store-list.ts'
import { storeUpdate } from './commands/store-update.ts'
import { tokenIssue } from './commands/token-issue.ts'
import { tokenRevoke } from './commands/token-revoke.ts'
import { upgrade } from './commands/upgrade.ts'
import { usersErase } from './commands/users-erase.ts'
import { usersExport } from './commands/users-export.ts'
import { webhooksConfirm } from './commands/webhooks-confirm.ts'
import { webhooksList } from './commands/webhooks-list.ts'
import { webhooksLog } from './commands/webhooks-log.ts'
import { webhooksPause } from './commands/webhooks-pause.ts'
import { webhooksReplay } from './commands/webhooks-replay.ts'
import { webhooksResume } from './commands/webhooks-resume.ts'
import { webhooksTest } from './commands/webhooks-test.ts'

/** All commands, grouped as in the help text. */
export const groups: { readonly [title: string]: readonly Command[] } = {
  Server: [serve, openapi, conformance],
  'Accounts and their keys': [
    accountCreate,
    accountList,
    accountKeysAdd,
    accountKeysList,
    accountKeysRevoke,
  ],
  'Projects, stores and items': [
    projectCreate,
    projectList,
    projectShow,
    projectUpdate,
    projectRotateKey,
    storeCreate,
    storeList,
    storeUpdate,
    itemCreate,
    itemList,
    itemShow,
    itemUpdate,
    itemArchive,
    itemRestore,
  ],
  Purchases: [
    purchasesImport,
    purchasesRecord,
    purchasesList,
    purchasesOwned,
    purchasesExport,
    purchasesSummary,
  ],
  Users: [usersExport, usersErase],
  'Catalog in a file': [catalogExport, catalogPlan, catalogApply, catalogSchema],
  Imports: [importsList, importsShow, importsUndo],
  Webhooks: [
    webhooksList,
    webhooksLog,
    webhooksTest,
    webhooksReplay,
    webhooksPause,
    webhooksResume,
    webhooksConfirm,
  ],
  'Tokens and secrets': [tokenIssue, tokenRevoke, keysRotate, keysList, secretsSeal, secretsDrop],
  Database: [upgrade, auditList, auditArchive, backup, copy, check],
  Shell: [completion],
}

export const commands: readonly Command[] = Object.values(groups).flat()
