import { keyChangeFields, newKeyFields } from './account.ts'
import { planFields } from './catalog.ts'
import { objectSchema } from './fields.ts'
import { undoFields } from './import.ts'
import { itemChangeFields, metadataAlias, newItemFields, newItemInput } from './item.ts'
import { orderFields } from './order.ts'
import { buyersFields, overviewFields } from './overview.ts'
import { newProjectFields, projectChangeFields, rotationFields, statusFields } from './project.ts'
import { purchaseFields } from './purchase-input.ts'
import {
  importListFields,
  itemListFields,
  itemQueryFields,
  listFields,
  ownedListFields,
  ownPurchasesFields,
  purchaseKeyFields,
  purchaseListFields,
  recentAuditFields,
  storeListFields,
} from './query.ts'
import { freeForm, type JsonSchema, note, optional, wholeNumber } from './rules.ts'
import { newTokenFields, revocationFields, sessionFields, tokenCheckFields } from './session.ts'
import { newStoreFields, STORE_TYPES, storeChangeFields } from './store.ts'
import { summaryFields } from './summary.ts'
import { erasureFields } from './user.ts'
import {
  confirmationFields,
  deliveryListFields,
  replayFields,
  webhookChangeFields,
  webhookListFields,
} from './webhook.ts'

type Properties = { readonly [field: string]: JsonSchema }

/**
 * The JSON Schemas (draft 2020-12) of the inputs of the API, and of the fields of its records. They
 * come from the rules that validate the inputs.
 */
export function createSchemas() {
  const { store_id, meta, ...item } = propertiesOf(newItemFields)
  const store = propertiesOf(newStoreFields.custom)
  const id = { type: 'string', minLength: 1, maxLength: 64 }
  return {
    inputs: {
      SessionRequest: objectSchema(sessionFields),
      NewItem: objectSchema(newItemInput),
      ItemQuery: objectSchema(itemQueryFields),
      OwnPurchasesQuery: objectSchema(ownPurchasesFields),
      NewProject: objectSchema(newProjectFields),
      ProjectChange: objectSchema(projectChangeFields),
      NewWebStore: objectSchema(newStoreFields.web),
      NewIapStore: objectSchema(newStoreFields.iap),
      NewCustomStore: objectSchema(newStoreFields.custom),
    },
    records: {
      item: {
        id,
        ...item,
        price: {
          ...wholeNumber(0, Number.MAX_SAFE_INTEGER).schema,
          description: 'Minor currency units: `499` is 4.99 USD.',
        },
        store_id,
        metadata: meta,
      },
      project: { ...propertiesOf(newProjectFields), id, public_key: { type: 'string' } },
      store: {
        ...store,
        store_type: { type: 'string', enum: STORE_TYPES },
        store_config: freeForm.schema,
      },
    } satisfies { readonly [record: string]: Properties },
  }
}

/** The JSON Schemas of further inputs of the library, for the management API. */
export function createManageSchemas() {
  const { account_id: _, ...newProject } = newProjectFields
  const { maxGroups: __, ...summary } = summaryFields
  const catalog = note('A catalog: see docs/catalog.md.', freeForm)
  return {
    ManagedProjectInput: objectSchema(newProject),
    ManagedProjectChange: objectSchema({ ...projectChangeFields, ...statusFields }),
    KeyRotation: objectSchema(rotationFields),
    AccountKeyInput: objectSchema(newKeyFields),
    AccountKeyChange: objectSchema(keyChangeFields),
    NewToken: objectSchema(newTokenFields),
    TokenCheck: objectSchema(tokenCheckFields),
    TokenRevocation: objectSchema(revocationFields),
    ManagedStoreChange: objectSchema(storeChangeFields),
    ItemChange: objectSchema({ ...itemChangeFields, ...metadataAlias }),
    CatalogRequest: objectSchema({ catalog: optional(catalog), ...planFields }),
    PurchaseInput: objectSchema(purchaseFields),
    OrderKey: objectSchema(orderFields),
    ImportUndo: objectSchema(undoFields),
    UserErasure: objectSchema(erasureFields),
    WebhookReplay: objectSchema(replayFields),
    WebhookConfirmation: objectSchema(confirmationFields),
    WebhookChange: objectSchema(webhookChangeFields),
    ListQuery: objectSchema(listFields),
    RecentAuditQuery: objectSchema(recentAuditFields),
    StoreQuery: objectSchema(storeListFields),
    ManagedItemQuery: objectSchema(itemListFields),
    ImportQuery: objectSchema(importListFields),
    PurchaseQuery: objectSchema(purchaseListFields),
    PurchaseKey: objectSchema(purchaseKeyFields),
    OwnedQuery: objectSchema(ownedListFields),
    SummaryQuery: objectSchema(summary),
    OverviewQuery: objectSchema(overviewFields),
    BuyersQuery: objectSchema(buyersFields),
    WebhookQuery: objectSchema(webhookListFields),
    DeliveryQuery: objectSchema(deliveryListFields),
  }
}

/**
 * The JSON Schemas of a record's fields, without defaults and descriptions, because these apply
 * only to inputs.
 */
function propertiesOf<T extends Parameters<typeof objectSchema>[0]>(fields: T) {
  const entries = Object.entries(fields).map(([field, { schema }]) => {
    const { default: _, description, ...rest } = schema
    return [field, rest]
  })
  return Object.fromEntries(entries) as { readonly [F in keyof T]: JsonSchema }
}
