import type * as lib from '../../lib/index.ts'
import {
  createManageSchemas,
  createSchemas,
  DIFFERENCES,
  type JsonSchema,
  KEY_SCOPES,
  UNEQUAL_FIELDS,
  WEBHOOK_EVENTS,
} from '../../lib/index.ts'
import { operations } from '../../lib/operations.ts'
import {
  count,
  importParts,
  objectOf,
  type Properties,
  page,
  ref,
  text,
  time,
} from '../openapi/shapes.ts'

const flag = { type: 'boolean' }
const object = { type: 'object', additionalProperties: true }
const texts = { type: 'array', items: text }
const listOf = (name: string) => ({ type: 'array', items: ref(name) })
const statuses = { purchased: count, pending: count, refunded: count, cancelled: count }
const periods = { 'day?': text, 'week?': text, 'month?': text }
const digits = { type: 'string', pattern: '^[0-9]+$', description: 'In minor units.' }
const amounts = { currency: text, ...statuses, revenue: digits, refunded_total: digits }

/**
 * Creates the schemas of the management API. Its answers may lack some fields; those of the ten
 * endpoints never do.
 */
export function createManagedSchemas() {
  const { records } = createSchemas()
  const { account_id, ...project } = records.project
  const { project_id } = records.store
  const secrets = { ...texts, description: 'The names of the secrets that are set.' }
  return {
    ...withoutPathFields(createManageSchemas()),
    ManagedImportForm: importForm,
    ExplainForm: {
      type: 'object',
      properties: { file: importParts.file },
      required: ['file'],
    },
    ReconcileForm: reconcileForm,

    Account: objectOf<Omit<lib.Account, 'id' | 'project_id'>>({
      account_id: text,
      name: text,
      created_at: time,
    }),
    AccountKey: objectOf<lib.AccountKeyInfo & { readonly current: boolean }>({
      ...accountKey,
      'revoked_at?': time,
      'last_used_on?': day,
      current: flag,
    }),
    AccountKeyPage: page('keys', 'AccountKey'),
    NewAccountKey: objectOf({ ...accountKey, account_key: text }),
    RevokedAccountKey: objectOf({ key_id: text }),
    ManagedProject: objectOf<WithSecrets<lib.Project>>({
      ...project,
      account_id,
      created_at: time,
      'secrets?': secrets,
    }),
    ManagedProjectPage: page('projects', 'ManagedProject'),
    ManagedStore: objectOf<WithSecrets<lib.Store>>({
      ...records.store,
      account_id,
      created_at: time,
      'secrets?': secrets,
    }),
    ManagedStorePage: page('stores', 'ManagedStore'),
    ManagedItem: objectOf<lib.Item>({
      ...records.item,
      account_id,
      project_id,
      created_at: time,
      version: count,
      'archived_at?': time,
    }),
    ManagedItemPage: page('items', 'ManagedItem'),
    AuditEntry: objectOf<lib.AuditEntry>({
      at: time,
      actor: text,
      action: text,
      subject: text,
      account_id: text,
      project_id: text,
      store_id: text,
      request_id: text,
      'data?': object,
    }),
    AuditPage: page('entries', 'AuditEntry'),
    CatalogFile: { ...object, description: 'A catalog: see docs/catalog.md.' },
    CatalogPlan: objectOf<lib.CatalogPlan>({
      project_id: text,
      digest: text,
      created: count,
      updated: count,
      archived: count,
      restored: count,
      unchanged: count,
      missing: count,
      unset_variables: texts,
      changes: {
        type: 'array',
        items: object,
        description: 'The first 1,000 changes at most.',
      },
    }),
    Purchase: objectOf<lib.Purchase>(purchase),
    PurchasePage: page('purchases', 'Purchase'),
    StatusChange: objectOf<lib.StatusChange>({
      import_id: text,
      created_at: time,
      'file_name?': text,
      before: text,
      after: text,
    }),
    StatusChangeList: objectOf({ changes: listOf('StatusChange') }),
    RecordedPurchase: objectOf<lib.RecordedPurchase>({
      outcome: { enum: ['added', 'updated', 'skipped'] },
      'purchase?': ref('Purchase'),
    }),
    Delivered: objectOf<lib.Delivered>({
      transaction_id: text,
      sku: text,
      quantity: count,
      outcome: { enum: ['delivered', 'already', 'pending', 'refunded'] },
    }),
    Deliveries: objectOf<lib.Deliveries>({ deliveries: listOf('Delivered') }),
    Refunded: objectOf<lib.Refunded>({
      transaction_id: text,
      sku: text,
      quantity: count,
      outcome: { enum: ['refunded', 'already'] },
    }),
    Refunds: objectOf<lib.Refunds>({ refunds: listOf('Refunded') }),
    PurchaseSide: objectOf<lib.PurchaseSide>({
      sku: text,
      quantity: count,
      'user_id?': text,
      'price?': count,
      'currency?': text,
      status: text,
    }),
    Difference: objectOf<lib.Difference>({
      kind: { enum: Object.keys(DIFFERENCES) },
      transaction_id: text,
      'line?': count,
      purchased_at: time,
      'stored?': ref('PurchaseSide'),
      'file?': ref('PurchaseSide'),
    }),
    DifferenceTotal: objectOf<lib.DifferenceTotal>({
      currency: text,
      purchases: count,
      stored_total: digits,
      file_total: digits,
    }),
    DifferenceGroup: objectOf<lib.DifferenceGroup>({
      kind: { enum: Object.keys(DIFFERENCES) },
      purchases: count,
      totals: listOf('DifferenceTotal'),
      first: { ...listOf('Difference'), description: 'The first 1,000 at most.' },
    }),
    Reconciliation: objectOf<lib.Reconciliation>({
      layout: text,
      from: time,
      to: time,
      judged: { ...count, description: 'The stored purchases that were looked for in the file.' },
      unjudged: {
        ...count,
        description:
          'The stored purchases that the file lacks and that may be right: near the ends of the period, not purchased, free, or gifts.',
      },
      near_ends: {
        ...count,
        description: 'The part of `unjudged` that is only too near the ends of the period.',
      },
      rows: count,
      compared: { ...count, description: 'The rows that were compared with a stored purchase.' },
      compared_amounts: {
        ...count,
        description: 'The compared rows for which both sides have an amount.',
      },
      compared_users: {
        ...count,
        description: 'The compared rows for which both sides have a user.',
      },
      passed_over: count,
      passed_over_reasons: listOf('PassedOver'),
      differences: { ...listOf('DifferenceGroup'), description: 'Empty if nothing differs.' },
      'import_id?': { ...text, description: 'The import that has cancelled purchases.' },
      'cancelled?': count,
    }),
    PurchaseSummary: objectOf<lib.PurchaseSummary>({
      ...periods,
      'sku?': text,
      'store_id?': text,
      ...amounts,
      buyers: count,
    }),
    PurchaseTotal: objectOf<Omit<lib.PurchaseTotal, 'store_id'>>({
      ...periods,
      'sku?': text,
      ...amounts,
    }),
    ItemTotal: objectOf<lib.ItemTotal>({
      sku: text,
      display_name: text,
      ...statuses,
      currencies: listOf('PurchaseTotal'),
    }),
    StoreTotal: objectOf<lib.StoreTotal>({
      store_id: text,
      ...statuses,
      currencies: listOf('PurchaseTotal'),
    }),
    PurchaseOverview: objectOf<lib.PurchaseOverview>({
      ...statuses,
      currency_count: count,
      currencies: listOf('PurchaseTotal'),
      periods: listOf('PurchaseTotal'),
      items: listOf('ItemTotal'),
      stores: listOf('StoreTotal'),
    }),
    BuyerCount: objectOf<lib.BuyerCount>({ currency: text, new: count, returning: count }),
    Buyers: objectOf<lib.Buyers>({ buyers: listOf('BuyerCount') }),
    PurchaseSummaryList: objectOf({ summaries: { type: 'array', items: ref('PurchaseSummary') } }),
    ImportTotal: objectOf<lib.ImportTotal>({
      status: text,
      currency: text,
      rows: { ...count, description: 'Rows of the file. A purchase and its refund are two rows.' },
      total: digits,
    }),
    PassedOver: objectOf<lib.PassedOverCount>({ reason: text, 'app?': text, rows: count }),
    UnequalCount: objectOf<lib.UnequalCount>({
      field: { enum: UNEQUAL_FIELDS },
      stored: { enum: ['missing', 'different'] },
      rows: count,
    }),
    ManagedImport: objectOf<Omit<lib.ImportResult, 'import_id'> & { readonly import_id?: string }>({
      'import_id?': text,
      layout: text,
      ...counts,
      'first_purchased_at?': time,
      'last_purchased_at?': time,
      repeated: count,
      repeated_lines: { type: 'array', items: count },
      totals,
      'others?': count,
      ignored_columns: texts,
      passed_over_reasons: listOf('PassedOver'),
      unequal: listOf('UnequalCount'),
      'fitting_preset?': { ...text, description: 'The preset that fits the header of the file.' },
    }),
    ExplainedColumn: objectOf<lib.ExplainedColumn>({
      column: text,
      'field?': { ...text, description: 'The field that the layout reads from the column.' },
      seems: text,
      samples: texts,
    }),
    Question: objectOf<lib.Question>({
      about: { ...text, description: 'The key of the layout that the answer changes.' },
      question: text,
      default: { ...text, description: 'What stands in the layout.' },
    }),
    MissingField: objectOf({ field: text, reason: text }),
    Explanation: objectOf<lib.Explanation>({
      format: {
        ...text,
        description: 'What reads the file: a preset, `canonical`, or the proposed `layout`.',
      },
      header_line: count,
      rows: { ...count, description: 'Rows that were examined.' },
      is_partial: { ...flag, description: 'Whether the file has more rows.' },
      columns: listOf('ExplainedColumn'),
      'layout?': object,
      'missing?': listOf('MissingField'),
      questions: { ...listOf('Question'), description: 'At most five, the most harmful first.' },
      remarks: texts,
    }),
    ImportRecord: {
      ...objectOf<Required<lib.ImportRecord>>({
        import_id: text,
        store_id: text,
        created_at: time,
        undone_at: time,
        ...counts,
        totals,
        others: count,
        actor: text,
        file_name: text,
        bytes: count,
        sha256: text,
        layout: text,
        finished_at: time,
      }),
      required: ['import_id', 'store_id', 'created_at'],
    },
    ImportPage: page('imports', 'ImportRecord'),
    IssuedToken: objectOf<lib.IssuedToken>({
      token: text,
      expires_at: time,
      expires_in_seconds: count,
    }),
    TokenState: objectOf<lib.TokenState>({
      active: flag,
      'project_id?': text,
      'sub?': text,
      'scope?': text,
      'issued_by?': { enum: ['account', 'public_key'] },
      'iat?': count,
      'exp?': count,
    }),
    RevokedTokens: objectOf({ project_id: text, 'user_id?': text }),
    UserExport: { ...object, description: 'All records about the user.' },
    ErasedUser: objectOf<lib.ErasedUser>({ pseudonym: text, purchases: count, found: flag }),
    WebhookEndpoint: objectOf<lib.WebhookEndpoint>({
      endpoint_id: text,
      project_id: text,
      store_id: text,
      url: text,
      state: text,
      'reason?': text,
      'unconfirmed_url?': text,
      'unconfirmed_is_signed?': flag,
      is_signed: flag,
      'is_private?': {
        const: true,
        description: 'Only a server with `--webhook-allow-private` sends to the `url`.',
      },
      'events?': { type: 'array', items: { enum: WEBHOOK_EVENTS } },
      'unconfirmed_at?': time,
      cursor: count,
      lag: count,
      lag_seconds: count,
      'failing_since?': time,
      'last_failure?': objectOf<lib.WebhookFailure>({ at: time, 'status?': count, 'error?': text }),
    }),
    WebhookPage: page('endpoints', 'WebhookEndpoint'),
    WebhookDelivery: objectOf<lib.WebhookDelivery>({
      endpoint_id: text,
      webhook_id: text,
      type: text,
      state: text,
      sequence: { ...count, description: 'The number of the audit entry of the change.' },
      'next_at?': { ...time, description: 'When the webhook is sent next.' },
      attempts: count,
      'at?': time,
      'status?': count,
      'error?': text,
      'answer?': text,
      'duration_ms?': count,
    }),
    WebhookRequest: objectOf<lib.WebhookRequest>({
      endpoint_id: text,
      webhook_id: text,
      url: text,
      'body?': text,
      headers: { ...object, description: 'All headers except `webhook-signature`.' },
    }),
    WebhookDeliveryPage: page('deliveries', 'WebhookDelivery'),
  } satisfies Properties
}

type WithSecrets<R> = R & { readonly secrets?: readonly string[] }

const keyScope = { enum: KEY_SCOPES }
const accountKey = {
  key_id: text,
  account_id: text,
  created_at: time,
  'name?': text,
  'scopes?': { type: 'array', items: keyScope, description: 'Missing for a key with all scopes.' },
}
const day = { type: 'string', format: 'date' }

const importForm = {
  type: 'object',
  properties: {
    ...importParts,
    price_unit: { enum: ['minor', 'major'], default: 'minor', description: 'The unit of prices.' },
    map: { ...text, description: 'JSON that maps fields to columns: `{"sku":"Article"}`.' },
  },
  required: ['file'],
}

const { dry_run: _, undelivered: _u, refunds_only: _r, ...readingParts } = importForm.properties

const reconcileForm = {
  type: 'object',
  properties: {
    ...readingParts,
    from: {
      ...text,
      description: 'The start of the period: a time with its zone, or a day in UTC.',
    },
    to: { ...text, description: 'The exclusive end of the period.' },
    cancel_missing: {
      type: 'integer',
      minimum: 1,
      description:
        'Cancels the purchases that the file lacks, if this is their number: an earlier request has counted them.',
    },
  },
  required: ['file'],
}

const purchase = {
  store_id: text,
  import_id: text,
  transaction_id: text,
  sku: text,
  purchased_at: time,
  'user_id?': text,
  quantity: count,
  'price?': count,
  'currency?': text,
  status: text,
  metadata: object,
  'expires_at?': time,
  'is_grant?': { const: true, description: 'The purchase is a gift.' },
}

const counts = { rows: count, added: count, skipped: count, updated: count, passed_over: count }
const totals = { type: 'array', items: ref('ImportTotal') }

/** The schemas without the fields that are in the path of the route that takes the body. */
function withoutPathFields<S extends { readonly [name: string]: JsonSchema }>(schemas: S): S {
  const entries = Object.entries(schemas).map(([name, schema]) => {
    const { http = '' } = operations.find((each) => 'body' in each && each.body === name) ?? {}
    const inPath = [...http.matchAll(/:(\w+)/g)].map(([, field = '']) => field)
    const { properties, required = [], ...rest } = schema
    const others = Object.entries(properties as Properties).filter(([f]) => !inPath.includes(f))
    const needed = (required as readonly string[]).filter((field) => !inPath.includes(field))
    const shown = { ...rest, properties: Object.fromEntries(others) }
    return [name, { ...shown, ...(needed.length > 0 && { required: needed }) }]
  })
  return Object.fromEntries(entries)
}
