/** A row of the table. Names of schemas, scopes and errors are those of the OpenAPI document. */
export interface Operation {
  /** The method of the client and of the library: `items.archive`. */
  readonly name: string
  /** The HTTP method, and the path below `/manage/v1`. */
  readonly http: string
  /** The operation's name in the OpenAPI document, for generated clients. */
  readonly id: string
  /** The schema of the answer. */
  readonly answer: string
  /** The scope that the account key needs; `any` for none. */
  readonly scope: string
  readonly summary: string
  readonly description?: string
  /** The schema of the query parameters. Fields that are in the path do not count. */
  readonly query?: string
  /** The schema of the body. */
  readonly body?: string
  /** Without the error of a path parameter, such as `item_not_found` for `/items/:id`. */
  readonly errors?: readonly string[]
  /** Whether the answer has an ETag. The request may have `If-None-Match` or `If-Match`. */
  readonly etag?: 'sent' | 'cached' | 'matched'
  /** The answer is a file with this name, which is sent while it is read. */
  readonly file?: string
  /** The body is a form with a file. */
  readonly isUpload?: true
  /** Counts as a report in the concurrency limit; with a list, only if the query has one of these. */
  readonly isReport?: true | readonly string[]
  /**
   * When the client repeats a request whose answer was lost: `always`, or with the header
   * `Idempotency-Key`. Otherwise it repeats only reads, and what the server refused.
   */
  readonly repeat?: 'always' | 'with key'
  /** The client waits up to an hour for the answer. */
  readonly isLong?: true
  /** A command that calls the method with the id, and its summary. */
  readonly cli?: readonly [command: string, summary: string]
}

/**
 * All operations of the management API. From a row follow the HTTP route with its OpenAPI entry, the
 * client's method, and the command if it has one. The route calls the library's method of the same name, unless
 * `http/manage/handlers.ts` has a function for it.
 */
export const operations = [
  op('account.get', 'GET /account', 'getAccount', 'Account', {
    scope: 'any',
    summary: 'Read the account that the key belongs to',
  }),
  op('keys.list', 'GET /keys', 'listKeys', 'AccountKeyPage', {
    scope: 'admin',
    summary: 'List the keys of the account, including revoked keys',
    query: 'ListQuery',
  }),
  op('keys.add', 'POST /keys', 'addKey', 'NewAccountKey', {
    scope: 'admin',
    summary: 'Add a key to the account',
    body: 'AccountKeyInput',
    description: 'The `account_key` cannot be read later. The endpoint ignores `Idempotency-Key`.',
    errors: ['quota_exceeded'],
  }),
  op('keys.update', 'PATCH /keys/:key_id', 'changeKey', 'AccountKey', {
    scope: 'admin',
    summary: 'Change the name or the scopes of a key',
    description: 'A key cannot take `admin` from the last key of its account that has it.',
    body: 'AccountKeyChange',
  }),
  op('keys.revoke', 'DELETE /keys/:key_id', 'revokeKey', 'RevokedAccountKey', {
    scope: 'admin',
    summary: 'Revoke a key at once',
    description: 'A key cannot revoke the last key of its account with `admin`.',
    errors: ['invalid_request'],
  }),

  op('audit.list', 'GET /audit', 'listAudit', 'AuditPage', {
    scope: 'admin',
    summary: 'List the audit log of the account, newest entries first',
    query: 'RecentAuditQuery',
    isReport: ['subject', 'from', 'to'],
  }),

  op('projects.list', 'GET /projects', 'listProjects', 'ManagedProjectPage', {
    scope: 'read',
    summary: 'List the projects of the account',
    query: 'ListQuery',
  }),
  op('projects.create', 'POST /projects', 'addProject', 'ManagedProject', {
    scope: 'catalog',
    summary: 'Create a project',
    body: 'ManagedProjectInput',
    etag: 'sent',
    repeat: 'with key',
    errors: ['quota_exceeded', 'master_key_mismatch'],
  }),
  op('projects.get', 'GET /projects/:id', 'getProject', 'ManagedProject', {
    scope: 'read',
    summary: 'Read a project',
    etag: 'sent',
    errors: ['project_not_found'],
  }),
  op('projects.update', 'PATCH /projects/:id', 'changeProject', 'ManagedProject', {
    scope: 'catalog',
    summary: 'Change the given fields of a project',
    body: 'ManagedProjectChange',
    etag: 'matched',
    errors: ['quota_exceeded', 'master_key_mismatch', 'etag_mismatch'],
  }),
  op('projects.rotateKey', 'POST /projects/:id/rotate-key', 'rotateKey', 'ManagedProject', {
    scope: 'admin',
    summary: 'Give a project a new public key',
    body: 'KeyRotation',
    etag: 'sent',
  }),

  op('stores.list', 'GET /projects/:project_id/stores', 'listStores', 'ManagedStorePage', {
    scope: 'read',
    summary: 'List the stores of a project',
    query: 'StoreQuery',
  }),
  op('stores.create', 'POST /stores', 'addStore', 'ManagedStore', {
    scope: 'catalog',
    summary: 'Create a store',
    body: 'NewStore',
    etag: 'sent',
    repeat: 'with key',
    errors: ['quota_exceeded', 'master_key_mismatch'],
  }),
  op('stores.get', 'GET /stores/:store_id', 'getStore', 'ManagedStore', {
    scope: 'read',
    summary: 'Read a store',
    etag: 'sent',
    errors: ['store_not_found'],
  }),
  op('stores.update', 'PATCH /stores/:store_id', 'changeStore', 'ManagedStore', {
    scope: 'catalog',
    summary: 'Change the given fields of a store',
    body: 'ManagedStoreChange',
    etag: 'matched',
    errors: ['quota_exceeded', 'master_key_mismatch', 'etag_mismatch'],
  }),

  op('items.list', 'GET /stores/:store_id/items', 'listStoreItems', 'ManagedItemPage', {
    scope: 'read',
    summary: 'List the items of a store, in order of creation',
    query: 'ManagedItemQuery',
    isReport: ['search'],
  }),
  op('items.create', 'POST /items', 'addItem', 'ManagedItem', {
    scope: 'catalog',
    summary: 'Create an item',
    body: 'NewItem',
    repeat: 'with key',
    errors: ['quota_exceeded'],
  }),
  op('items.get', 'GET /items/:id', 'readItem', 'ManagedItem', {
    scope: 'read',
    summary: 'Read an item',
  }),
  op('items.update', 'PATCH /items/:id', 'changeItem', 'ManagedItem', {
    scope: 'catalog',
    summary: 'Change the given fields of an item',
    description: 'If the `version` in the body is not that of the stored item, the answer is 409.',
    body: 'ItemChange',
    errors: ['version_conflict'],
  }),
  op('items.history', 'GET /items/:id/history', 'getItemHistory', 'AuditPage', {
    scope: 'read',
    summary: 'List the changes of an item, newest first',
    description: 'The entry of a price change has the old and the new price in its field `data`.',
    query: 'ListQuery',
  }),
  op('items.archive', 'POST /items/:id/archive', 'archiveItem', 'ManagedItem', {
    scope: 'catalog',
    summary: 'Archive an item, so that lists leave it out',
    repeat: 'always',
    cli: ['item archive', 'Take an item out of the list of its store'],
  }),
  op('items.restore', 'POST /items/:id/restore', 'restoreItem', 'ManagedItem', {
    scope: 'catalog',
    summary: 'Restore an archived item, so that lists have it again',
    repeat: 'always',
    cli: ['item restore', 'Put an archived item back into the list of its store'],
  }),

  op('catalog.export', 'GET /projects/:project_id/catalog', 'exportCatalog', 'CatalogFile', {
    scope: 'read',
    summary: 'Export a project with its stores and items as a catalog file',
    description: 'In place of each secret, the file has the name of an environment variable.',
    file: 'catalog.json',
    isReport: true,
  }),
  op('catalog.plan', 'POST /projects/:project_id/catalog/plan', 'planCatalog', 'CatalogPlan', {
    scope: 'catalog',
    summary: 'Compare a catalog with the stored one, and change nothing',
    body: 'CatalogRequest',
    repeat: 'always',
    isReport: true,
    errors: ['catalog_changed'],
  }),
  op('catalog.apply', 'POST /projects/:project_id/catalog/apply', 'applyCatalog', 'CatalogPlan', {
    scope: 'catalog',
    summary: 'Make all changes that a catalog describes, or none',
    body: 'CatalogRequest',
    isReport: true,
    errors: ['catalog_changed', 'quota_exceeded', 'master_key_mismatch'],
  }),

  op('purchases.list', 'GET /purchases', 'listPurchases', 'PurchasePage', {
    scope: 'read',
    summary:
      'List the purchases of a store in order of import, or find one in all stores by its id',
    query: 'PurchaseQuery',
    isReport: ['transaction_id', 'user_id', 'sku', 'status', 'import_id', 'from', 'to'],
  }),
  op(
    'purchases.changes',
    'GET /stores/:store_id/status-changes',
    'listStatusChanges',
    'StatusChangeList',
    {
      scope: 'read',
      summary: "List the changes of a purchase's status, oldest first",
      query: 'PurchaseKey',
    },
  ),
  op('purchases.record', 'POST /stores/:store_id/purchases', 'recordPurchase', 'RecordedPurchase', {
    scope: 'purchases',
    summary: 'Record one purchase',
    description:
      'If the `transaction_id` is already stored, the request can only advance the status of the stored purchase, and fill values that it lacks.',
    body: 'PurchaseInput',
    repeat: 'always',
    errors: ['store_inactive', 'quota_exceeded'],
  }),
  op('purchases.refund', 'POST /stores/:store_id/refunds', 'refundPurchases', 'Refunds', {
    scope: 'purchases',
    summary: 'Refund a purchase, or all purchases of an order, by its id',
    description:
      'If no purchase has the `transaction_id`, it stands for all purchases whose ids begin with it and a `/`.',
    body: 'OrderKey',
    repeat: 'always',
    errors: ['purchase_not_found', 'store_inactive'],
  }),
  op('purchases.deliver', 'POST /stores/:store_id/deliveries', 'deliverPurchases', 'Deliveries', {
    scope: 'purchases',
    summary: 'Deliver a purchase, or all purchases of an order, once',
    description:
      'Grant the items whose `outcome` is `delivered`: only one call gets it. If no purchase has the `transaction_id`, it stands for all purchases whose ids begin with it and a `/`.',
    body: 'OrderKey',
    errors: ['purchase_not_found', 'store_inactive'],
  }),
  op(
    'purchases.reconcile',
    'POST /stores/:store_id/reconciliations',
    'reconcilePurchases',
    'Reconciliation',
    {
      scope: 'purchases',
      summary: "Compare the stored purchases with a vendor's file",
      description:
        'Changes nothing without `cancel_missing`. An incomplete file marks honest players: read `docs/purchases.md`.',
      body: 'ReconcileForm',
      isUpload: true,
      isLong: true,
      errors: ['invalid_purchases', 'store_inactive'],
    },
  ),
  op('purchases.owned', 'GET /stores/:store_id/owned', 'listOwned', 'OwnedPage', {
    scope: 'read',
    summary: 'List the items that a user owns',
    query: 'OwnedQuery',
  }),
  op('purchases.summarize', 'GET /summary', 'summarizePurchases', 'PurchaseSummaryList', {
    scope: 'read',
    summary: 'Count the purchases of a store or of all stores, and add up their amounts',
    query: 'SummaryQuery',
    isReport: true,
  }),
  op('purchases.overview', 'GET /overview', 'getOverview', 'PurchaseOverview', {
    scope: 'read',
    summary: 'Read the totals of a store, or of all stores, by period, SKU and currency',
    description: 'The totals begin with the day `from` (UTC).',
    query: 'OverviewQuery',
    isReport: true,
  }),
  op('purchases.buyers', 'GET /stores/:store_id/buyers', 'getBuyers', 'Buyers', {
    scope: 'read',
    summary: 'Count the new and the returning buyers of a store',
    description: 'The counts begin with the day `from` (UTC).',
    query: 'BuyersQuery',
    isReport: true,
  }),

  op('purchases.explain', 'POST /stores/:store_id/explanations', 'explainFile', 'Explanation', {
    scope: 'read',
    summary: 'Propose a layout for a file of any shop',
    description:
      'Reads the first 10,000 rows. Imports and stores nothing. The answer asks what the file cannot tell.',
    body: 'ExplainForm',
    isUpload: true,
    isLong: true,
    errors: ['invalid_purchases'],
  }),

  op('imports.list', 'GET /stores/:store_id/imports', 'listImports', 'ImportPage', {
    scope: 'read',
    summary: 'List the imports into a store',
    query: 'ImportQuery',
  }),
  op('imports.create', 'POST /stores/:store_id/imports', 'createImport', 'ManagedImport', {
    scope: 'purchases',
    summary: 'Import a purchase file',
    description:
      'Works like `POST /api/v1/purchases/import`, but an error lists up to 1,000 mistakes of the file.',
    body: 'ManagedImportForm',
    isUpload: true,
    isLong: true,
    errors: ['invalid_purchases', 'store_inactive', 'quota_exceeded'],
  }),
  op('imports.get', 'GET /imports/:import_id', 'getImport', 'ImportRecord', {
    scope: 'read',
    summary: 'Read the record of an import',
  }),
  op('imports.undo', 'POST /imports/:import_id/undo', 'undoImport', 'ImportRecord', {
    scope: 'purchases',
    summary: 'Remove the rows that an import added, and restore the statuses that it changed',
    body: 'ImportUndo',
    repeat: 'always',
    isLong: true,
    isReport: true,
    errors: ['undo_refused'],
  }),

  op('tokens.issue', 'POST /projects/:project_id/tokens', 'issueToken', 'IssuedToken', {
    scope: 'tokens',
    summary: 'Issue a token',
    description:
      'A key gives a token `purchases:import` only if it has the scope `purchases`, and `projects:write` only if it has `catalog`. Without a `user_id`, the token belongs to the project.',
    body: 'NewToken',
  }),
  op('tokens.check', 'POST /tokens/check', 'checkToken', 'TokenState', {
    scope: 'tokens',
    summary: 'Tell whether a token is valid, and whose it is (RFC 7662)',
    description:
      'An invalid token, and one of another account, is `{ "active": false }`. Trust `sub` only if `issued_by` is `account`: otherwise the client chose it.',
    body: 'TokenCheck',
    repeat: 'always',
  }),
  op(
    'tokens.revokeProject',
    'POST /projects/:project_id/tokens/revoke',
    'revokeProjectTokens',
    'RevokedTokens',
    {
      scope: 'tokens',
      summary: 'Revoke all tokens of a project that were issued until now',
      description: 'With a `user_id` in the body, revokes only those of this user.',
      body: 'TokenRevocation',
      repeat: 'always',
    },
  ),
  op(
    'tokens.revokeUser',
    'POST /projects/:project_id/users/:user_id/tokens/revoke',
    'revokeUserTokens',
    'RevokedTokens',
    {
      scope: 'tokens',
      summary: 'Revoke all tokens of a user that were issued until now',
      repeat: 'always',
    },
  ),

  op('users.export', 'GET /projects/:project_id/users/:user_id', 'exportUser', 'UserExport', {
    scope: 'users',
    summary: 'Export everything stored about a user',
    file: 'user.json',
    isReport: true,
  }),
  op('users.erase', 'POST /projects/:project_id/users/:user_id/erase', 'eraseUser', 'ErasedUser', {
    scope: 'users',
    summary: 'Remove a user from the purchases of a project',
    body: 'UserErasure',
    repeat: 'always',
    isLong: true,
    isReport: true,
  }),

  op('webhooks.list', 'GET /webhooks', 'listWebhooks', 'WebhookPage', {
    scope: 'admin',
    summary: 'List the webhook endpoints with their lag',
    query: 'WebhookQuery',
    isReport: true,
  }),
  op('webhooks.get', 'GET /webhooks/:endpoint_id', 'getWebhook', 'WebhookEndpoint', {
    scope: 'admin',
    summary: 'Read a webhook endpoint with its lag',
  }),
  op(
    'webhooks.deliveries',
    'GET /webhooks/:endpoint_id/deliveries',
    'listDeliveries',
    'WebhookDeliveryPage',
    {
      scope: 'admin',
      summary: 'List the messages of an endpoint, newest first',
      query: 'DeliveryQuery',
    },
  ),
  op(
    'webhooks.getRequest',
    'GET /webhooks/:endpoint_id/deliveries/:webhook_id',
    'getDeliveryRequest',
    'WebhookRequest',
    {
      scope: 'admin',
      summary: 'Read the HTTP request that a delivery of a message would send now',
      description:
        'The request has no signature, and no `body` if the event is no longer stored. The `body` shows the records as they are now.',
    },
  ),
  op('webhooks.test', 'POST /webhooks/:endpoint_id/test', 'testWebhook', 'WebhookEndpoint', {
    scope: 'admin',
    summary: 'Send `webhook.test` to an endpoint',
    description: 'Answers before the delivery. Its result is in the deliveries of the endpoint.',
  }),
  op('webhooks.pause', 'POST /webhooks/:endpoint_id/pause', 'pauseWebhook', 'WebhookEndpoint', {
    scope: 'admin',
    summary: 'Stop the deliveries to an endpoint',
    repeat: 'always',
    cli: ['webhooks pause', 'Stop sending to an endpoint, until resume'],
  }),
  op('webhooks.resume', 'POST /webhooks/:endpoint_id/resume', 'resumeWebhook', 'WebhookEndpoint', {
    scope: 'admin',
    summary: 'Continue the deliveries to an endpoint',
    repeat: 'always',
    cli: ['webhooks resume', 'Continue after a pause, or after an endpoint was disabled'],
  }),
  op('webhooks.update', 'PATCH /webhooks/:endpoint_id', 'changeWebhook', 'WebhookEndpoint', {
    scope: 'admin',
    summary: 'Select the events that an endpoint receives',
    description: 'A session cannot change the selection. `webhook.test` is always sent.',
    body: 'WebhookChange',
  }),
  op('webhooks.replay', 'POST /webhooks/:endpoint_id/replay', 'replayWebhook', 'WebhookEndpoint', {
    scope: 'admin',
    summary: 'Send again the events since the `sequence` number `from` or the time `since`',
    body: 'WebhookReplay',
  }),
  op(
    'webhooks.resend',
    'POST /webhooks/:endpoint_id/deliveries/:webhook_id/resend',
    'resendDelivery',
    'WebhookEndpoint',
    {
      scope: 'admin',
      summary: 'Send one message of an endpoint again',
      description:
        'The message waits again with all its retries, also a delivered one. An attempt that is under way counts as its first.',
    },
  ),
  op(
    'webhooks.confirm',
    'POST /webhooks/:endpoint_id/confirm',
    'confirmWebhook',
    'WebhookEndpoint',
    {
      scope: 'admin',
      summary: 'Activate a webhook URL that `PUT /api/v1/projects` has set',
      body: 'WebhookConfirmation',
    },
  ),
]

function op<
  const Name extends string,
  const Http extends string,
  const Id extends string,
  const Answer extends string,
  const More extends Omit<Operation, 'name' | 'http' | 'id' | 'answer'>,
>(name: Name, http: Http, id: Id, answer: Answer, more: More) {
  return { name, http, id, answer, ...more }
}
