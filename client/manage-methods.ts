import type * as api from './manage-types.ts'

/** The input and the answer of each method that is made from a row of `operations`. */
export interface Methods {
  account: {
    get(): api.Account
  }
  keys: {
    list(query?: api.ListQuery): api.Page<'keys', api.AccountKey>
    add(key?: api.KeyInput): api.NewAccountKey
    /** Sets only scopes that the key of the client has. */
    update(change: api.KeyChange): api.AccountKey
    revoke(key_id: string): { readonly key_id: string }
  }
  audit: {
    /** Newest entries first. */
    list(query?: api.RecentAuditQuery): api.Page<'entries', api.AuditEntry>
  }
  projects: {
    list(query?: api.ListQuery): api.Page<'projects', api.Project>
    create(project: api.NewProject): api.Project
    get(id: string): api.Project
    update(change: api.ProjectChange): api.Project
    rotateKey(rotation: api.ProjectKeyRotation): api.Project
  }
  stores: {
    list(query: api.StoreQuery): api.Page<'stores', api.Store>
    create(store: api.NewStore): api.Store
    get(id: string): api.Store
    update(change: api.StoreChange): api.Store
  }
  items: {
    list(query: api.ItemQuery): api.Page<'items', api.Item>
    create(item: api.NewItem): api.Item
    get(id: string): api.Item
    /** With `version`, rejects with `version_conflict` if the item has another one. */
    update(change: api.ItemChange): api.Item
    /** The changes after the creation, newest first. */
    history(query: api.ItemHistoryQuery): api.Page<'entries', api.AuditEntry>
    archive(id: string): api.Item
    restore(id: string): api.Item
  }
  catalog: {
    export(project_id: string): api.JsonObject
    plan(request: api.CatalogRequest): api.CatalogPlan
    apply(request: api.CatalogRequest): api.CatalogPlan
  }
  purchases: {
    /** Lists the purchases of a store, or with a `transaction_id` those of all stores. */
    list(query: api.PurchaseQuery): api.Page<'purchases', api.Purchase>
    /** The changes of a purchase's status, oldest first. */
    changes(purchase: api.PurchaseKey): { readonly changes: readonly api.StatusChange[] }
    record(input: api.PurchaseInput): api.RecordedPurchase
    /** Refunds a purchase, or all purchases of an order. */
    refund(order: api.OrderKey): api.Refunds
    /** Grant the items whose outcome is `delivered`: only one call gets it. */
    deliver(order: api.OrderKey): api.Deliveries
    owned(query: api.OwnedQuery): api.Page<'owned', api.OwnedItem>
    /** Sums the purchases of a store, or without a `store_id` those of all stores. */
    summarize(query: api.SummaryQuery): { readonly summaries: readonly api.PurchaseSummary[] }
    /** Adds up the purchases of a store, or without a `store_id` those of all live stores. */
    overview(query: api.OverviewQuery): api.PurchaseOverview
    buyers(query: api.BuyersQuery): api.Buyers
  }
  imports: {
    list(query: api.ImportQuery): api.Page<'imports', api.ImportRecord>
    get(id: string): api.ImportRecord
    undo(request: api.ImportUndoRequest): api.ImportRecord
  }
  tokens: {
    /** Without `scopes`, the token only reads items, and what its user owns. */
    issue(token: api.NewToken): api.IssuedToken
    check(token: api.TokenCheck): api.TokenState
    revokeProject(project_id: string): { readonly project_id: string }
    revokeUser(user: api.UserQuery): api.UserQuery
  }
  users: {
    export(user: api.UserQuery): api.JsonObject
    /** With `delete`, also deletes the purchases. */
    erase(user: api.UserErasure): api.ErasedUser
  }
  webhooks: {
    list(query?: api.WebhookQuery): api.Page<'endpoints', api.WebhookEndpoint>
    get(id: string): api.WebhookEndpoint
    deliveries(query: api.WebhookLogQuery): api.Page<'deliveries', api.WebhookDelivery>
    /** The request of a message, as an attempt would send it now. */
    getRequest(message: api.WebhookDeliveryKey): api.WebhookRequest
    test(id: string): api.WebhookEndpoint
    pause(id: string): api.WebhookEndpoint
    resume(id: string): api.WebhookEndpoint
    /** Sends one message again, also a delivered one. */
    resend(message: api.WebhookDeliveryKey): api.WebhookEndpoint
    /** Give one of `from`, a sequence number, and `since`, a time. */
    replay(request: api.WebhookReplay): api.WebhookEndpoint
    /** `events: null` selects all. */
    update(change: api.WebhookChange): api.WebhookEndpoint
    confirm(seen: api.WebhookConfirmation): api.WebhookEndpoint
  }
}
