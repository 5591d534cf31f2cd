import type { Command } from './command.ts'
import { accountCommands } from './commands/accounts.ts'
import { catalogCommands } from './commands/catalog.ts'
import { completion } from './commands/completion.ts'
import { conformance } from './commands/conformance.ts'
import { databaseCommands } from './commands/database.ts'
import { importCommands } from './commands/imports.ts'
import { itemCommands } from './commands/items.ts'
import { openapi } from './commands/openapi.ts'
import { projectCommands } from './commands/projects.ts'
import { purchaseCommands } from './commands/purchases.ts'
import { purchasesExplain } from './commands/purchases-explain.ts'
import { purchasesImport } from './commands/purchases-import.ts'
import { purchasesReconcile } from './commands/purchases-reconcile.ts'
import { serve } from './commands/serve.ts'
import { storeCommands } from './commands/stores.ts'
import { tokenCommands } from './commands/tokens.ts'
import { userCommands } from './commands/users.ts'
import { webhookCommands } from './commands/webhooks.ts'

/** All commands, grouped as in the help text. */
export const groups: { readonly [title: string]: readonly Command[] } = {
  Server: [serve, openapi, conformance],
  'Accounts and their keys': accountCommands,
  'Projects, stores and items': [...projectCommands, ...storeCommands, ...itemCommands],
  Purchases: [purchasesImport, purchasesExplain, purchasesReconcile, ...purchaseCommands],
  Users: userCommands,
  'Catalog in a file': catalogCommands,
  Imports: importCommands,
  Webhooks: webhookCommands,
  'Tokens and secrets': tokenCommands,
  Database: databaseCommands,
  Shell: [completion],
}

export const commands: readonly Command[] = Object.values(groups).flat()
