import { route } from '../routes.ts'
import { form } from '../upload.ts'
import { createImport } from './imports.ts'
import { flagOf, textOf } from './options.ts'
import {
  catalogRequest,
  listWebhooks,
  rotateKey,
  showPlan,
  showProject,
  showStore,
  summarize,
} from './records.ts'
import { keyOnly, row, run, streamRow } from './row.ts'
import { streamFile } from './stream.ts'

const WEBHOOK_ACTIONS = {
  test: 'Send `webhook.test` to an endpoint',
  pause: 'Stop the deliveries to an endpoint',
  resume: 'Continue the deliveries to an endpoint',
}

/** The routes of the management API, which are served only with the option `manage`. */
export const manageRoutes = [
  row('GET /account', async ({ caller: { key_id: _, ...account } }) => account, {
    id: 'getAccount',
    summary: 'Read the account that the key belongs to',
    answer: 'Account',
  }),
  row(
    'GET /keys',
    async ({ till, caller, input }) => {
      const { keys, ...next } = await till.accounts.pageOfKeys(caller, input)
      const shown = keys.map((key) => ({ ...key, current: key.key_id === caller.key_id }))
      return { keys: shown, ...next }
    },
    {
      id: 'listKeys',
      summary: 'List the keys of the account, including revoked keys',
      query: 'ListQuery',
      answer: 'AccountKeyPage',
    },
  ),
  row('POST /keys', ({ till, caller, options }) => till.accounts.addKey(caller, options), {
    id: 'addKey',
    summary: 'Add a key to the account',
    description: 'The `account_key` cannot be read later. The endpoint ignores `Idempotency-Key`.',
    answer: 'NewAccountKey',
  }),
  row(
    'DELETE /keys/:key_id',
    async ({ till, caller, params: { key_id = '' }, options }) => {
      await till.accounts.revokeKey(caller, key_id, options)
      return { key_id }
    },
    {
      id: 'revokeKey',
      summary: 'Revoke a key at once',
      answer: 'RevokedAccountKey',
      errors: ['account_key_not_found'],
    },
  ),

  row('GET /audit', run('accounts', 'listAudit'), {
    id: 'listAudit',
    summary: 'List the audit log of the account, newest entries first',
    query: 'ListQuery',
    answer: 'AuditPage',
  }),

  row('GET /projects', run('projects', 'list'), {
    id: 'listProjects',
    summary: 'List the projects of the account',
    query: 'ListQuery',
    answer: 'ManagedProjectPage',
  }),
  row(
    'POST /projects',
    async (call) => {
      const { till, caller, input, options } = call
      const { id } = await till.projects.create(caller, input, options)
      return showProject(call, id)
    },
    {
      id: 'addProject',
      summary: 'Create a project',
      body: 'ManagedProjectInput',
      answer: 'ManagedProject',
      takesIdempotencyKey: true,
      errors: ['quota_exceeded', 'master_key_mismatch'],
    },
  ),
  row('GET /projects/:id', (call) => showProject(call, call.params.id as string), {
    id: 'getProject',
    summary: 'Read a project',
    answer: 'ManagedProject',
    errors: ['project_not_found'],
  }),
  row(
    'PATCH /projects/:id',
    async (call) => {
      const { till, caller, input, options } = call
      const { id } = await till.projects.update(caller, input, options)
      return showProject(call, id)
    },
    {
      id: 'changeProject',
      summary: 'Change the given fields of a project',
      body: 'ManagedProjectChange',
      answer: 'ManagedProject',
      errors: ['quota_exceeded', 'master_key_mismatch'],
    },
  ),
  row('POST /projects/:id/rotate-key', rotateKey, {
    id: 'rotateKey',
    summary: 'Give a project a new public key',
    body: 'KeyRotation',
    answer: 'ManagedProject',
  }),

  row('GET /projects/:project_id/stores', run('stores', 'list'), {
    id: 'listStores',
    summary: 'List the stores of a project',
    query: 'ManagedStoreQuery',
    answer: 'ManagedStorePage',
  }),
  row(
    'POST /stores',
    async (call) => {
      const { till, caller, input, options } = call
      const { store_id } = await till.stores.create(caller, input, options)
      return showStore(call, store_id)
    },
    {
      id: 'addStore',
      summary: 'Create a store',
      body: 'NewStore',
      answer: 'ManagedStore',
      takesIdempotencyKey: true,
      errors: ['quota_exceeded', 'master_key_mismatch'],
    },
  ),
  row('GET /stores/:store_id', (call) => showStore(call, call.params.store_id as string), {
    id: 'getStore',
    summary: 'Read a store',
    answer: 'ManagedStore',
    errors: ['store_not_found'],
  }),
  row(
    'PATCH /stores/:store_id',
    async (call) => {
      const { till, caller, input, options } = call
      const { store_id } = await till.stores.update(caller, input, options)
      return showStore(call, store_id)
    },
    {
      id: 'changeStore',
      summary: 'Change the given fields of a store',
      body: 'ManagedStoreChange',
      answer: 'ManagedStore',
      errors: ['quota_exceeded', 'master_key_mismatch'],
    },
  ),

  row(
    'GET /stores/:store_id/items',
    async ({ till, caller, input }) => {
      const { revision: _, ...page } = await till.items.list(caller, input)
      return page
    },
    {
      id: 'listStoreItems',
      summary: 'List the items of a store, in order of creation',
      query: 'ManagedItemQuery',
      answer: 'ManagedItemPage',
      kind: ({ search }) => (search === undefined ? 'reads' : 'reports'),
    },
  ),
  row('POST /items', run('items', 'create'), {
    id: 'addItem',
    summary: 'Create an item',
    body: 'NewItem',
    answer: 'ManagedItem',
    takesIdempotencyKey: true,
    errors: ['quota_exceeded'],
  }),
  row(
    'GET /items/:item_id',
    ({ till, caller, params }) => till.items.get(caller, params.item_id as string),
    {
      id: 'readItem',
      summary: 'Read an item',
      answer: 'ManagedItem',
      errors: ['item_not_found'],
    },
  ),
  row('PATCH /items/:item_id', run('items', 'update'), {
    id: 'changeItem',
    summary: 'Change the given fields of an item',
    description: 'If the `version` in the body is not that of the stored item, the answer is 409.',
    body: 'ManagedItemChange',
    answer: 'ManagedItem',
    errors: ['item_not_found', 'version_conflict'],
  }),
  row('GET /items/:item_id/history', run('items', 'history'), {
    id: 'getItemHistory',
    summary: 'List the changes of an item, newest first',
    description: 'The entry of a price change has the old and the new price in its field `data`.',
    query: 'ListQuery',
    answer: 'AuditPage',
    errors: ['item_not_found'],
  }),
  row(
    'POST /items/:item_id/archive',
    ({ till, caller, params, options }) => {
      return till.items.archive(caller, params.item_id as string, options)
    },
    {
      id: 'archiveItem',
      summary: 'Archive an item, so that lists leave it out',
      answer: 'ManagedItem',
      errors: ['item_not_found'],
    },
  ),
  row(
    'POST /items/:item_id/restore',
    ({ till, caller, params, options }) => {
      return till.items.restore(caller, params.item_id as string, options)
    },
    {
      id: 'restoreItem',
      summary: 'Restore an archived item, so that lists have it again',
      answer: 'ManagedItem',
      errors: ['item_not_found'],
    },
  ),

  streamRow(
    'GET /projects/:project_id/catalog',
    (call) => {
      const { till, caller, input } = call
      return streamFile(call, 'catalog.json', till.catalog.export(caller, input))
    },
    {
      id: 'exportCatalog',
      summary: 'Export a project with its stores and items as a catalog file',
      description: 'In place of each secret, the file has the name of an environment variable.',
      answer: 'CatalogFile',
      headers: ['Content-Disposition'],
      kind: 'reports',
    },
  ),
  row(
    'POST /projects/:project_id/catalog/plan',
    async (call) => {
      return showPlan(await call.till.catalog.plan(call.caller, catalogRequest(call)))
    },
    {
      id: 'planCatalog',
      summary: 'Compare a catalog with the stored one, and change nothing',
      body: 'CatalogRequest',
      answer: 'CatalogPlan',
      kind: 'reports',
    },
  ),
  row(
    'POST /projects/:project_id/catalog/apply',
    async (call) => {
      const { till, caller, input, options } = call
      const digest = textOf(input, 'digest')
      return showPlan(
        await till.catalog.apply(caller, { ...catalogRequest(call), digest }, options),
      )
    },
    {
      id: 'applyCatalog',
      summary: 'Make all changes that a catalog describes, or none',
      body: 'CatalogApplication',
      answer: 'CatalogPlan',
      errors: ['catalog_changed', 'quota_exceeded', 'master_key_mismatch'],
      kind: 'reports',
    },
  ),

  row('GET /stores/:store_id/purchases', run('purchases', 'list'), {
    id: 'listPurchases',
    summary: 'List the purchases of a store, in order of import',
    query: 'PurchaseQuery',
    answer: 'PurchasePage',
    kind: ({ limit: _, cursor: __, ...filter }) =>
      Object.keys(filter).length === 0 ? 'reads' : 'reports',
  }),
  row('GET /purchases', run('purchases', 'list'), {
    id: 'findPurchases',
    summary: 'Find the purchases with a transaction id in all stores of the account',
    description: 'The answer has at most one purchase of each store.',
    query: 'TransactionQuery',
    answer: 'PurchasePage',
  }),
  row('POST /stores/:store_id/purchases', run('purchases', 'record'), {
    id: 'recordPurchase',
    summary: 'Record one purchase',
    description:
      'If the `transaction_id` is already stored, the request can only advance the status of the stored purchase.',
    body: 'ManagedPurchaseInput',
    answer: 'RecordedPurchase',
    errors: ['store_inactive', 'quota_exceeded'],
  }),
  row('GET /stores/:store_id/owned', run('purchases', 'owned'), {
    id: 'listOwned',
    summary: 'List the items that a user owns',
    query: 'OwnedQuery',
    answer: 'OwnedPage',
  }),
  row('GET /stores/:store_id/summary', summarize, {
    id: 'summarizePurchases',
    summary: 'Count purchases and add up their amounts',
    query: 'SummaryQuery',
    answer: 'PurchaseSummaryList',
    kind: 'reports',
  }),
  row('GET /summary', summarize, {
    id: 'summarizeAccount',
    summary: 'Count the purchases of all stores of the account and add up their amounts',
    query: 'AccountSummaryQuery',
    answer: 'PurchaseSummaryList',
    kind: 'reports',
  }),
  row('GET /stores/:store_id/overview', run('purchases', 'overview'), {
    id: 'getOverview',
    summary: 'Read the totals of a store by period and by SKU',
    description:
      'While the server adds new purchases to the totals, the answer has no `figures`: repeat the request later. The totals begin with the day `from` (UTC).',
    query: 'OverviewQuery',
    answer: 'PurchaseOverview',
    kind: 'reports',
  }),
  row('GET /stores/:store_id/buyers', run('purchases', 'buyers'), {
    id: 'getBuyers',
    summary: 'Count the new and the returning buyers of a store',
    description:
      'If `is_current` is false, the counts are from the time `read_at`, and the server is counting again: repeat the request later. The counts begin with the day `from` (UTC).',
    query: 'BuyersQuery',
    answer: 'Buyers',
    kind: 'reports',
  }),

  row('GET /stores/:store_id/imports', run('imports', 'list'), {
    id: 'listImports',
    summary: 'List the imports into a store',
    query: 'ImportQuery',
    answer: 'ImportPage',
  }),
  route('POST', '/manage/v1/stores/:store_id/imports', keyOnly, form, createImport, {
    id: 'createImport',
    summary: 'Import a purchase file',
    description:
      'Works like `POST /api/v1/purchases/import`, but an error lists up to 1,000 mistakes of the file.',
    body: 'ManagedImportForm',
    answer: 'ManagedImport',
    errors: ['invalid_purchases', 'store_inactive', 'quota_exceeded'],
  }),
  row(
    'GET /imports/:import_id',
    ({ till, caller, params }) => {
      return till.imports.get(caller, params.import_id as string)
    },
    {
      id: 'getImport',
      summary: 'Read the record of an import',
      answer: 'ImportRecord',
      errors: ['import_not_found'],
    },
  ),
  row('POST /imports/:import_id/undo', run('imports', 'undo'), {
    id: 'undoImport',
    summary: 'Remove the rows that an import added, and restore the statuses that it changed',
    body: 'ImportUndo',
    answer: 'ImportRecord',
    errors: ['import_not_found', 'undo_refused'],
    kind: 'reports',
  }),

  streamRow(
    'GET /projects/:project_id/users/:user_id',
    (call) => {
      const { till, caller, input, options } = call
      return streamFile(call, 'user.json', till.users.export(caller, input, options))
    },
    {
      id: 'exportUser',
      summary: 'Export everything stored about a user',
      answer: 'UserExport',
      headers: ['Content-Disposition'],
      kind: 'reports',
    },
  ),
  row(
    'POST /projects/:project_id/users/:user_id/erase',
    (call) => {
      const { till, caller, params, input, options } = call
      const { project_id = '', user_id = '' } = params
      const deletes = flagOf(input, 'delete')
      return till.users.erase(caller, { project_id, user_id }, { ...options, delete: deletes })
    },
    {
      id: 'eraseUser',
      summary: 'Remove a user from the purchases of a project',
      body: 'UserErasure',
      answer: 'ErasedUser',
      kind: 'reports',
    },
  ),

  row('GET /webhooks', listWebhooks, {
    id: 'listWebhooks',
    summary: 'List the webhook endpoints with their lag',
    query: 'WebhookQuery',
    answer: 'WebhookPage',
    kind: 'reports',
  }),
  row(
    'GET /webhooks/:endpoint_id',
    ({ till, caller, params }) => till.webhooks.get(caller, params.endpoint_id as string),
    {
      id: 'getWebhook',
      summary: 'Read a webhook endpoint with its lag',
      answer: 'WebhookEndpoint',
      errors: ['webhook_not_found'],
    },
  ),
  row('GET /webhooks/:endpoint_id/deliveries', run('webhooks', 'log'), {
    id: 'listDeliveries',
    summary: 'List the messages of an endpoint, newest first',
    query: 'DeliveryQuery',
    answer: 'WebhookDeliveryPage',
    errors: ['webhook_not_found'],
  }),
  row('GET /webhooks/:endpoint_id/deliveries/:webhook_id', run('webhooks', 'getRequest'), {
    id: 'getDeliveryRequest',
    summary: 'Read the HTTP request that a delivery of a message would send now',
    description:
      'The request has no signature, and no `body` if the event is no longer stored. The `body` shows the records as they are now.',
    answer: 'WebhookRequest',
    errors: ['webhook_not_found'],
  }),
  ...(['test', 'pause', 'resume'] as const).map((action) =>
    row(
      `POST /webhooks/:endpoint_id/${action}`,
      ({ till, caller, params, options }) => {
        return till.webhooks[action](caller, params.endpoint_id as string, options)
      },
      {
        id: `${action}Webhook`,
        summary: WEBHOOK_ACTIONS[action],
        answer: 'WebhookEndpoint',
        errors: ['webhook_not_found'],
      },
    ),
  ),
  row('POST /webhooks/:endpoint_id/replay', run('webhooks', 'replay'), {
    id: 'replayWebhook',
    summary: 'Send again the events since the `sequence` number `from` or the time `since`',
    body: 'WebhookReplay',
    answer: 'WebhookEndpoint',
    errors: ['webhook_not_found'],
  }),
  row(
    'POST /webhooks/:endpoint_id/confirm',
    ({ till, caller, params, input, options }) => {
      const seen = { url: textOf(input, 'url'), unconfirmed_at: textOf(input, 'unconfirmed_at') }
      return till.webhooks.confirm(caller, params.endpoint_id as string, { ...options, ...seen })
    },
    {
      id: 'confirmWebhook',
      summary: 'Activate a webhook URL that `PUT /api/v1/projects` has set',
      body: 'WebhookConfirmation',
      answer: 'WebhookEndpoint',
      errors: ['webhook_not_found'],
    },
  ),
]
