import { type Caller, verifyCaller } from './services/access.ts'
import { type Accounts, createAccounts } from './services/accounts.ts'
import { type Catalogs, createCatalog } from './services/catalog/catalog.ts'
import { createContext, type TillOptions } from './services/context.ts'
import { createDataVersion } from './services/data-version.ts'
import { createItems, type Items } from './services/items.ts'
import { createOperator, type Operator } from './services/operator.ts'
import { createProjects, type Projects } from './services/projects.ts'
import { createImports, type Imports } from './services/purchases/imports.ts'
import { createPurchases, type Purchases } from './services/purchases/purchases.ts'
import { createSessions, type Sessions } from './services/sessions.ts'
import { createStores, type Stores } from './services/stores.ts'
import { createUsers, type Users } from './services/users.ts'
import { type ChangeListener, createChanges } from './services/webhooks/change-events.ts'
import { createOutbox, type Outbox } from './services/webhooks/outbox.ts'
import { createWebhooks, type Webhooks } from './services/webhooks/webhooks.ts'
import type { DataVersion, Together } from './storage/port.ts'

/**
 * The object through which a program uses tillkit. These rules hold for all methods:
 *
 * - Most methods take the **caller** first, an account or a session, and act only on its records. A
 *   record of another account throws the same error as an unknown record.
 * - Records, inputs and queries have the field names of the HTTP API (`store_id`). Options are
 *   camelCase.
 * - Times in records are ISO 8601 strings in UTC. Durations are milliseconds, except in fields whose
 *   names end with `_seconds`.
 * - Prices in records are whole numbers of minor units (`499` is 4.99 USD). The price of an item is a
 *   string of digits in an input, the price of a purchase a string or a number.
 * - An unknown field of an input throws `invalid_request`. An unknown option, or a caller that is
 *   neither an account nor a session, throws a `TypeError`.
 * - A `list` method returns one page. Pass its `next` as the `cursor` of the next call; the last page
 *   has no `next`. `all` iterates over all pages.
 * - A method that adds data throws `quota_exceeded` if the account would exceed a quota.
 */
export interface Till extends AsyncDisposable {
  readonly accounts: Accounts
  readonly projects: Projects
  readonly stores: Stores
  readonly items: Items
  readonly catalog: Catalogs
  readonly sessions: Sessions
  readonly purchases: Purchases
  readonly imports: Imports
  readonly users: Users
  readonly operator: Operator
  readonly webhooks: Webhooks
  /** The methods of the webhook sender. */
  readonly outbox: Outbox
  /**
   * Throws `account_key_required` or `token_required` if the caller's credential was revoked or has
   * expired since it was authenticated. Call it now and then during an answer that takes long. The
   * methods `all` and `export` call it with each page.
   */
  verify(caller: Caller): Promise<void>
  /**
   * Call it once for each request. The returned function runs the library calls of the request.
   * Reads that such a call begins synchronously may return data from the start of the request,
   * because they share one version check of the database. Later reads are current.
   */
  together(): Together
  /**
   * Lets a program check whether its cached answers are still correct. Missing in some storages.
   */
  readonly dataVersion?: DataVersion
  /**
   * Calls the listener for each change that is committed from now on, by any process on the
   * storage. It is called soon after a commit of this process, and within a second after a commit
   * of another. The listener delays no write, and its errors are ignored. Returns a function that
   * removes it.
   */
  on(name: 'change', listener: ChangeListener): () => void
  /** Closes the storage. `await using` calls it too. */
  close(): Promise<void>
}

/**
 * Creates a till on a storage. Throws a TypeError for wrong options.
 *
 * @example
 * const till = createTill({ storage: createMemoryStorage() })
 * const account = await till.accounts.create({ name: 'Studio' })
 */
export function createTill(options: TillOptions): Till {
  const context = createContext(options)
  const changes = createChanges(context)
  const dataVersion = createDataVersion(context)
  const close = async () => {
    changes.close()
    await context.keyUses.close()
    await options.storage.close()
  }
  return {
    accounts: createAccounts(context),
    projects: createProjects(context),
    stores: createStores(context),
    items: createItems(context),
    catalog: createCatalog(context),
    sessions: createSessions(context),
    purchases: createPurchases(context),
    imports: createImports(context),
    users: createUsers(context),
    operator: createOperator(context),
    webhooks: createWebhooks(context),
    outbox: createOutbox(context),
    verify: (caller) => verifyCaller(context, caller),
    together: () => options.storage.together(),
    ...(dataVersion && { dataVersion }),
    on: changes.on,
    close,
    [Symbol.asyncDispose]: close,
  }
}
