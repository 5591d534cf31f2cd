import { bodyOf } from './errors.ts'
import type {
  Account,
  AccountKey,
  AuditEntry,
  Buyers,
  BuyersQuery,
  CatalogPlan,
  CatalogRequest,
  ErasedUser,
  ImportOptions,
  ImportRecord,
  ImportResult,
  Item,
  ItemChange,
  ItemQuery,
  JsonObject,
  ListQuery,
  NewAccountKey,
  NewItem,
  NewProject,
  NewStore,
  OverviewQuery,
  OwnedItem,
  OwnedQuery,
  Page,
  Project,
  ProjectChange,
  Purchase,
  PurchaseInput,
  PurchaseOverview,
  PurchaseQuery,
  PurchaseSummary,
  RecordedPurchase,
  Store,
  StoreChange,
  SummaryQuery,
  WebhookDelivery,
  WebhookDeliveryState,
  WebhookEndpoint,
  WebhookRequest,
} from './manage-types.ts'
import {
  assertCallOptions,
  assertCreateOptions,
  type CallOptions,
  type CreateOptions,
  type ManageOptions,
  parseManageOptions,
} from './options.ts'
import { randomHex } from './random.ts'
import { createSender, type Request } from './retry.ts'
import type { PurchaseFile } from './types.ts'
import { createForm, readingFields } from './upload.ts'

export { type ErrorDetail, TillError } from './errors.ts'
export type * from './manage-types.ts'
export type { CallOptions, CreateOptions, ManageOptions } from './options.ts'
export type { Progress } from './types.ts'

/** A client of the management API. Every call rejects with a TillError when it fails. */
export type ManageClient = ReturnType<typeof createManageClient>

/** Milliseconds: the longest time that the server takes for an import. */
const LONG_TIMEOUT = 3_600_000

/**
 * Creates a client of the management API of a server that runs with `--console`. Throws a TypeError
 * for a missing, wrong or unknown option.
 *
 * @example
 * const manage = createManageClient({ url: 'https://shop.example', accountKey: 'ak_…' })
 * const { items } = await manage.items.list({ store_id: 'main', search: 'sword' })
 */
export function createManageClient(options: ManageOptions) {
  const settings = parseManageOptions(options)
  const sendRequest = createSender(settings, '/manage/v1')

  const send = async <T>(request: Request, options: CallOptions = {}): Promise<T> => {
    const headers = { ...request.headers, 'x-account-key': settings.accountKey }
    return bodyOf<T>(await sendRequest({ ...request, headers }, options))
  }

  const get = <T>(path: string, query: object = {}, options: CallOptions = {}): Promise<T> => {
    assertCallOptions(options)
    const given = Object.entries(query).filter(([, value]) => value !== undefined)
    const target = given.length > 0 ? `${path}?${new URLSearchParams(given)}` : path
    return send({ method: 'GET', path: target, headers: {}, repeat: 'always' }, options)
  }

  /** Repeats only what the server refused: an answer may be lost after the change. */
  const change = <T>(
    method: 'POST' | 'PATCH' | 'DELETE',
    path: string,
    input: object = {},
    options: CallOptions = {},
    repeat: Request['repeat'] = 'refused',
  ): Promise<T> => {
    assertCallOptions(options)
    const request = { method, path, headers: JSON_TYPE, body: JSON.stringify(input) }
    return send({ ...request, repeat }, options)
  }

  const create = <T>(path: string, input: object, options: CreateOptions = {}): Promise<T> => {
    assertCreateOptions(options)
    const { idempotencyKey = randomHex(), ...rest } = options
    const headers = { ...JSON_TYPE, 'idempotency-key': idempotencyKey }
    const body = JSON.stringify(input)
    return send({ method: 'POST', path, headers, body, repeat: 'always' }, rest)
  }

  return {
    account: (options?: CallOptions) => get<Account>('/account', {}, options),

    keys: {
      list: ({ limit, cursor, ...options }: ListQuery & CallOptions = {}) =>
        get<Page<'keys', AccountKey>>('/keys', { limit, cursor }, options),
      add: (options?: CallOptions) => change<NewAccountKey>('POST', '/keys', {}, options),
      revoke: (key_id: string, options?: CallOptions) =>
        change<{ readonly key_id: string }>('DELETE', at`/keys/${key_id}`, {}, options),
    },

    projects: {
      list: (query?: ListQuery, options?: CallOptions) =>
        get<Page<'projects', Project>>('/projects', query, options),
      create: (project: NewProject, options?: CreateOptions) =>
        create<Project>('/projects', project, options),
      get: (id: string, options?: CallOptions) => get<Project>(at`/projects/${id}`, {}, options),
      update: ({ id, ...input }: ProjectChange, options?: CallOptions) =>
        change<Project>('PATCH', at`/projects/${id}`, input, options),
      /** `gracePeriod` is in milliseconds. */
      rotateKey: (id: string, input: { gracePeriod?: number } = {}, options?: CallOptions) => {
        const body = { grace_period: input.gracePeriod }
        return change<Project>('POST', at`/projects/${id}/rotate-key`, body, options)
      },
    },

    stores: {
      list: ({ project_id, ...query }: ListQuery & OfProject, options?: CallOptions) =>
        get<Page<'stores', Store>>(at`/projects/${project_id}/stores`, query, options),
      create: (store: NewStore, options?: CreateOptions) =>
        create<Store>('/stores', store, options),
      get: (id: string, options?: CallOptions) => get<Store>(at`/stores/${id}`, {}, options),
      update: ({ store_id, ...input }: StoreChange, options?: CallOptions) =>
        change<Store>('PATCH', at`/stores/${store_id}`, input, options),
    },

    items: {
      list: ({ store_id, ...query }: ItemQuery, options?: CallOptions) =>
        get<Page<'items', Item>>(at`/stores/${store_id}/items`, query, options),
      create: (item: NewItem, options?: CreateOptions) => create<Item>('/items', item, options),
      get: (id: string, options?: CallOptions) => get<Item>(at`/items/${id}`, {}, options),
      /** The changes after the creation, newest first. */
      history: ({ id, ...query }: ListQuery & { readonly id: string }, options?: CallOptions) =>
        get<Page<'entries', AuditEntry>>(at`/items/${id}/history`, query, options),
      /** With `version`, rejects with `version_conflict` if the item has another one. */
      update: ({ id, ...input }: ItemChange, options?: CallOptions) =>
        change<Item>('PATCH', at`/items/${id}`, input, options),
      archive: (id: string, options?: CallOptions) =>
        change<Item>('POST', at`/items/${id}/archive`, {}, options, 'always'),
      restore: (id: string, options?: CallOptions) =>
        change<Item>('POST', at`/items/${id}/restore`, {}, options, 'always'),
    },

    catalog: {
      export: (project_id: string, options?: CallOptions) =>
        get<JsonObject>(at`/projects/${project_id}/catalog`, {}, options),
      plan: (project_id: string, request: CatalogRequest, options?: CallOptions) => {
        const path = at`/projects/${project_id}/catalog/plan`
        return change<CatalogPlan>('POST', path, request, options, 'always')
      },
      apply: (
        project_id: string,
        request: CatalogRequest & { readonly digest?: string | undefined },
        options?: CallOptions,
      ) => change<CatalogPlan>('POST', at`/projects/${project_id}/catalog/apply`, request, options),
    },

    purchases: {
      /** Lists the purchases of a store, or with a `transaction_id` those of all stores. */
      list({ store_id, ...query }: PurchaseQuery, options?: CallOptions) {
        const path = store_id === undefined ? '/purchases' : at`/stores/${store_id}/purchases`
        return get<Page<'purchases', Purchase>>(path, query, options)
      },
      record: ({ store_id, ...input }: PurchaseInput, options?: CallOptions) => {
        const path = at`/stores/${store_id}/purchases`
        return change<RecordedPurchase>('POST', path, input, options, 'always')
      },
      owned: ({ store_id, ...query }: OwnedQuery, options?: CallOptions) =>
        get<Page<'owned', OwnedItem>>(at`/stores/${store_id}/owned`, query, options),
      /** Sums the purchases of a store, or without a `store_id` those of all stores. */
      summarize: ({ store_id, by, ...query }: SummaryQuery, options?: CallOptions) => {
        const given = { ...query, by: by?.join() }
        const path = store_id === undefined ? '/summary' : at`/stores/${store_id}/summary`
        return get<{ readonly summaries: readonly PurchaseSummary[] }>(path, given, options)
      },
      overview: ({ store_id, ...query }: OverviewQuery, options?: CallOptions) =>
        get<PurchaseOverview>(at`/stores/${store_id}/overview`, query, options),
      buyers: ({ store_id, ...query }: BuyersQuery, options?: CallOptions) =>
        get<Buyers>(at`/stores/${store_id}/buyers`, query, options),
    },

    imports: {
      list: ({ store_id, ...query }: ListQuery & OfStore, options?: CallOptions) =>
        get<Page<'imports', ImportRecord>>(at`/stores/${store_id}/imports`, query, options),
      get: (id: string, options?: CallOptions) =>
        get<ImportRecord>(at`/imports/${id}`, {}, options),
      /** Imports a file. Rejects with `invalid_purchases` and up to 1,000 mistakes of the file. */
      create: (
        store_id: string,
        file: PurchaseFile['file'],
        {
          dryRun,
          preset,
          layout,
          skus,
          refundsOnly,
          priceUnit,
          map,
          fileName,
          onProgress,
          ...rest
        }: ImportOptions & CallOptions = {},
      ) => {
        assertCallOptions(rest)
        const fields = {
          ...readingFields({ dryRun, preset, layout, skus, refundsOnly }),
          ...(priceUnit !== undefined && { price_unit: priceUnit }),
          ...(map !== undefined && { map: JSON.stringify(map) }),
        }
        const path = at`/stores/${store_id}/imports`
        const request = createForm(path, fields, { file, fileName, onProgress })
        return send<ImportResult>(request, { timeout: LONG_TIMEOUT, ...rest })
      },
      undo: (import_id: string, input: { force?: boolean } = {}, options: CallOptions = {}) => {
        const long = { timeout: LONG_TIMEOUT, ...options }
        return change<ImportRecord>('POST', at`/imports/${import_id}/undo`, input, long, 'always')
      },
    },

    users: {
      export: ({ project_id, user_id }: User, options?: CallOptions) =>
        get<JsonObject>(at`/projects/${project_id}/users/${user_id}`, {}, options),
      erase: ({ project_id, user_id }: User, input: Erasure = {}, options: CallOptions = {}) => {
        const path = at`/projects/${project_id}/users/${user_id}/erase`
        const long = { timeout: LONG_TIMEOUT, ...options }
        return change<ErasedUser>('POST', path, input, long, 'always')
      },
    },

    webhooks: {
      list: (query?: ListQuery & Partial<OfProject>, options?: CallOptions) =>
        get<Page<'endpoints', WebhookEndpoint>>('/webhooks', query, options),
      get: (id: string, options?: CallOptions) =>
        get<WebhookEndpoint>(at`/webhooks/${id}`, {}, options),
      deliveries: ({ endpoint_id, ...query }: DeliveryQuery, options?: CallOptions) => {
        const path = at`/webhooks/${endpoint_id}/deliveries`
        return get<Page<'deliveries', WebhookDelivery>>(path, query, options)
      },
      /** The request of a message, as an attempt would send it now. */
      getRequest: ({ endpoint_id, webhook_id }: DeliveryKey, options?: CallOptions) => {
        const path = at`/webhooks/${endpoint_id}/deliveries/${webhook_id}`
        return get<WebhookRequest>(path, {}, options)
      },
      test: (id: string, options?: CallOptions) =>
        change<WebhookEndpoint>('POST', at`/webhooks/${id}/test`, {}, options),
      pause: (id: string, options?: CallOptions) =>
        change<WebhookEndpoint>('POST', at`/webhooks/${id}/pause`, {}, options, 'always'),
      resume: (id: string, options?: CallOptions) =>
        change<WebhookEndpoint>('POST', at`/webhooks/${id}/resume`, {}, options, 'always'),
      /** Give one of `from`, a sequence number, and `since`, a time. */
      replay: (id: string, input: { from?: number; since?: string }, options?: CallOptions) =>
        change<WebhookEndpoint>('POST', at`/webhooks/${id}/replay`, input, options),
      confirm: (
        id: string,
        input: { url?: string; unconfirmed_at?: string } = {},
        options?: CallOptions,
      ) => change<WebhookEndpoint>('POST', at`/webhooks/${id}/confirm`, input, options),
    },

    audit: {
      /** Newest entries first. */
      list: (query?: ListQuery, options?: CallOptions) =>
        get<Page<'entries', AuditEntry>>('/audit', query, options),
    },
  }
}

const JSON_TYPE = { 'content-type': 'application/json' }

interface OfProject {
  readonly project_id: string
}

interface OfStore {
  readonly store_id: string
}

interface User extends OfProject {
  readonly user_id: string
}

interface Erasure {
  /** Also deletes the purchases. */
  readonly delete?: boolean
}

type DeliveryKey = Pick<WebhookDelivery, 'endpoint_id' | 'webhook_id'>

interface DeliveryQuery extends ListQuery {
  readonly endpoint_id: string
  readonly state?: WebhookDeliveryState | undefined
}

/**
 * Builds a path, with the values percent-encoded. Throws a TypeError for `.` and `..`: a URL can not
 * have them as a part of its path, even encoded.
 */
function at(texts: TemplateStringsArray, ...values: readonly string[]): string {
  const bad = values.find((value) => value === '.' || value === '..')
  if (bad !== undefined) throw new TypeError(`The id ${bad} can not be part of a URL: use the CLI`)
  return String.raw({ raw: texts }, ...values.map(encodeURIComponent))
}
